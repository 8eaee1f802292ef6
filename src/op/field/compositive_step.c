/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/compositive_step.h"

static const clv_variant variants[] = {
    {.name = "item",
     .function = "compositive_step_item",
     .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {64, 4, 1, 1}, {256, 1, 1, 1}, {16, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row",
     .function = "compositive_step_row",
     .item = {CLV_WHOLE},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};

const clv_entry clv_entry_compositive_step = CLV_ENTRY("field/compositive_step", "compositive_step", variants,
                                                       NULL);

int clv_compositive_step(clvox_context *ctx, const clv_image *u, const clv_buffer *v,
                         const clv_step_length *length, clv_within within, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int *size = u->size;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_compositive_step, NULL, size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(
        ctx, kernel, size, 24. * (double)clv_image_voxels(u) + 12 * clv_within_voxels(within, size),
        CLV_BUF(u->buffer), CLV_BUF(v), CLV_GRID(u), CLV_FLOAT(length->rim), CLV_FLOAT(length->step),
        CLV_BUF(length->state), CLV_INT(length->slot), CLV_BUF(within.rows), CLV_BUF(out)));
end:
    return status;
}

const clv_entry *const clv_operation_field_compositive_step[] = {
    &clv_entry_compositive_step, NULL};
