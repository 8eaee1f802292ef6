/* SPDX-License-Identifier: Apache-2.0 */
#include "op/papers/patch_pairs.h"

#include "ref/papers/patch_pairs.h"
#include "surface/patch_problem.h"

static const patch_problem problems[] = {
    {"a small slice", {5, 3, 1}, 1, 4, 0, QUIET, 0, -1},
    {"several subsets", {14, 13, 15}, 2, 20, 0, BALL, 1, 1.5f},
    {"largest patches, ties", {9, 8, 7}, 3, 16, 0, PLANE, 0, 2},
    {"values that are not finite", {9, 7, 6}, 1, 6, 0, HOLES, 0, -1},
};
enum { PAIRS = sizeof problems / sizeof *problems };


static int search(clvox_context *ctx, const clv_patch_search_args *args, int memory)
{
    return clv_patch_pairs(ctx, (clv_patch_memory)memory, args);
}

/* Every memory and tile computes the same. */
static void check_memories(clvox_context *ctx, const patch_problem *p)
{
    patch_data d;
    patch_make(ctx, p, &d);
    ref_patch_pairs(d.phi, p->size, d.band, d.count, p->radius, p->most, d.want, d.want_distance);
    for (int memory = 0; memory < CLV_PATCH_MEMORIES; memory++) {
        int state = 0;
        if (memory == CLV_PATCH_IMAGE && clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU)
            continue;
        while (harness_next(ctx, &clv_entry_patch_pairs[memory], &state, p->what))
            patch_check(ctx, p, &d, search, memory, false);
    }
    patch_drop(&d);
}

static void refuses(clvox_context *ctx)
{
    clv_patch_search_args args = {.most = 8, .patches = {.radius = 2}};
    CHECK_CASE("image memory is refused on CPU devices");
    CHECK(clv_patch_pairs(ctx, CLV_PATCH_CONSTANT, &args) == CLVOX_OK);
    if (clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU)
        CHECK(clv_patch_pairs(ctx, CLV_PATCH_IMAGE, &args) == CLVOX_ERROR_DEVICE);
}

int main(void)
{
    clvox_context *ctx = harness_open();
    bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    for (int i = 0; i < PAIRS; i++)
        if (!tiny || i == 0)
            check_memories(ctx, &problems[i]);
    if (!tiny)
        refuses(ctx);
    clvox_context_destroy(&ctx);
    return check_end();
}
