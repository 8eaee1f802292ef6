/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/divergence.h"

static const clv_variant of_field[] = {
    {.name = "item", .function = "divergence_item", .devices = CLV_ON_GPU, .tiles = {{64, 4, 1, 1}, {32, 4, 2, 1}}},
    {.name = "row", .function = "divergence_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};
static const clv_variant of_volume[] = {
    {.name = "item", .function = "add_gradient_item", .devices = CLV_ON_GPU, .tiles = {{64, 4, 1, 1}, {32, 4, 2, 1}}},
    {.name = "row", .function = "add_gradient_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};

const clv_entry clv_entry_divergence = CLV_ENTRY("field/divergence", "divergence", of_field, NULL);
const clv_entry clv_entry_add_gradient = CLV_ENTRY("field/divergence", "add_gradient", of_volume, NULL);

int clv_divergence(clvox_context *ctx, const clv_image *v, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_divergence, NULL, v->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, v->size, 16. * (double)clv_image_voxels(v), CLV_BUF(v->buffer), CLV_GRID(v),
                       CLV_BUF(out)));
end:
    return status;
}

int clv_add_gradient(clvox_context *ctx, const clv_buffer *s, const float weight[3], const clv_image *v)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_add_gradient, NULL, v->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, v->size, 28. * (double)clv_image_voxels(v), CLV_BUF(s), CLV_GRID(v),
                       CLV_FLOAT4(weight[0], weight[1], weight[2], 0), CLV_BUF(v->buffer)));
end:
    return status;
}

const clv_entry *const clv_operation_field_divergence[] = {
    &clv_entry_divergence, &clv_entry_add_gradient, NULL};
