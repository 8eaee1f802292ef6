/* SPDX-License-Identifier: Apache-2.0 */
#include "op/papers/fma_rate.h"

#include <string.h>

static const clv_variant variants[] = {
    {.name = "items", .function = "fma_rate_items", .group = {1, 1, 1}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}}},
    {.name = "vectors", .function = "fma_rate_vectors", .group = {1, 1, 1}, .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 1}}},
};

const clv_entry clv_entry_fma_rate = {"papers/fma_rate", "fma_rate", variants, 2, NULL};

static const clv_variant double_variants[] = {
    {.name = "items", .function = "fma_rate_double_items", .group = {1, 1, 1}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}}},
    {.name = "vectors", .function = "fma_rate_double_vectors", .group = {1, 1, 1}, .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 1}}},
};

const clv_entry clv_entry_fma_rate_double = {"papers/fma_rate", "fma_rate_double", double_variants, 2, NULL};

int clv_fma_rate(clvox_context *ctx, bool twice, float start, float factor, float term, int steps, clv_buffer *in,
             clv_buffer *out, double *operations)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const float x[3] = {start, factor, term};
    if (twice && !clvox_context_limits(ctx)->fp64)
        return clv_fail(CLVOX_ERROR_DEVICE, "%s has no double precision", clvox_context_limits(ctx)->name);
    CLV_TRY(clv_kernel_get(ctx, twice ? &clv_entry_fma_rate_double : &clv_entry_fma_rate, NULL,
                           (const int[3]){1, 1, 1}, 0, &kernel));
    bool wide = !strcmp(kernel->variant->name, "vectors");
    /* Every compute unit is filled several times over. */
    int units = clvox_context_limits(ctx)->compute_units, most = CLV_PEAK_ROOM / kernel->tile.x;
    int groups = units < 1 ? 1 : units * (wide ? 4 : 16);
    groups = groups > most ? most : groups;
    CLV_TRY(clv_buffer_write(ctx, in, 0, x, sizeof x));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, ((const int[3]){groups, 1, 1}), 0, CLV_BUF(in), CLV_INT(steps),
                       CLV_BUF(out)));
    *operations = 2. * 16 * (wide ? (twice ? 4 : 8) : 1) * kernel->tile.x * (double)groups * steps;
end:
    return status;
}

const clv_entry *const clv_operation_papers_fma_rate[] = {
    &clv_entry_fma_rate, &clv_entry_fma_rate_double, NULL};
