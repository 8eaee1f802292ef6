/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/gradient.h"

#include "bench/papers/op/texture.h"

static const clv_variant variants[] = {
    {.name = "item", .function = "gradient_item", .devices = CLV_ON_GPU,
     .tiles = {{64, 4, 1, 1}, {32, 4, 1, 1}, {1, 1, 1, 1}}},
    /* A block in local memory, which ha2011 found to be the fastest. */
    {.name = "local", .function = "gradient_local", .item = {1, 1, CLV_MARCH}, .devices = CLV_ON_GPU,
     .halo = {1, 1, 0}, .cell_bytes = 4, .optional = true, .tiles = {{32, 8, 1, 8}, {16, 16, 1, 16}}},
    {.name = "1d", .function = "gradient_item", .defines = "-DIMAGE=1", .devices = CLV_ON_GPU, .optional = true,
     .image = true, .tiles = {{64, 4, 1, 1}, {32, 4, 1, 1}}},
    {.name = "3d", .function = "gradient_item", .defines = "-DIMAGE=3", .devices = CLV_ON_GPU, .optional = true,
     .image = true, .tiles = {{64, 4, 1, 1}, {32, 4, 1, 1}}},
    {.name = "row", .function = "gradient_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_gradient = CLV_ENTRY("papers/gradient", "gradient", variants, NULL);

int clv_gradient_from(clvox_context *ctx, const clv_image *a, const clv_buffer *image, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    clv_buffer *own = NULL;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_gradient, NULL, a->size, 0, &kernel));
    if (kernel->variant->image && !image)
        CLV_TRY(clv_texture_create(ctx, kernel->variant, a, &own));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, a->size, 16. * (double)clv_image_voxels(a),
                       kernel->variant->image ? CLV_IMAGE(image ? image : own) : CLV_BUF(a->buffer), CLV_BUF(out), CLV_GRID(a)));
    if (own) /* some drivers let go of an image that is still being read */
        CLV_TRY(clv_finish(ctx));
end:
    clv_buffer_destroy(&own);
    return status;
}

int clv_gradient(clvox_context *ctx, const clv_image *a, clv_buffer *out)
{
    return clv_gradient_from(ctx, a, NULL, out);
}

const clv_entry *const clv_operation_papers_gradient[] = {
    &clv_entry_gradient, NULL};
