/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/patch_pairs.h"

#include "bench/papers/ref/patch_pairs.h"
#include "surface/patch_problem.h"

static const patch_problem problems[] = {
    {"a small slice", {5, 3, 1}, 1, 4, 0, QUIET, 0, -1},
    {"several subsets", {14, 13, 15}, 2, 20, 0, BALL, 1, 1.5f},
    {"largest patches, ties", {9, 8, 7}, 3, 16, 0, PLANE, 0, 2},
    {"values that are not finite", {9, 7, 6}, 1, 6, 0, HOLES, 0, -1},
};
enum { PAIRS = sizeof problems / sizeof *problems };

static int search(clvox_context *ctx, const clv_patch_search_args *args, int how)
{
    (void)how;
    return clv_patch_pairs(ctx, args);
}

static patch_data shared;

static int set_up(void **state)
{
    const patch_problem *p = *state;
    patch_make(harness_context(), p, &shared);
    ref_patch_pairs(shared.phi, p->size, shared.band, shared.count, p->radius, p->most, shared.want,
                    shared.want_distance);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    patch_drop(&shared);
    return 0;
}

static bool too_large(const patch_problem *p)
{
    return harness_variant()->cell_bytes && p->radius > 2;
}

static void finds_the_nearest(void **state)
{
    if (too_large(*state))
        test_skip("a record has no room for such patches");
    patch_check(harness_context(), *state, &shared, search, 0, false);
}

/* Every memory and tile computes the same. */
static void check_memories(const patch_problem *p)
{
    test_set_up(set_up);
    harness_cases(&clv_entry_patch_pairs, finds_the_nearest, TEST_OF(*p), p->what);
    test_tear_down(tear_down);
}

static void takes_an_empty_band(void **state)
{
    (void)state;
    const clv_patch_search_args args = {.most = 8, .patches = {.radius = 2}};
    assert_int_equal(clv_patch_pairs(harness_context(), &args), CLVOX_OK);
}

int main(void)
{
    harness_open();
    bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    for (int i = 0; i < PAIRS; i++)
        if (!tiny || i == 0)
            check_memories(&problems[i]);
    if (!tiny)
        test_case(takes_an_empty_band, "an empty band has no neighbours");
    return test_run("patch pairs", harness_close);
}
