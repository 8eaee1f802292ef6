/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/sobel.h"

static const clv_variant variants[] = {
    {.name = "march", .function = "sobel_march", .item = {1, 1, CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{64, 4, 1, 8}, {32, 2, 1, 4}}},
    {.name = "item", .function = "sobel_item", .devices = CLV_ON_GPU,
     .tiles = {{64, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "sobel_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_sobel = {"image/sobel", "sobel", variants, 3, NULL};

int clv_sobel(clvox_context *ctx, const clv_buffer *in, const int size[3], const float spacing[3],
              clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    double voxels = (double)size[0] * size[1] * size[2];
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_sobel, NULL, size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 8.0 * voxels, CLV_BUF(in), CLV_BUF(out),
                       CLV_INT4(size[0], size[1], size[2], 0),
                       CLV_FLOAT4(1 / spacing[0], 1 / spacing[1], 1 / spacing[2], 0)));
end:
    return status;
}

const clv_entry *const clv_operation_image_sobel[] = {
    &clv_entry_sobel, NULL};
