/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of images to resample by the library alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "clvox/batch.h"
#include "clvox/files.h"
#include "clvox/transform.h"
#include "clvox/volume.h"
#include "op/harness.h"

static char folder[] = "/tmp/clvox-apply-XXXXXX";

static char *in(const char *name)
{
    static char path[64][256];
    static int at;
    at = (at + 1) % 64;
    snprintf(path[at], sizeof path[at], "%s/%s", folder, name);
    return path[at];
}

static const clvox_grid grid = {.size = {5, 4, 3},
                                .to_ras = {{2, 0, 0, 1}, {0, 3, 0, -2}, {0, 0, 1.5, 0}, {0, 0, 0, 1}}};

/* Two frames; voxels count up. */
static void put_image(const char *name)
{
    clvox_volume *v = NULL;
    assert_int_equal(clvox_volume_create(&grid, 2, CLVOX_KIND_SCALAR, &v), CLVOX_OK);
    for (int i = 0; i < 2 * 60; i++)
        v->data[i] = (float)i + .5f;
    assert_int_equal(clvox_volume_write(v, in(name)), CLVOX_OK);
    clvox_volume_destroy(&v);
}

/* The value of a voxel of a file of so many frames. */
static float value(const char *name, int frames, int voxel)
{
    clvox_volume *v = NULL;
    assert_int_equal(clvox_volume_read(in(name), &v), CLVOX_OK);
    assert_int_equal(v->frames, frames);
    const float found = v->data[voxel];
    clvox_volume_destroy(&v);
    return found;
}

/* Remarks, and looks at the progress. */
typedef struct hearing {
    char said[4096];
    int looks, last;
} hearing;

static void hear(void *user, int level, const char *line)
{
    hearing *h = user;
    const size_t used = strlen(h->said);
    snprintf(h->said + used, sizeof h->said - used, "%d %s\n", level, line);
}

static int look(void *user, const clvox_step *step)
{
    hearing *h = user;
    assert_true(step->level == -1 && step->fraction >= 0 && step->fraction < 1);
    return ++h->looks > h->last;
}

static void what_is_complete_stays(void **state)
{
    hearing h = {.last = 1};
    char *shift = in("shift.txt");
    const char *const common[] = {shift};
    char *own[] = {in("shift.txt,-1"), shift};
    clvox_apply_list_options o;
    clvox_apply_list_defaults(&o);
    o.reference = in("i.nii");
    o.transform = common;
    o.transforms = 1;
    o.summary = in("tables/summary.tsv");
    o.jobs = 1;
    o.log = hear;
    o.progress = look;
    o.user = &h;
    const clvox_apply_row rows[] = {{.input = in("i.nii"), .output = in("out/a.nii")},
                                    {.input = in("gone.nii"), .output = in("out/b.nii")},
                                    {.input = in("i.nii"),
                                     .output = in("c.nii"),
                                     .transform = own,
                                     .transforms = 2}};
    clvox_apply_rows *l = NULL;
    (void)state;
    assert_int_equal(clvox_apply_rows_make(rows, 3, &o, &l), CLVOX_OK);
    assert_true(l->count == 3 && l->row[0].transforms == 1 && access(in("out"), F_OK));
    /* Stopped before the second, and taken up. */
    assert_int_equal(clvox_apply_list(l, &o, harness_context()), CLVOX_ERROR_STOPPED);
    assert_true(l->row[0].state == CLVOX_PAIR_DONE && l->row[1].state == CLVOX_PAIR_WAITING);
    assert_non_null(strstr(h.said, "summary.tsv says which images are done"));
    assert_float_equal(value("out/a.nii", 2, 1), 2.5f, 1e-5f); /* one voxel to the right */
    o.progress = NULL;
    assert_int_equal(clvox_apply_list(l, &o, harness_context()), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), "1 of 3 images failed"));
    assert_true(l->summary_written && l->row[0].state == CLVOX_PAIR_PRESENT);
    assert_true(l->row[1].state == CLVOX_PAIR_FAILED && l->row[2].state == CLVOX_PAIR_DONE);
    assert_non_null(strstr(l->row[1].message, "gone.nii: cannot be opened"));
    assert_non_null(strstr(h.said, "out/b.nii: failed: "));
    assert_float_equal(value("c.nii", 2, 61), 61.5f, 1e-5f); /* there and back */
    put_image("gone.nii");
    assert_int_equal(clvox_apply_list(l, &o, harness_context()), CLVOX_OK);
    assert_true(l->row[0].state == CLVOX_PAIR_PRESENT && l->row[1].state == CLVOX_PAIR_DONE &&
                !l->row[1].message);
    /* One frame is another result. */
    o.frame = 1;
    assert_int_equal(clvox_apply_list(l, &o, harness_context()), CLVOX_OK);
    assert_true(l->row[0].state == CLVOX_PAIR_DONE);
    assert_float_equal(value("out/a.nii", 1, 1), 62.5f, 1e-5f);
    clvox_apply_rows_destroy(&l);
    assert_null(l);
}

