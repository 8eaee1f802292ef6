/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/fma_rate.h"

/* An item covers chains. */
static const clv_variant variants[] = {
    {.name = "items", .function = "fma_rate_items", .item = {16}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}}},
    {.name = "vectors", .function = "fma_rate_vectors", .item = {128}, .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 1}}},
};

const clv_entry clv_entry_fma_rate = CLV_ENTRY("papers/fma_rate", "fma_rate", variants, NULL);

static const clv_variant double_variants[] = {
    {.name = "items", .function = "fma_rate_double_items", .item = {16}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}}},
    {.name = "vectors", .function = "fma_rate_double_vectors", .item = {64}, .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 1}}},
};

const clv_entry clv_entry_fma_rate_double = CLV_ENTRY("papers/fma_rate", "fma_rate_double", double_variants,
                                                      NULL);

int clv_fma_rate(clvox_context *ctx, const clv_fma_chains *chains, clv_buffer *in, clv_buffer *out,
                 double *operations)
{
    enum { GROUPS_A_UNIT = 16 }; /* every compute unit is filled several times over */
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    const float x[3] = {chains->start, chains->factor, chains->term};
    if (chains->twice && !limits->fp64)
        return clvox_fail(CLVOX_ERROR_DEVICE, "%s has no double precision", limits->name);
    CLV_TRY(clv_kernel_get(ctx, chains->twice ? &clv_entry_fma_rate_double : &clv_entry_fma_rate, NULL,
                           (const int[3]){1, 1, 1}, 0, &kernel));
    int groups = limits->compute_units < 1 ? 1 : limits->compute_units * GROUPS_A_UNIT;
    if (groups > CLV_FMA_ROOM / kernel->tile.x)
        groups = CLV_FMA_ROOM / kernel->tile.x;
    const int all[3] = {groups * kernel->group[0], 1, 1};
    CLV_TRY(clv_buffer_write(ctx, in, 0, x, sizeof x));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, all, 0, CLV_BUF(in), CLV_INT(chains->steps), CLV_BUF(out)));
    *operations = 2. * all[0] * chains->steps;
end:
    return status;
}

const clv_entry *const clv_operation_papers_fma_rate[] = {
    &clv_entry_fma_rate, &clv_entry_fma_rate_double, NULL};
