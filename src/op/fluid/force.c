/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/force_args.h"

static const char *const builds[] = {"-DPENALTY=1", "-DPENALTY=1 -DMASK=1", NULL};
static const char *const image_builds[] = {"", "-DMASK=1", NULL};

#define DIRECT                                                        \
    {.name = "direct", .function = "force_direct", .devices = CLV_ON_GPU, \
     .tiles = {{32, 4, 1, 1}, {1, 1, 1, 1}}}
/* Eight rows of an item share the fluxes between them. */
#define ROLLING                                                       \
    {.name = "rolling", .function = "force_rolling", .item = {CLV_WHOLE, 8, CLV_MARCH}, \
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 16}, {1, 1, 1, 4}}}
/* The fastest of the forms of Lee et al. 2012, section 4; bench/papers has the others. */
static const clv_variant variants[] = {
    {.name = "reuse", .function = "force_reuse", .item = {1, 1, CLV_MARCH}, .rim = {1, 1, 0},
     .devices = CLV_ON_GPU, .cell_bytes = 48, .planes = 1,
     .tiles = {{16, 16, 1, 32}, {32, 8, 1, 32}, {8, 8, 1, 16}}},
    DIRECT,
    ROLLING,
};
/* Without the penalty there are no products that neighbours could share. */
static const clv_variant image_variants[] = {DIRECT, ROLLING};

const clv_entry clv_entry_force = CLV_ENTRY("fluid/force", "force", variants, builds);
const clv_entry clv_entry_force_image = CLV_ENTRY("fluid/force", "force_image", image_variants, image_builds);

int clv_force_check(const clv_force_args *a, bool with_force)
{
    if (!a->moving.buffer || !a->fixed.buffer || !a->u || (with_force && !a->force))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "force: a buffer is missing; pass moving, fixed, u and force");
    if (with_force && a->force == a->u)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "force: the force may not overwrite u; pass another buffer");
    for (int i = 0; i < 3; i++)
        if (a->fixed.size[i] < 1 || a->moving.size[i] < 1 || !(a->fixed.spacing[i] > 0))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "force: sizes must be at least 1 and spacings positive");
    return CLVOX_OK;
}

int clv_force(clvox_context *ctx, const clv_force_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    CLV_TRY(clv_force_check(a, true));
    const clv_entry *entry = a->lambda != 0 ? &clv_entry_force : &clv_entry_force_image;
    double n = (double)clv_image_voxels(&a->fixed), moved = a->mask ? 36 : 32;
    CLV_TRY(clv_kernel_get(ctx, entry, entry->builds[a->mask != NULL], a->fixed.size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, a->fixed.size, moved * n, CLV_FORCE_ARGS(a), CLV_FLOAT(a->lambda),
                       CLV_BUF(a->force)));
end:
    return status;
}

const clv_entry *const clv_operation_fluid_force[] = {&clv_entry_force, &clv_entry_force_image,
                                                      NULL};