static void voxels_are_carried(void **state)
{
    clvox_apply_list_options o;
    clvox_apply_list_defaults(&o);
    o.forward = 1;
    o.landing = CLVOX_LANDING_MASS;
    char *own[] = {in("shift.txt")};
    const clvox_apply_row row = {.input = in("i.nii"),
                                 .output = in("f.nii"),
                                 .reference = in("i.nii"),
                                 .transform = own,
                                 .transforms = 1};
    clvox_apply_rows *l = NULL;
    (void)state;
    assert_int_equal(clvox_apply_rows_make(&row, 1, &o, &l), CLVOX_OK);
    assert_int_equal(clvox_apply_list(l, &o, harness_context()), CLVOX_OK);
    assert_float_equal(value("f.nii", 2, 1), .5f, 1e-5f);
    /* Without a summary nothing is known of an earlier run. */
    assert_int_equal(clvox_apply_list(l, &o, harness_context()), CLVOX_OK);
    assert_true(l->row[0].state == CLVOX_PAIR_DONE && !l->summary_written);
    clvox_apply_rows_destroy(&l);
}

static void refused(const char *sentence, const clvox_apply_row *rows, int count,
                    const clvox_apply_list_options *o)
{
    clvox_apply_rows *l = NULL;
    assert_true(clvox_apply_rows_make(rows, count, o, &l) < 0);
    assert_null(l);
    assert_that(strstr(clvox_message(), sentence) != NULL, "%s", clvox_message());
}

static void lists_that_make_no_sense(void **state)
{
    clvox_apply_list_options o;
    clvox_apply_list_defaults(&o);
    o.reference = in("i.nii");
    const clvox_apply_row twice[] = {{.input = "a.nii", .output = in("no/x.nii")},
                                     {.input = "a.nii", .output = in("no/y/../x.nii")}};
    const clvox_apply_row onto[] = {{.input = "a.nii", .output = in("i.nii")}};
    const clvox_apply_row half[] = {{.input = "a.nii"}};
    (void)state;
    refused("two images have the output", twice, 2, &o);
    refused("i.nii: is an input of the list and would be overwritten", onto, 1, &o);
    refused("image 1: a row needs an input and an output", half, 1, &o);
    refused("there is no image in it", half, 0, &o);
    o.summary = in("no/x.nii");
    refused("two images have the output", twice, 1, &o);
    o.reference = NULL;
    refused("image 1: there is no reference", twice, 2, &o);
    o.size--;
    refused("_defaults", twice, 1, &o);
    refused("clvox_apply_rows_make: options is NULL", twice, 1, NULL);
    assert_true(access(in("no"), F_OK));
}

static int tear_down(void **state)
{
    char line[300];
    snprintf(line, sizeof line, "rm -r %s", folder);
    if (system(line))
        return 1;
    return harness_close(state);
}

int main(void)
{
    static const double shift[4][4] = {{1, 0, 0, 2}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    if (!mkdtemp(folder))
        return 1;
    harness_open();
    put_image("i.nii");
    assert_int_equal(clvox_affine_write(shift, CLVOX_AFFINE_ITK, in("shift.txt")), CLVOX_OK);
    test_case(what_is_complete_stays,
              "images are resampled, stopped, taken up, and left as they are once complete");
    test_case(voxels_are_carried, "voxels are carried forward, and without a summary all is made again");
    test_case(lists_that_make_no_sense, "lists that make no sense are a sentence each, and leave nothing");
    return test_run("apply list", tear_down);
}
