/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of pairs by the library alone. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "check.h"
#include "clvox/batch.h"
#include "clvox/files.h"
#include "clvox/volume.h"
#include "op/harness.h"

static char folder[] = "/tmp/clvox-pairs-XXXXXX";

static char *in(const char *name)
{
    static char path[64][256];
    static int at;
    at = (at + 1) % 64;
    snprintf(path[at], sizeof path[at], "%s/%s", folder, name);
    return path[at];
}

/* A ball, of voxels of unlike edges, so far from the middle. */
static void put_ball(const char *name, double shift)
{
    const clvox_grid grid = {.size = {9, 8, 7},
                             .to_ras = {{3, 0, 0, -12}, {0, 3, 0, -11}, {0, 0, 3.5, -10}, {0, 0, 0, 1}}};
    clvox_volume *v = NULL;
    assert_int_equal(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v), CLVOX_OK);
    for (int k = 0; k < 7; k++)
        for (int j = 0; j < 8; j++)
            for (int i = 0; i < 9; i++) {
                const double x = 3 * i - 12 - shift, y = 3 * j - 11, z = 3.5 * k - 10;
                v->data[(k * 8 + j) * 9 + i] = (float)(100 / (1 + exp(sqrt(x * x + y * y + z * z) - 7)));
            }
    assert_int_equal(clvox_volume_write(v, in(name)), CLVOX_OK);
    clvox_volume_destroy(&v);
}

static clvox_register_options quick(void)
{
    clvox_register_options o;
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_GREEDY;
    clvox_register_preset(&o, CLVOX_PRESET_QUICK);
    o.linear = CLVOX_LINEAR_TRANSLATION;
    o.levels = 1;
    o.shrink[0] = 1;
    o.iterations[0] = 2;
    return o;
}

static int give_up(void *user, const clvox_step *step)
{
    ++*(int *)user;
    return step->fraction >= 0;
}

static int run(clvox_pairs *pairs, const clvox_pairs_options *o)
{
    clvox_context *ctx = harness_context();
    return clvox_register_list(pairs, o, &ctx, 1);
}

static void what_is_complete_stays(void **state)
{
    const clvox_register_options registration = quick();
    clvox_pairs_options o = {.size = sizeof o,
                             .registration = &registration,
                             .folder = in("out"),
                             .no_picture = 1,
                             .dry_run = 1};
    const clvox_pair rows[] = {{.fixed = in("f.nii"), .moving = in("m.nii"), .output = "a_"},
                               {.fixed = in("f.nii"), .moving = in("gone.nii"), .output = "deep/b"}};
    clvox_pairs *l = NULL;
    char *text = NULL;
    int looks = 0;
    (void)state;
    assert_int_equal(clvox_pairs_make(rows, 2, &o, &l), CLVOX_OK);
    assert_true(l->count == 2 && l->pair[0].files == 4);
    assert_string_equal(l->pair[0].output, in("out/a"));
    assert_string_equal(l->pair[0].file[0], in("out/a_affine.txt"));
    assert_string_equal(l->summary, in("out/summary.tsv"));
    assert_int_equal(run(l, &o), CLVOX_OK);
    assert_true(l->pair[0].state == CLVOX_PAIR_WAITING && access(in("out"), F_OK));
    o.dry_run = 0;
    o.progress = give_up;
    o.user = &looks;
    assert_int_equal(run(l, &o), CLVOX_ERROR_STOPPED);
    assert_true(looks == 1 && l->summary_written && l->pair[0].state == CLVOX_PAIR_WAITING);
    o.progress = NULL;
    assert_int_equal(run(l, &o), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), "1 of 2 pairs failed"));
    assert_true(l->pair[0].state == CLVOX_PAIR_DONE && l->pair[0].ncc > .9 && l->pair[0].seconds > 0);
    assert_true(l->pair[1].state == CLVOX_PAIR_FAILED && isnan(l->pair[1].ncc));
    assert_non_null(strstr(l->pair[1].message, "gone.nii: cannot be opened"));
    for (int i = 0; i < l->pair[0].files; i++)
        assert_true(!access(l->pair[0].file[i], F_OK));
    assert_int_equal(clvox_file_read(in("out/a.json"), 1 << 20, &text, NULL), CLVOX_OK);
    assert_true(strstr(text, "\"version\"") && strstr(text, "\"crc32\"") && strstr(text, "\"driver\""));
    clvox_text_destroy(&text);
    put_ball("gone.nii", 1);
    assert_int_equal(run(l, &o), CLVOX_OK);
    assert_true(l->pair[0].state == CLVOX_PAIR_PRESENT && l->pair[1].state == CLVOX_PAIR_DONE &&
                !l->pair[1].message);
    clvox_pairs_destroy(&l);
    assert_null(l);
    /* Other options, told by the fields, as there are no texts. */
    clvox_register_options other = registration;
    other.iterations[0] = 3;
    o.registration = &other;
    o.dry_run = 1;
    assert_int_equal(clvox_pairs_make(rows, 2, &o, &l), CLVOX_OK);
    assert_int_equal(run(l, &o), CLVOX_OK);
    assert_true(l->pair[0].state == CLVOX_PAIR_WAITING);
    o.registration = &registration;
    assert_int_equal(run(l, &o), CLVOX_OK);
    assert_true(l->pair[0].state == CLVOX_PAIR_PRESENT && l->pair[0].ncc > .9);
    unlink(in("out/a_affine.txt"));
    assert_int_equal(run(l, &o), CLVOX_OK);
    assert_true(l->pair[0].state == CLVOX_PAIR_WAITING && l->pair[1].state == CLVOX_PAIR_PRESENT);
    clvox_pairs_destroy(&l);
}

