/* SPDX-License-Identifier: Apache-2.0 */
#include "op/epi/blip.h"

/* Work-groups share the rows, or the voxels: how many there are depends on the size and the variant alone,
 * and so does the order of additions. march: voxels of a group at least. */
#define SHARED(kernel)                                                \
    {                                                                 \
        {.name = "group",                                             \
         .function = kernel,                                          \
         .group = {CLV_MARCH},                                        \
         .most_groups = CLV_BLIP_GROUPS,                              \
         .devices = CLV_ON_GPU,                                       \
         .cell_bytes = 2 * sizeof(float),                             \
         .planes = 1,                                                 \
         .tiles = {{256, 1, 1, 256}, {64, 1, 1, 64}, {1, 1, 1, 64}}}, \
            {.name = "row",                                           \
             .function = kernel,                                      \
             .defines = "-DWIDE=8",                                   \
             .group = {CLV_MARCH},                                    \
             .most_groups = 256,                                      \
             .devices = CLV_ON_CPU,                                   \
             .tiles = {{1, 1, 1, 4096}}},                             \
    }

static const clv_variant terms_variants[] = SHARED("blip_terms");
static const clv_variant image_variants[] = SHARED("blip_image");
static const clv_variant tilt_variants[] = SHARED("blip_tilt");
static const clv_variant operator_variants[] = SHARED("blip_operator");
static const clv_variant descent_variants[] = SHARED("blip_descent");
static const clv_variant advance_variants[] = SHARED("blip_advance");

const clv_entry clv_entry_blip_terms = CLV_ENTRY("epi/blip", "blip_terms", terms_variants, NULL);
const clv_entry clv_entry_blip_image = CLV_ENTRY("epi/blip", "blip_image", image_variants, NULL);
const clv_entry clv_entry_blip_tilt = CLV_ENTRY("epi/blip", "blip_tilt", tilt_variants, NULL);
const clv_entry clv_entry_blip_operator = CLV_ENTRY("epi/blip", "blip_operator", operator_variants, NULL);
const clv_entry clv_entry_blip_descent = CLV_ENTRY("epi/blip", "blip_descent", descent_variants, NULL);
const clv_entry clv_entry_blip_advance = CLV_ENTRY("epi/blip", "blip_advance", advance_variants, NULL);

/* The kernel for so many voxels, which a launch counts in one row. */
static int kernel_of(clvox_context *ctx, const clv_entry *entry, int voxels, const clv_kernel **kernel)
{
    return clv_kernel_get(ctx, entry, NULL, (const int[3]){voxels, 1, 1}, 0, kernel);
}

int clv_blip_terms(clvox_context *ctx, const clv_blips *b, const clv_image *field, clv_buffer *terms,
                   clv_buffer *partial)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int size[3] = {(int)clv_image_voxels(field), 1, 1};
    CLV_TRY(kernel_of(ctx, &clv_entry_blip_terms, size[0], &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 4. * (b->count + 1 + CLV_BLIP_TERMS) * size[0], CLV_BUF(b->images),
                       CLV_BUF(b->maps), CLV_INT(b->count), CLV_INT(b->axis), CLV_GRID(field),
                       CLV_BUF(field->buffer), CLV_BUF(terms), CLV_BUF(partial)));
end:
    return status;
}

int clv_blip_energy(clvox_context *ctx, const clv_buffer *partial, double sums[2])
{
    int status = CLVOX_OK;
    float found[CLV_BLIP_PARTIALS];
    sums[0] = sums[1] = 0;
    CLV_TRY(clv_buffer_read(ctx, partial, 0, found, sizeof found));
    for (int i = 0; i < 2 * (int)found[0]; i++)
        sums[i % 2] += (double)found[1 + i];
end:
    return status;
}

int clv_blip_image(clvox_context *ctx, const clv_blips *b, int k, const clv_image *field, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int size[3] = {(int)clv_image_voxels(field), 1, 1};
    CLV_TRY(kernel_of(ctx, &clv_entry_blip_image, size[0], &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 12. * size[0], CLV_BUF(b->images), CLV_BUF(b->maps), CLV_INT(k),
                       CLV_INT(b->axis), CLV_SIZE(field), CLV_BUF(field->buffer), CLV_BUF(out)));
end:
    return status;
}

int clv_blip_tilt(clvox_context *ctx, const float tilt[4], const clv_image *field)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int size[3] = {(int)clv_image_voxels(field), 1, 1};
    CLV_TRY(kernel_of(ctx, &clv_entry_blip_tilt, size[0], &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 8. * size[0], CLV_FLOAT4V(tilt), CLV_SIZE(field),
                       CLV_BUF(field->buffer)));
end:
    return status;
}

int clv_blip_operator(clvox_context *ctx, const clv_buffer *terms, int axis, const clv_image *v, float lambda,
                      clv_buffer *out, clv_buffer *partial)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int size[3] = {(int)clv_image_voxels(v), 1, 1};
    CLV_TRY(kernel_of(ctx, &clv_entry_blip_operator, size[0], &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 20. * size[0], CLV_BUF(terms), CLV_INT(axis), CLV_BUF(v->buffer),
                       CLV_FLOAT(lambda), CLV_GRID(v), CLV_BUF(out), CLV_BUF(partial)));
end:
    return status;
}

int clv_blip_descent(clvox_context *ctx, const clv_buffer *terms, int axis, const clv_image *field,
                     float lambda, const clv_blip_solve *s)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int size[3] = {(int)clv_image_voxels(field), 1, 1};
    CLV_TRY(kernel_of(ctx, &clv_entry_blip_descent, size[0], &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 48. * size[0], CLV_BUF(terms), CLV_INT(axis),
                       CLV_BUF(field->buffer), CLV_FLOAT(lambda), CLV_GRID(field), CLV_BUF(s->residual),
                       CLV_BUF(s->inverse), CLV_BUF(s->scaled), CLV_BUF(s->direction), CLV_BUF(s->along),
                       CLV_BUF(s->step), CLV_BUF(s->rz[0])));
end:
    return status;
}

int clv_blip_advance(clvox_context *ctx, const clv_blip_solve *s, int turn, int voxels)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int size[3] = {voxels, 1, 1};
    CLV_TRY(kernel_of(ctx, &clv_entry_blip_advance, voxels, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 48. * voxels, CLV_BUF(s->state), CLV_INT(turn),
                       CLV_BUF(s->rz[turn % 2]), CLV_BUF(s->zw), CLV_BUF(s->product), CLV_BUF(s->inverse),
                       CLV_BUF(s->scaled), CLV_BUF(s->direction), CLV_BUF(s->along), CLV_BUF(s->step),
                       CLV_BUF(s->residual), CLV_INT(voxels), CLV_BUF(s->rz[1 - turn % 2])));
end:
    return status;
}

const clv_entry *const clv_operation_epi_blip[] = {&clv_entry_blip_terms,
                                                   &clv_entry_blip_image,
                                                   &clv_entry_blip_tilt,
                                                   &clv_entry_blip_operator,
                                                   &clv_entry_blip_descent,
                                                   &clv_entry_blip_advance,
                                                   NULL};
