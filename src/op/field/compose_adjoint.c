/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/compose_adjoint.h"

static const clv_variant variants[] = {
    {.name = "item", .function = "compose_adjoint_item", .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {64, 4, 1, 1}, {16, 4, 1, 1}}},
    {.name = "row", .function = "compose_adjoint_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_compose_adjoint = {"field/compose_adjoint", "compose_adjoint", variants, 2, NULL};

static const clv_variant total_variants[] = {
    {.name = "item", .function = "compose_adjoint_total", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}}},
    {.name = "run", .function = "compose_adjoint_total", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 4096}}},
};
const clv_entry clv_entry_compose_adjoint_total = {"field/compose_adjoint", "compose_adjoint_total", total_variants,
                                                   2, NULL};

int clv_compose_adjoint(clvox_context *ctx, const clv_compose_adjoint_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int *size = a->d.size;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_compose_adjoint, NULL, size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 72. * (double)clv_image_voxels(&a->d), CLV_BUF(a->d.buffer),
                       CLV_BUF(a->w), CLV_GRID(&a->d), CLV_FLOAT(a->s),
                       CLV_BUF(a->state), CLV_INT(a->slot), CLV_BUF(a->g), CLV_BUF(a->sums)));
end:
    return status;
}

int clv_compose_adjoint_total(clvox_context *ctx, const clv_compose_adjoint_args *a, float factor, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int count = 3 * (int)clv_image_voxels(&a->d), size[3] = {count, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_compose_adjoint_total, NULL, size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 12. * (double)count, CLV_BUF(a->sums), CLV_FLOAT(factor),
                       CLV_BUF(a->state), CLV_INT(a->slot), CLV_BUF(out), CLV_INT(count)));
end:
    return status;
}

const clv_entry *const clv_operation_field_compose_adjoint[] = {
    &clv_entry_compose_adjoint, &clv_entry_compose_adjoint_total, NULL};
