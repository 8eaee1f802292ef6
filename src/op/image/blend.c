/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/blend.h"

static const clv_variant variants[] = {
    {.name = "item", .function = "blend_item", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "run", .function = "blend_run", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 16384}}},
};

const clv_entry clv_entry_blend = CLV_ENTRY("image/blend", "blend", variants, NULL);

int clv_blend(clvox_context *ctx, const clv_image *u, const clv_buffer *v, const clv_buffer *w)
{
    const int n = (int)clv_image_voxels(u), size[3] = {n, 1, 1};
    const clv_kernel *kernel;
    int status = clv_kernel_get(ctx, &clv_entry_blend, NULL, size, 0, &kernel);
    if (status < 0)
        return status;
    return CLV_LAUNCH(ctx, kernel, size, 40. * n, CLV_BUF(u->buffer), CLV_BUF(v), CLV_BUF(w), CLV_INT(n));
}

const clv_entry *const clv_operation_image_blend[] = {
    &clv_entry_blend, NULL};