/* Another process is told by the lock on a file beside the pair's log. */
static void processes_share_a_list(void **state)
{
    const clvox_register_options registration = quick();
    const clvox_pairs_options o = {
        .size = sizeof o, .registration = &registration, .folder = in("shared"), .no_picture = 1};
    const clvox_pair rows[] = {{.fixed = in("f.nii"), .moving = in("m.nii"), .output = "a"},
                               {.fixed = in("m.nii"), .moving = in("f.nii"), .output = "b"}};
    clvox_pairs *l = NULL;
    (void)state;
    assert_int_equal(clvox_folders_make(in("shared/a.json.claim")), CLVOX_OK);
    const int other = open(in("shared/a.json.claim"), O_CREAT | O_RDWR, 0600);
    assert_true(other >= 0 && !flock(other, LOCK_EX));
    assert_int_equal(clvox_pairs_make(rows, 2, &o, &l), CLVOX_OK);
    assert_int_equal(run(l, &o), CLVOX_OK);
    assert_true(l->pair[0].state == CLVOX_PAIR_WAITING && l->pair[1].state == CLVOX_PAIR_DONE);
    assert_true(access(in("shared/a_warp.nii.gz"), F_OK) && access(in("shared/b.json.claim"), F_OK));
    close(other); /* as where it was killed: the file stays */
    assert_int_equal(run(l, &o), CLVOX_OK);
    assert_true(l->pair[0].state == CLVOX_PAIR_DONE && l->pair[1].state == CLVOX_PAIR_PRESENT);
    assert_true(access(in("shared/a.json.claim"), F_OK));
    clvox_pairs_destroy(&l);
}

static void shards_are_the_pairs(void **state)
{
    clvox_pairs_options o = {.size = sizeof o, .folder = in("parts"), .shards = 2};
    clvox_pair rows[5] = {{.fixed = NULL}};
    clvox_pairs *l = NULL;
    (void)state;
    char *const output[] = {"a", "b", "c", "d", "e"};
    for (int i = 0; i < 5; i++)
        rows[i] = (clvox_pair){.fixed = in("f.nii"), .moving = in("m.nii"), .output = output[i]};
    for (o.shard = 1; o.shard <= 2; o.shard++) {
        assert_int_equal(clvox_pairs_make(rows, 5, &o, &l), CLVOX_OK);
        assert_int_equal(l->count, o.shard == 1 ? 3 : 2);
        for (int i = 0; i < l->count; i++)
            assert_string_equal(strrchr(l->pair[i].output, '/') + 1, rows[2 * i + o.shard - 1].output);
        assert_non_null(strstr(l->summary, o.shard == 1 ? "/parts/summary_shard-1-of-2.tsv"
                                                        : "/parts/summary_shard-2-of-2.tsv"));
        clvox_pairs_destroy(&l);
    }
    o.shard = o.shards = 7;
    assert_int_equal(clvox_pairs_make(rows, 5, &o, &l), CLVOX_OK);
    assert_int_equal(l->count, 0);
    clvox_pairs_destroy(&l);
    for (int k = 0; k < 3; k++) {
        o.shard = (int[]){0, 3, 1}[k];
        o.shards = (int[]){2, 2, -1}[k];
        assert_int_equal(clvox_pairs_make(rows, 5, &o, &l), CLVOX_ERROR_ARGUMENT);
        assert_non_null(strstr(clvox_message(), "the parts of a list are counted from 1"));
    }
}

static void refused(const char *sentence, const clvox_pair *rows, int count, const clvox_pairs_options *o)
{
    clvox_pairs *l = NULL;
    assert_true(clvox_pairs_make(rows, count, o, &l) < 0);
    assert_null(l);
    assert_that(strstr(clvox_message(), sentence) != NULL, "%s", clvox_message());
}

