/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/interpolate.h"

#include "bench/papers/op/texture.h"

#define IMAGE(word, form)                                                                              \
    {.name = word, .function = "interpolate", .defines = form, .devices = CLV_ON_GPU, .optional = true, \
     .image = true, .tiles = {{32, 4, 1, 1}, {16, 4, 4, 1}}}
static const clv_variant variants[] = {
    {.name = "memory",
     .function = "interpolate",
     .devices = CLV_ON_ANY,
     .tiles = {{32, 4, 1, 1}, {16, 4, 4, 1}}},
    IMAGE("1d", "-DIMAGE=1"),
    IMAGE("3d", "-DIMAGE=3"),
    IMAGE("3d sampler", "-DIMAGE=3 -DSAMPLER=1"),
};
const clv_entry clv_entry_interpolate = CLV_ENTRY("papers/interpolate", "interpolate", variants, NULL);

int clv_interpolate(clvox_context *ctx, const clv_image *in, const clv_buffer *image, const clv_map *map,
                    const clv_buffer *u, const clv_image *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    clv_buffer *own = NULL;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_interpolate, NULL, out->size, 0, &kernel));
    if (kernel->variant->image && !image)
        CLV_TRY(clv_texture_create(ctx, kernel->variant, in, &own));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, out->size,
                       16. * (double)clv_image_voxels(out) + 4. * (double)clv_image_voxels(in),
                       kernel->variant->image ? CLV_IMAGE(image ? image : own) : CLV_BUF(in->buffer),
                       CLV_SIZE(in), CLV_MAP(map), CLV_BUF(u), CLV_BUF(out->buffer), CLV_SIZE(out)));
    if (own) /* some drivers let go of an image that is still being read */
        CLV_TRY(clv_finish(ctx));
end:
    clv_buffer_destroy(&own);
    return status;
}

const clv_entry *const clv_operation_papers_interpolate[] = {&clv_entry_interpolate, NULL};
