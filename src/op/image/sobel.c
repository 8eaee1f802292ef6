/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/sobel.h"

static const clv_variant variants[] = {
    {.name = "march", .function = "sobel_march", .item = {1, 4, CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 8}, {64, 2, 1, 16}, {32, 2, 1, 4}}},
    {.name = "row", .function = "sobel_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_sobel = CLV_ENTRY("image/sobel", "sobel", variants, NULL);

int clv_sobel(clvox_context *ctx, const clv_image *in, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_sobel, NULL, in->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, in->size, 8. * (double)clv_image_voxels(in), CLV_BUF(in->buffer),
                       CLV_BUF(out), CLV_GRID(in)));
end:
    return status;
}

const clv_entry *const clv_operation_image_sobel[] = {
    &clv_entry_sobel, NULL};
