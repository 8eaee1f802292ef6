/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of subjects by the library alone: tables and BIDS folders. No image is opened. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "clvox/batch.h"
#include "clvox/files.h"
#include "clvox/volume.h"

static char folder[] = "/tmp/clvox-list-XXXXXX";
static char made[32][256];
static int files;

static const char *in(const char *name)
{
    static char path[4][256];
    static int at;
    at = (at + 1) % 4;
    snprintf(path[at], sizeof path[at], "%s/%s", folder, name);
    return path[at];
}

static void put(const char *name, const char *text)
{
    snprintf(made[files], sizeof made[files], "%s", in(name));
    assert_true(!clvox_folders_make(made[files]));
    assert_true(!clvox_file_write(made[files], text, strlen(text)));
    files++;
}

static void a_folder_of_sessions(void **state)
{
    clvox_list *l = NULL;
    (void)state;
    put("b/participants.tsv", "age\tparticipant_id\tsex\r\n4.5\tsub-02\tF\nn/a\t01\tM\n");
    put("b/sub-01/ses-a/anat/sub-01_ses-a_T1w.nii", "");
    put("b/sub-01/ses-a/anat/sub-01_ses-a_T2w.NII.GZ", "");
    put("b/sub-01/ses-a/anat/sub-01_ses-a_T1w.json", "");
    put("b/sub-01/ses-b/anat/sub-01_ses-b_T1w.nii.gz", "");
    put("b/sub-02/anat/sub-02_T1w.nii.gz", "");
    put("b/sub-03/anat/sub-03_T1w.mgz", "");
    assert_int_equal(clvox_list_read(in("b"), "T1w,T2w", "age", &l), CLVOX_OK);
    assert_true(l->count == 3 && l->channels == 2 && l->columns == 4);
    assert_string_equal(l->column[3], "session");
    assert_string_equal(l->subject[0].image, in("b/sub-01/ses-a/anat/sub-01_ses-a_T1w.nii"));
    assert_string_equal(l->subject[0].further[0], in("b/sub-01/ses-a/anat/sub-01_ses-a_T2w.NII.GZ"));
    assert_string_equal(l->subject[1].name, "sub-01_ses-b_T1w");
    assert_null(l->subject[1].further[0]);
    assert_true(isnan(l->subject[0].covariate) && l->subject[2].covariate == 4.5 && l->subject[2].weight == 1);
    assert_string_equal(l->subject[0].field[2], "M");
    assert_string_equal(l->subject[0].field[3], "ses-a");
    assert_string_equal(l->subject[2].field[3], "n/a");
    clvox_list_destroy(&l);
    assert_null(l);
    assert_int_equal(clvox_list_read(in("b"), "T1w,", NULL, &l), CLVOX_ERROR_ARGUMENT);
    assert_null(l);
    assert_non_null(strstr(clvox_message(), "suffix T1w,"));
    assert_int_equal(clvox_list_read(in("b"), "T1w", "weight", &l), CLVOX_ERROR_FORMAT);
    assert_non_null(strstr(clvox_message(), "no column `weight`"));
    assert_int_equal(clvox_list_read(in("b"), "FLAIR", NULL, &l), CLVOX_ERROR_FILE);
}

static void a_table(void **state)
{
    clvox_list *l = NULL;
    (void)state;
    put("t/l.tsv", "mask\tsite\timage\tweight\timage2\nn/a\ta\\tb\tx.nii\t\ty.nii\n/m.nii\t\tx.NII.gz\t0.5\ty.nii\n");
    assert_int_equal(clvox_list_read(in("t/l.tsv"), NULL, NULL, &l), CLVOX_OK);
    assert_true(l->count == 2 && l->channels == 2 && l->columns == 1);
    assert_string_equal(l->subject[0].image, in("t/x.nii"));
    assert_string_equal(l->subject[0].field[0], "a\tb");
    assert_string_equal(l->subject[1].name, "x_2");
    assert_string_equal(l->subject[1].mask, "/m.nii");
    assert_true(!l->subject[0].mask && l->subject[1].weight == 0.5);
    clvox_list_destroy(&l);
    put("t/bad.tsv", "image\tweight\nx.nii\t1\n\ny.nii\t-1\n");
    assert_int_equal(clvox_list_read(in("t/bad.tsv"), NULL, NULL, &l), CLVOX_ERROR_FORMAT);
    assert_non_null(strstr(clvox_message(), "bad.tsv, line 4: the weight -1 is not a number above 0"));
    put("t/gap.tsv", "image\timage3\nx.nii\ty.nii\n");
    assert_int_equal(clvox_list_read(in("t/gap.tsv"), NULL, NULL, &l), CLVOX_ERROR_FORMAT);
    assert_non_null(strstr(clvox_message(), "there is a column `image3` and none `image2`"));
}

/* Quotes, a doubled one, an empty field, a backslash that stands for itself, a header with a mark of order.
 * */
static void a_table_with_commas(void **state)
{
    clvox_list *l = NULL;
    (void)state;
    put("t/c.csv",
        "\xef\xbb\xbfweight,\"image\",site,note\r\n2,\"a, b.nii\",\"x \"\"y\"\" z\",c:\\t\r\n,d.nii,,\n");
    assert_int_equal(clvox_list_read(in("t/c.csv"), NULL, NULL, &l), CLVOX_OK);
    assert_true(l->count == 2 && l->columns == 2 && l->subject[0].weight == 2 && l->subject[1].weight == 1);
    assert_string_equal(l->subject[0].image, in("t/a, b.nii"));
    assert_string_equal(l->column[0], "site");
    assert_string_equal(l->subject[0].field[0], "x \"y\" z");
    assert_string_equal(l->subject[0].field[1], "c:\\t");
    assert_string_equal(l->subject[1].field[0], "n/a");
    clvox_list_destroy(&l);
    put("t/d.tsv", "image\tsite\na,b.nii\t\"q\"\n");
    assert_int_equal(clvox_list_read(in("t/d.tsv"), NULL, NULL, &l), CLVOX_OK);
    assert_string_equal(l->subject[0].image, in("t/a,b.nii"));
    assert_string_equal(l->subject[0].field[0], "\"q\"");
    clvox_list_destroy(&l);
}

static void images_alone(void **state)
{
    static const char *const images[] = {"a/s.nii", "b/s.mha", "b/t.surf"};
    clvox_list *l = NULL;
    (void)state;
    assert_int_equal(clvox_list_images(images, 3, &l), CLVOX_OK);
    assert_true(l->count == 3 && l->channels == 1 && !l->columns && !l->subject[0].field);
    assert_string_equal(l->subject[0].name, "s");
    assert_string_equal(l->subject[1].name, "s_2");
    assert_string_equal(l->subject[2].name, "t.surf");
    clvox_list_destroy(&l);
}

static int tear_down(void **state)
{
    (void)state;
    while (files--)
        unlink(made[files]);
    clvox_folders_remove();
    rmdir(folder);
    return 0;
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    test_case(a_folder_of_sessions, "a BIDS folder: sessions, channels, participants.tsv");
    test_case(a_table, "a table: columns in any order, names that repeat, what is wrong by file and line");
    test_case(a_table_with_commas, "a table with commas and quotes; commas beside tabs are names");
    test_case(images_alone, "images alone");
    return test_run("list", tear_down);
}
