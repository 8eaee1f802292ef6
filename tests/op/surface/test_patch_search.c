/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/patch_problem.h"

static const patch_problem problems[] = {
    {"a ball", {13, 11, 12}, 2, 8, 0, BALL, 0, 1.5f},
    {"a noisy ball", {14, 13, 15}, 2, 20, 0, BALL, 1, 1.5f},
    {"a plane, all ties", {9, 8, 7}, 1, 5, 0, PLANE, 0, 1},
    {"smallest patches", {12, 11, 9}, 1, 96, 0, TWO, 0, 1.2f},
    {"largest patches", {9, 8, 7}, 3, 16, 0, NOISE, 1, -1},
    {"most neighbours", {10, 9, 8}, 1, 256, 0, NOISE, 0, -1},
    {"one slice", {17, 13, 1}, 2, 7, 0, BALL, 0, 1.5f},
    {"a line", {19, 1, 1}, 2, 4, 0, NOISE, 0, -1},
    {"smaller than a patch", {2, 3, 2}, 3, 5, 0, QUIET, 0, -1},
    {"one voxel", {1, 1, 1}, 2, 3, 0, NOISE, 0, -1},
    {"fewer than neighbours", {3, 3, 2}, 1, 40, 0, NOISE, 1, -1},
    {"values that are not finite", {9, 7, 6}, 1, 6, 0, HOLES, 0, -1},
    {"within reach", {13, 11, 12}, 2, 8, 4.5f, BALL, 0, 1.5f},
    {"within one voxel", {11, 9, 7}, 1, 30, 1, NOISE, 1, -1},
    {"reach beyond the grid", {8, 9, 7}, 1, 12, 50, HOLES, 0, -1},
};
static const patch_problem large[] = {
    {"several blocks", {19, 17, 16}, 2, 96, 0, BALL, 0, 2},
    {"several noisy blocks", {17, 16, 13}, 2, 96, 0, TWO, 1, 1},
    {"many ties", {18, 17, 8}, 1, 30, 0, PLANE, 0, 3},
    {"more in reach than a list holds", {14, 13, 11}, 1, 60, 9, NOISE, 0, -1},
};

/* For oclgrind, which is ten thousand times slower. */
static const patch_problem tiny_problems[] = {
    {"noise", {5, 3, 1}, 1, 4, 0, QUIET, 0, -1},
    {"one voxel", {1, 1, 1}, 2, 3, 0, NOISE, 0, -1},
    {"a slice with holes", {7, 3, 1}, 1, 3, 0, HOLES, 0, -1},
    {"within reach", {4, 3, 2}, 1, 4, 1.5f, QUIET, 0, -1},
};
static int search(clvox_context *ctx, const clv_patch_search_args *args, int how)
{
    (void)how;
    return clv_patch_search(ctx, args);
}

/* Input and options of a case. */
typedef struct searched {
    const patch_problem *p;
    bool elsewhere;
} searched;

static patch_data shared;

static int set_up(void **state)
{
    const searched *given = *state;
    patch_make(harness_context(), given->p, &shared);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    patch_drop(&shared);
    return 0;
}

static void finds_the_nearest(void **state)
{
    const searched *given = *state;
    patch_check(harness_context(), given->p, &shared, search, 0, given->elsewhere);
}

static void check_all(const patch_problem *list, int count)
{
    for (int i = 0; i < count; i++) {
        const patch_problem *p = &list[i];
        searched given = {p, false};
        test_set_up(set_up);
        if (list == tiny_problems && i > 0) {
            test_case_at(finds_the_nearest, TEST_OF(given), "%s", p->what);
        } else if (p->reach > 0) {
            harness_cases(&clv_entry_patch_search_keep, finds_the_nearest, TEST_OF(given), p->what);
            given.elsewhere = true;
            test_case_at(finds_the_nearest, TEST_OF(given), "%s, places given apart", p->what);
        } else
            harness_cases(&clv_entry_patch_search, finds_the_nearest, TEST_OF(given), p->what);
        test_tear_down(tear_down);
    }
}

static int give_up(void *user, double fraction)
{
    *(double *)user = fraction;
    return 1;
}

static void refuses(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    patch_data d;
    double done = -1;
    patch_make(ctx, &problems[0], &d);
    size_t answers = (size_t)d.count * 8;
    clv_buffer *scratch = harness_output(ctx, clv_patch_search_bytes(d.count, 2));
    clv_buffer *neighbours = harness_output(ctx, answers * 4), *distances = harness_output(ctx, answers * 4);
    clv_patch_search_args args = {
        .patches = {.phi = {.buffer = d.phi_device, .size = {13, 11, 12}, .components = 1}, .band = d.band_device,
                    .count = d.count, .radius = 2},
        .most = 8, .neighbours = neighbours, .distances = distances, .scratch = scratch, .progress = give_up,
        .user = &done};
    assert_int_equal(clv_patch_search(ctx, &args), CLVOX_ERROR_STOPPED);
    assert_true(done > 0 && done <= 1);
    args.progress = NULL;
    args.most = 0;
    assert_int_equal(clv_patch_search(ctx, &args), CLVOX_ERROR_ARGUMENT);
    args.most = CLV_PATCH_MOST_NEIGHBOURS + 1;
    assert_int_equal(clv_patch_search(ctx, &args), CLVOX_ERROR_ARGUMENT);
    args.most = 8;
    args.patches.radius = 0;
    assert_int_equal(clv_patch_search(ctx, &args), CLVOX_ERROR_ARGUMENT);
    args.patches.radius = 2;
    args.patches.count = 0;
    assert_int_equal(clv_patch_search(ctx, &args), CLVOX_OK);
    clv_buffer_destroy(&scratch);
    clv_buffer_destroy(&neighbours);
    clv_buffer_destroy(&distances);
    patch_drop(&d);
}

int main(void)
{
    harness_open();
    bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    if (tiny) {
        check_all(tiny_problems, sizeof tiny_problems / sizeof *tiny_problems);
    } else {
        check_all(problems, sizeof problems / sizeof *problems);
        check_all(large, sizeof large / sizeof *large);
    }
    if (!tiny)
        test_case(refuses, "what cannot be searched");
    return test_run("patch search", harness_close);
}
