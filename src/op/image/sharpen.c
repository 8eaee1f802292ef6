/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/sharpen.h"

static const clv_variant variants[] = {
    {.name = "item", .function = "sharpen_voxels", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "run", .function = "sharpen_voxels", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 8192}}},
};

const clv_entry clv_entry_sharpen = CLV_ENTRY("image/sharpen", "sharpen", variants, NULL);

int clv_sharpen(clvox_context *ctx, const clv_image *u, const clv_buffer *mask, const clv_bins *places,
                const clv_buffer *table, clv_buffer *r)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int n = (int)clv_image_voxels(u), size[3] = {n, 1, 1};
    const float low = places->low, high = places->high;
    if (places->count < 2)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "sharpening: %d bins; at least 2 are needed", places->count);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_sharpen, NULL, size, 0, &kernel));
    float scale = high > low ? (float)(places->count - 1) / (high - low) : 0.0f;
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 12.0 * n, CLV_BUF(u->buffer), CLV_BUF(mask), CLV_BUF(table),
                       CLV_FLOAT(low), CLV_FLOAT(scale), CLV_INT(places->count), CLV_BUF(r), CLV_INT(n)));
end:
    return status;
}

const clv_entry *const clv_operation_image_sharpen[] = {
    &clv_entry_sharpen, NULL};
