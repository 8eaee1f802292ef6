/* SPDX-License-Identifier: Apache-2.0 */
#include "op/tensor/measures.h"

static const clv_variant variants[] = {
    {.name = "item", .function = "tensor_measures_item", .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}, {128, 1, 1, 1}, {64, 1, 1, 1}, {1, 1, 1, 1}}},
    /* Much work a voxel: runs short enough to share out small volumes. */
    {.name = "run", .function = "tensor_measures_run", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 2048}}},
};

const clv_entry clv_entry_tensor_measures = CLV_ENTRY("tensor/measures", "tensor_measures", variants, NULL);

int clv_measure_planes(unsigned wanted)
{
    int planes = 0;
    for (int m = 0; m < CLVOX_MEASURES; m++)
        planes += (wanted >> m & 1) ? (m < CLVOX_MEASURE_V1 ? 1 : 3) : 0;
    return planes;
}

int clv_tensor_measures(clvox_context *ctx, const clv_image *tensor, const clv_buffer *mask, int first,
                        int count, unsigned wanted, clv_buffer *out)
{
    int status;
    const clv_kernel *kernel;
    const int size[3] = {count, 1, 1};
    double moved = 4.0 * count * (6 + (mask != NULL) + clv_measure_planes(wanted));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_measures, NULL, size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, moved, CLV_BUF(tensor->buffer), CLV_BUF(mask), CLV_BUF(out),
                       CLV_INT((int)clv_image_voxels(tensor)), CLV_INT(first), CLV_INT(count),
                       CLV_INT((int)(wanted & CLVOX_MEASURES_ALL))));
end:
    return status;
}

const clv_entry *const clv_operation_tensor_measures[] = {
    &clv_entry_tensor_measures, NULL};
