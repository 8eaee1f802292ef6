/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/velocity_sum.h"

static const clv_variant variants[] = {
    {.name = "lanes",
     .function = "velocity_sum_lanes",
     .item = {CLV_MARCH},
     .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 4}, {64, 1, 1, 8}, {1, 1, 1, 4}}},
    {.name = "runs",
     .function = "velocity_sum_runs",
     .item = {CLV_MARCH},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 16384}}},
};

const clv_entry clv_entry_velocity_sum = CLV_ENTRY("field/velocity_sum", "velocity_sum", variants, NULL);

int clv_velocity_sum(clvox_context *ctx, const clv_image *u, const clv_buffer *back, float weight, float unit,
                     clv_buffer *sum)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int n = clv_image_floats(u), size[3] = {n, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_velocity_sum, NULL, size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 16. * n, CLV_BUF(u->buffer), CLV_BUF(back), CLV_FLOAT(weight),
                       CLV_FLOAT(unit), CLV_BUF(sum), CLV_INT(n)));
end:
    return status;
}

const clv_entry *const clv_operation_field_velocity_sum[] = {&clv_entry_velocity_sum, NULL};
