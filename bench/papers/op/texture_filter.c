/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/texture_filter.h"

#include "op/image/gaussian.h"

#define TEXTURE(word, kernel, image_kind, linear)                                                            \
    .name = word, .function = kernel, .defines = "-DIMAGE=" #image_kind " -DLINEAR=" #linear, .image = true, \
    .devices = CLV_ON_GPU, .tiles = {{32, 8, 1, 1}, {16, 16, 1, 1}, {8, 8, 1, 1}}
#define ALL(kernel)                                                                                \
    {TEXTURE("2d nearest", kernel, 2, 0)}, {TEXTURE("2d linear", kernel, 2, 1), .optional = true}, \
        {TEXTURE("3d nearest", kernel, 3, 0), .optional = true},                                   \
        {TEXTURE("3d linear", kernel, 3, 1), .optional = true},                                    \
        {.name = "buffer", .function = kernel, .defines = "-DIMAGE=0", .devices = CLV_ON_ANY,      \
         .tiles = {{32, 8, 1, 1}, {8, 8, 1, 1}, {1, 1, 1, 1}}}
static const clv_variant blur_variants[] = {ALL("texture_blur")};
static const clv_variant mask_variants[] = {ALL("texture_mask")};
static const clv_variant combine_variants[] = {
    {.name = "item", .function = "texture_combine", .devices = CLV_ON_ANY,
     .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}}}};

const clv_entry clv_entry_texture_blur =
    CLV_ENTRY("papers/texture_filter", "texture_blur", blur_variants, NULL);
const clv_entry clv_entry_texture_mask =
    CLV_ENTRY("papers/texture_filter", "texture_mask", mask_variants, NULL);
const clv_entry clv_entry_texture_combine =
    CLV_ENTRY("papers/texture_filter", "texture_combine", combine_variants, NULL);

/* The entry whose variant says what the textures are: the one that is forced. */
static const clv_entry *entry_of(const clvox_context *ctx)
{
    return clv_forced_variant(ctx, clv_entry_texture_mask.name) ? &clv_entry_texture_mask
                                                                : &clv_entry_texture_blur;
}

int clv_textures_create(clvox_context *ctx, const clv_image *in, float sigma, clv_buffer *const room[2],
                        clv_textures *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    float weights[CLV_GAUSSIAN_MAX_RADIUS + 1];
    *out = (clv_textures){.in = *in, .radius = clv_gaussian_radius(sigma), .room = {room[0], room[1]}};
    size_t bytes = (size_t)(out->radius + 1) * sizeof(float);
    clv_gaussian_weights(sigma, weights);
    CLV_TRY(clv_kernel_get(ctx, entry_of(ctx), NULL, in->size, 0, &kernel));
    CLV_TRY(clv_buffer_create(ctx, bytes, "weights of a texture", &out->weights));
    CLV_TRY(clv_buffer_write(ctx, out->weights, 0, weights, bytes));
    if (!kernel->variant->image)
        goto end;
    const clv_image_kind kind = kernel->variant->name[0] == '3' ? CLV_IMAGE_3D : CLV_IMAGE_PLANES;
    CLV_TRY(clv_image_create(ctx, out->weights, NULL, "weights of a texture", &out->kernel));
    CLV_TRY(clv_image_make(ctx, kind, in->size, "texture", &out->image));
    CLV_TRY(clv_image_make(ctx, kind, in->size, "texture", &out->passed));
    CLV_TRY(clv_image_fill(ctx, in->buffer, in->size, out->image));
end:
    if (status < 0)
        clv_textures_destroy(out);
    return status;
}

void clv_textures_destroy(clv_textures *t)
{
    clv_buffer_destroy(&t->kernel);
    clv_buffer_destroy(&t->weights);
    clv_buffer_destroy(&t->image);
    clv_buffer_destroy(&t->passed);
}

/* Along one axis of a buffer, or of the texture that holds it. */
static int blur(clvox_context *ctx, const clv_textures *t, int pass, clv_buffer *out)
{
    const clv_kernel *kernel;
    const int *size = t->in.size;
    const clv_buffer *image = pass ? t->passed : t->image, *buffer = pass ? t->room[0] : t->in.buffer;
    int status = clv_kernel_get(ctx, &clv_entry_texture_blur, NULL, size, 0, &kernel);
    const bool texture = status >= 0 && kernel->variant->image;
    if (texture && pass)
        status = clv_image_fill(ctx, buffer, size, t->passed);
    return status < 0 ? status
                      : CLV_LAUNCH(ctx, kernel, size, 8. * (double)clv_image_voxels(&t->in),
                                   texture ? CLV_IMAGE(image) : CLV_BUF(buffer),
                                   texture ? CLV_IMAGE(t->kernel) : CLV_BUF(t->weights),
                                   CLV_INT4(size[0], size[1], size[2], t->radius), CLV_INT(pass),
                                   CLV_BUF(out));
}

static int mask(clvox_context *ctx, const clv_textures *t, int along, clv_buffer *out)
{
    const clv_kernel *kernel;
    const int *size = t->in.size;
    int status = clv_kernel_get(ctx, &clv_entry_texture_mask, NULL, size, 0, &kernel);
    return status < 0 ? status
                      : CLV_LAUNCH(ctx, kernel, size, 8. * (double)clv_image_voxels(&t->in),
                                   kernel->variant->image ? CLV_IMAGE(t->image) : CLV_BUF(t->in.buffer),
                                   CLV_INT4(size[0], size[1], size[2], 0), CLV_INT(along), CLV_BUF(out));
}

static int combine(clvox_context *ctx, const clv_buffer *a, const clv_buffer *b, int n, const float *alpha,
                   clv_buffer *out)
{
    const clv_kernel *kernel;
    const int line[3] = {n, 1, 1};
    int status = clv_kernel_get(ctx, &clv_entry_texture_combine, NULL, line, 0, &kernel);
    return status < 0 ? status
                      : CLV_LAUNCH(ctx, kernel, line, 12. * n, CLV_BUF(a), CLV_BUF(b), CLV_INT(n),
                                   CLV_INT(alpha != NULL), CLV_FLOAT(alpha ? *alpha : 0), CLV_BUF(out));
}

int clv_texture_gaussian(clvox_context *ctx, const clv_textures *t, clv_buffer *out)
{
    int status = CLVOX_OK;
    CLV_TRY(blur(ctx, t, 0, t->room[0]));
    CLV_TRY(blur(ctx, t, 1, out));
end:
    return status;
}

int clv_texture_sobel(clvox_context *ctx, const clv_textures *t, clv_buffer *out)
{
    int status = CLVOX_OK;
    CLV_TRY(mask(ctx, t, 0, t->room[0]));
    CLV_TRY(mask(ctx, t, 1, t->room[1]));
    CLV_TRY(combine(ctx, t->room[0], t->room[1], (int)clv_image_voxels(&t->in), NULL, out));
end:
    return status;
}

int clv_texture_unsharp(clvox_context *ctx, const clv_textures *t, float alpha, clv_buffer *out)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_texture_gaussian(ctx, t, t->room[1]));
    CLV_TRY(combine(ctx, t->room[1], t->in.buffer, (int)clv_image_voxels(&t->in), &alpha, out));
end:
    return status;
}

const clv_entry *const clv_operation_papers_texture_filter[] = {
    &clv_entry_texture_blur, &clv_entry_texture_mask, &clv_entry_texture_combine, NULL};
