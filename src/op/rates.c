/* SPDX-License-Identifier: Apache-2.0 */
#include "op/rates.h"

#include "op/force_args.h"

static const clv_variant rates_variants[] = {
    {.name = "item", .function = "rates_item", .shape = CLV_SHAPE_ITEM, .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {32, 8, 1, 1}, {64, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "rates_row", .shape = CLV_SHAPE_ROW, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_rates = {"rates", "rates", rates_variants,
                                   sizeof rates_variants / sizeof *rates_variants, NULL};

static const char *const builds[] = {"", "-DMASK=1", NULL};
static const clv_variant force_variants[] = {
    {.name = "item", .function = "rates_force_item", .shape = CLV_SHAPE_ITEM, .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {32, 4, 2, 1}, {32, 8, 1, 1}, {16, 8, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "rates_force_row", .shape = CLV_SHAPE_ROW, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_rates_force = {"rates", "rates_force", force_variants,
                                         sizeof force_variants / sizeof *force_variants, builds};

int clv_rates(clvox_context *ctx, const clv_buffer *u, const int size[3], const float spacing[3],
              float lambda, clv_buffer *rate)
{
    const clv_kernel *kernel;
    int status = clv_kernel_get(ctx, &clv_entry_rates, NULL, size, 0, &kernel);
    if (status < 0)
        return status;
    return CLV_LAUNCH(ctx, kernel, size, 16. * size[0] * size[1] * size[2], CLV_BUF(u), CLV_FORCE_SIZE(size),
                      CLV_FLOAT4(1 / spacing[0], 1 / spacing[1], 1 / spacing[2], lambda), CLV_BUF(rate));
}

int clv_rates_force(clvox_context *ctx, const clv_force_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    CLV_TRY(clv_force_check(a, true));
    if (!a->rate || a->rate->bytes < (size_t)clv_force_voxels(a) * sizeof(float))
        return clv_fail(CLVOX_ERROR_ARGUMENT, "force: this form needs one float a voxel in rate");
    CLV_TRY(clv_rates(ctx, a->u, a->size, a->spacing, a->lambda, a->rate));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_rates_force, builds[a->mask != NULL], a->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, a->size, clv_force_voxels(a) * (a->mask ? 40 : 36), CLV_BUF(a->rate),
                       CLV_FORCE_ARGS(a), CLV_BUF(a->force)));
end:
    return status;
}
