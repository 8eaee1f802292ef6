/* SPDX-License-Identifier: Apache-2.0 */
#include "op/tensor/links.h"

static const clv_variant variants[] = {
    {.name = "quads",
     .function = "tensor_links_quads",
     .item = {4},
     .devices = CLV_ON_GPU,
     .tiles = {{64, 4, 1, 1}, {32, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row",
     .function = "tensor_links_row",
     .item = {CLV_WHOLE},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};

static const char *const builds[] = {"", "-DMASK=1", NULL};

const clv_entry clv_entry_tensor_links = CLV_ENTRY("tensor/links", "tensor_links", variants, builds);

size_t clv_tensor_links_bytes(const int size[3])
{
    return ((size_t)size[0] * (size_t)size[1] * (size_t)size[2] + 3) / 4 * 4;
}

int clv_tensor_links(clvox_context *ctx, const clv_image *mask, clv_buffer *links)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int *size = mask->size;
    double moved = (double)clv_image_voxels(mask) * (mask->buffer ? 5 : 1);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_links, builds[mask->buffer != NULL], size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, moved, CLV_BUF(mask->buffer), CLV_BUF(links),
                       CLV_INT4(size[0], size[1], size[2], 0)));
end:
    return status;
}

const clv_entry *const clv_operation_tensor_links[] = {
    &clv_entry_tensor_links, NULL};
