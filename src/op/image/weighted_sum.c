/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/weighted_sum.h"

#include <math.h>

static const clv_variant variants[] = {
    {.name = "lanes",
     .function = "weighted_sum_lanes",
     .item = {CLV_MARCH},
     .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 4}, {64, 1, 1, 8}, {1, 1, 1, 4}}},
    {.name = "runs",
     .function = "weighted_sum_runs",
     .item = {CLV_MARCH},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 16384}}},
};

const clv_entry clv_entry_weighted_sum = CLV_ENTRY("image/weighted_sum", "weighted_sum", variants, NULL);

clv_weighted_units clv_weighted_units_of(double largest, int count)
{
    enum { LEAST = -90 }; /* whole numbers for 1 stay a float */
    int exponent, doublings = 0;
    for (; count > 1; count -= count / 2)
        doublings++;
    frexp(largest, &exponent);
    exponent = exponent > LEAST ? exponent : LEAST;
    return (clv_weighted_units){.value = ldexpf(1, 28 - exponent - doublings),
                                .weight = ldexpf(1, doublings > 6 ? 30 - doublings : 24),
                                .most = ldexpf(1, 30 - doublings)};
}

int clv_weighted_sum(clvox_context *ctx, const clv_image *x, float weight, const clv_weighted_units *units,
                     clv_buffer *sums)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int n = clv_image_floats(x), size[3] = {n, 1, 1};
    const float whole = fmaxf(rintf(weight * units->weight), 1);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_weighted_sum, NULL, size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 20. * n, CLV_BUF(x->buffer), CLV_FLOAT(whole / units->weight),
                       CLV_INT((int)whole), CLV_FLOAT(units->value), CLV_FLOAT(units->most), CLV_BUF(sums),
                       CLV_INT(n)));
end:
    return status;
}

const clv_entry *const clv_operation_image_weighted_sum[] = {&clv_entry_weighted_sum, NULL};
