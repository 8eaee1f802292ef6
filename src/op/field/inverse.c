/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/inverse.h"

static const clv_variant variants[] = {
    {.name = "item", .function = "inverse_item", .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {16, 4, 2, 1}, {8, 4, 4, 1}, {4, 4, 1, 1}}},
    {.name = "row", .function = "inverse_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};

const clv_entry clv_entry_inverse = CLV_ENTRY("field/inverse", "inverse", variants, NULL);

int clv_inverse(clvox_context *ctx, const clv_image *u, int most, bool warm, clv_buffer *v)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int *size = u->size;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_inverse, NULL, size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, (warm ? 36. : 24.) * (double)clv_image_voxels(u), CLV_BUF(u->buffer),
                       CLV_BUF(v), CLV_GRID(u), CLV_INT(most), CLV_INT(warm)));
end:
    return status;
}

const clv_entry *const clv_operation_field_inverse[] = {
    &clv_entry_inverse, NULL};