/* Where nothing else is asked for. */
static void pairs_with_a_boundary_are_rigid(void **state)
{
    char *white[] = {in("w.nii"), in("x.nii")};
    const char *const all[] = {in("y.nii")};
    clvox_register_options registration = quick();
    clvox_pairs_options o = {.size = sizeof o, .folder = in("white"), .no_picture = 1};
    const clvox_pair rows[] = {
        {.fixed = in("f.nii"), .moving = in("m.nii"), .output = "a", .boundary = white, .boundaries = 2},
        {.fixed = in("f.nii"), .moving = in("m.nii"), .output = "b"}};
    clvox_pairs *l = NULL;
    (void)state;
    assert_int_equal(clvox_pairs_make(rows, 2, &o, &l), CLVOX_OK);
    assert_true(l->pair[0].boundaries == 2 && !strcmp(l->pair[0].boundary[1], white[1]));
    assert_true(l->pair[0].files == 3 && l->pair[1].files == 4 && !l->pair[1].boundaries);
    clvox_pairs_destroy(&l);
    o.registration = &registration;
    refused("pair 1: a boundary refines --linear rigid or affine", rows, 2, &o);
    registration.linear = CLVOX_LINEAR_AFFINE;
    o.boundary = all;
    o.boundaries = 1;
    assert_int_equal(clvox_pairs_make(rows, 2, &o, &l), CLVOX_OK);
    assert_true(l->pair[0].boundaries == 2 && !strcmp(l->pair[1].boundary[0], all[0]));
    assert_true(l->pair[0].files == 4 && l->pair[1].files == 4);
    clvox_pairs_destroy(&l);
}

/* The log of a result that another driver gave. */
static void results_of_other_devices(void **state)
{
    const clvox_register_options registration = quick();
    clvox_pairs_options o = {
        .size = sizeof o, .registration = &registration, .folder = in("other"), .no_picture = 1};
    const clvox_pair row = {.fixed = in("f.nii"), .moving = in("m.nii"), .output = "a"};
    clvox_pairs *l = NULL;
    char *text = NULL, *driver;
    size_t size;
    (void)state;
    assert_int_equal(clvox_pairs_make(&row, 1, &o, &l), CLVOX_OK);
    assert_int_equal(run(l, &o), CLVOX_OK);
    assert_int_equal(clvox_file_read(in("other/a.json"), 1 << 20, &text, &size), CLVOX_OK);
    driver = strstr(text, "driver\\\":\\\"");
    assert_non_null(driver);
    driver[strlen("driver\\\":\\\"")] ^= 1;
    assert_int_equal(clvox_file_write(in("other/a.json"), text, size), CLVOX_OK);
    clvox_text_destroy(&text);
    o.dry_run = 1;
    assert_int_equal(run(l, &o), CLVOX_OK);
    assert_int_equal(l->pair[0].state, CLVOX_PAIR_WAITING);
    o.any_device = 1;
    assert_int_equal(run(l, &o), CLVOX_OK);
    assert_int_equal(l->pair[0].state, CLVOX_PAIR_PRESENT);
    o.no_picture = 0; /* not the same options */
    assert_int_equal(run(l, &o), CLVOX_OK);
    assert_int_equal(l->pair[0].state, CLVOX_PAIR_WAITING);
    clvox_pairs_destroy(&l);
}

static void lists_that_make_no_sense(void **state)
{
    const clvox_pairs_options o = {.size = sizeof o, .folder = in("no")};
    const clvox_pair twice[] = {{.fixed = "f.nii", .moving = "m.nii", .output = "a"},
                                {.fixed = "f.nii", .moving = "m.nii", .output = "x/../a_"}};
    const clvox_pair half[] = {{.fixed = "f.nii", .output = "a"}};
    (void)state;
    refused("two pairs have the output", twice, 2, &o);
    refused("pair 1: a pair needs a fixed and a moving image, and an output", half, 1, &o);
    refused("there is no pair in it", half, 0, &o);
    char *white[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    const clvox_pair many = {
        .fixed = "f.nii", .moving = "m.nii", .output = "a", .boundary = white, .boundaries = 9};
    refused("pair 1: a boundary has up to 8 files", &many, 1, &o);
    clvox_pairs_options other;
    clvox_pairs_defaults(&other);
    refused("needs a folder", twice, 1, &other);
    other.size--;
    refused("_defaults", twice, 1, &other);
    refused("clvox_pairs_make: options is NULL", twice, 1, NULL);
    assert_true(access(in("no"), F_OK));
}

/* An input of one pair is another one's output. */
static void no_input_is_overwritten(void **state)
{
    const clvox_pairs_options o = {.size = sizeof o, .folder = folder};
    (void)state;
    put_ball("c_warped.nii.gz", 0);
    const clvox_pair rows[] = {{.fixed = in("f.nii"), .moving = in("m.nii"), .output = "c"},
                               {.fixed = in("f.nii"), .moving = in("c_warped.nii.gz"), .output = "d"}};
    refused("c_warped.nii.gz: is an input of the list and would be overwritten", rows, 2, &o);
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
    if (!mkdtemp(folder))
        return 1;
    harness_open();
    put_ball("f.nii", 0);
    put_ball("m.nii", 1.5);
    test_case(what_is_complete_stays,
              "pairs are planned, stopped, registered, and left as they are once complete");
    test_case(processes_share_a_list, "processes that have one list share its pairs");
    test_case(shards_are_the_pairs, "shards together are the pairs of a list, each once");
    test_case(pairs_with_a_boundary_are_rigid,
              "pairs with a boundary are registered rigidly unless asked otherwise");
    test_case(results_of_other_devices, "a result of another device is present where that is asked for");
    test_case(lists_that_make_no_sense, "lists that make no sense are a sentence each, and leave nothing");
    test_case(no_input_is_overwritten, "no pair writes what another reads");
    return test_run("register list", tear_down);
}
