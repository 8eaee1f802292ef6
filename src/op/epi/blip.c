/* SPDX-License-Identifier: Apache-2.0 */
#include "op/epi/blip.h"

/* march: voxels of a row that an item walks over. */
#define ROWS(kernel)                                             \
    {                                                            \
        {.name = "item",                                         \
         .function = kernel,                                     \
         .item = {CLV_MARCH},                                    \
         .devices = CLV_ON_GPU,                                  \
         .tiles = {{32, 4, 2, 1}, {32, 2, 1, 1}, {1, 1, 1, 1}}}, \
            {.name = "row",                                      \
             .function = kernel,                                 \
             .item = {CLV_MARCH},                                \
             .devices = CLV_ON_CPU,                              \
             .tiles = {{1, 1, 1, 1024}}},                        \
    }
#define RUNS(kernel)                                              \
    {                                                             \
        {.name = "item",                                          \
         .function = kernel,                                      \
         .item = {CLV_MARCH},                                     \
         .devices = CLV_ON_GPU,                                   \
         .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}, {1, 1, 1, 1}}}, \
            {.name = "run",                                       \
             .function = kernel,                                  \
             .item = {CLV_MARCH},                                 \
             .devices = CLV_ON_CPU,                               \
             .tiles = {{1, 1, 1, 16384}}},                        \
    }

static const clv_variant terms_variants[] = ROWS("blip_terms");
static const clv_variant image_variants[] = ROWS("blip_image");
static const clv_variant bending_variants[] = ROWS("blip_bending");
static const clv_variant operator_variants[] = ROWS("blip_operator");
static const clv_variant descent_variants[] = ROWS("blip_descent");
static const clv_variant advance_variants[] = RUNS("blip_advance");
static const clv_variant turn_variants[] = RUNS("blip_turn");

const clv_entry clv_entry_blip_terms = CLV_ENTRY("epi/blip", "blip_terms", terms_variants, NULL);
const clv_entry clv_entry_blip_image = CLV_ENTRY("epi/blip", "blip_image", image_variants, NULL);
const clv_entry clv_entry_blip_bending = CLV_ENTRY("epi/blip", "blip_bending", bending_variants, NULL);
const clv_entry clv_entry_blip_operator = CLV_ENTRY("epi/blip", "blip_operator", operator_variants, NULL);
const clv_entry clv_entry_blip_descent = CLV_ENTRY("epi/blip", "blip_descent", descent_variants, NULL);
const clv_entry clv_entry_blip_advance = CLV_ENTRY("epi/blip", "blip_advance", advance_variants, NULL);
const clv_entry clv_entry_blip_turn = CLV_ENTRY("epi/blip", "blip_turn", turn_variants, NULL);

int clv_blip_terms(clvox_context *ctx, const clv_blips *b, const clv_image *field, clv_buffer *terms,
                   clv_buffer *energy)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const double moved = 4. * (b->count + 2 + CLV_BLIP_TERMS) * (double)clv_image_voxels(field);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_blip_terms, NULL, field->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, field->size, moved, CLV_BUF(b->images), CLV_BUF(b->maps),
                       CLV_INT(b->count), CLV_INT(b->axis), CLV_SIZE(field), CLV_BUF(field->buffer),
                       CLV_BUF(terms), CLV_BUF(energy)));
end:
    return status;
}

int clv_blip_image(clvox_context *ctx, const clv_buffer *image, const clv_buffer *map, int axis,
                   const clv_image *field, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_blip_image, NULL, field->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, field->size, 12. * (double)clv_image_voxels(field), CLV_BUF(image),
                       CLV_BUF(map), CLV_INT(axis), CLV_SIZE(field), CLV_BUF(field->buffer), CLV_BUF(out)));
end:
    return status;
}

int clv_blip_bending(clvox_context *ctx, const clv_image *v, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_blip_bending, NULL, v->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, v->size, 8. * (double)clv_image_voxels(v), CLV_BUF(v->buffer),
                       CLV_GRID(v), CLV_BUF(out)));
end:
    return status;
}

int clv_blip_operator(clvox_context *ctx, const clv_buffer *terms, int axis, const clv_image *v, float lambda,
                      clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_blip_operator, NULL, v->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, v->size, 20. * (double)clv_image_voxels(v), CLV_BUF(terms), CLV_INT(axis),
                       CLV_BUF(v->buffer), CLV_FLOAT(lambda), CLV_GRID(v), CLV_BUF(out)));
end:
    return status;
}

int clv_blip_descent(clvox_context *ctx, const clv_buffer *terms, int axis, const clv_image *bending,
                     float lambda, const clv_blip_solve *s)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_blip_descent, NULL, bending->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, bending->size, 36. * (double)clv_image_voxels(bending), CLV_BUF(terms),
                       CLV_INT(axis), CLV_BUF(bending->buffer), CLV_FLOAT(lambda), CLV_GRID(bending),
                       CLV_BUF(s->residual), CLV_BUF(s->diagonal), CLV_BUF(s->scaled)));
end:
    return status;
}

int clv_blip_advance(clvox_context *ctx, const clv_blip_solve *s, int was, int voxels)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int size[3] = {voxels, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_blip_advance, NULL, size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 32. * voxels, CLV_BUF(s->state), CLV_INT(was),
                       CLV_BUF(s->direction), CLV_BUF(s->product), CLV_BUF(s->diagonal), CLV_BUF(s->step),
                       CLV_BUF(s->residual), CLV_BUF(s->scaled), CLV_INT(voxels)));
end:
    return status;
}

int clv_blip_turn(clvox_context *ctx, const clv_blip_solve *s, int was, int voxels)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int size[3] = {voxels, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_blip_turn, NULL, size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 12. * voxels, CLV_BUF(s->state), CLV_INT(was), CLV_BUF(s->scaled),
                       CLV_BUF(s->direction), CLV_INT(voxels)));
end:
    return status;
}

const clv_entry *const clv_operation_epi_blip[] = {
    &clv_entry_blip_terms,   &clv_entry_blip_image,   &clv_entry_blip_bending, &clv_entry_blip_operator,
    &clv_entry_blip_descent, &clv_entry_blip_advance, &clv_entry_blip_turn,    NULL};
