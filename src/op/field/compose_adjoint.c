/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/compose_adjoint.h"

/* Rows at either end of what is launched for "planes". */
#define ROW(symbol)                                                                                       \
    static const clv_variant symbol##_variants[] = {                                                      \
        {.name = "row", .function = #symbol, .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,                  \
         .tiles = {{1, 1, 1, 1}}},                                                                        \
    };                                                                                                    \
    const clv_entry clv_entry_##symbol = CLV_ENTRY("field/compose_adjoint", #symbol, symbol##_variants, NULL)
ROW(compose_adjoint_reach);
ROW(compose_adjoint_turn);

static const clv_variant variants[] = {
    {.name = "item", .function = "compose_adjoint_item", .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {64, 4, 1, 1}, {16, 4, 1, 1}}},
    {.name = "planes", .function = "compose_adjoint_planes", .before = &clv_entry_compose_adjoint_reach,
     .item = {CLV_WHOLE, CLV_WHOLE, CLV_MARCH}, .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 8}}},
};
const clv_entry clv_entry_compose_adjoint = CLV_ENTRY("field/compose_adjoint", "compose_adjoint", variants,
                                                      NULL);

static const clv_variant total_variants[] = {
    {.name = "item", .function = "compose_adjoint_total", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}}},
    {.name = "run", .function = "compose_adjoint_total", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 4096}}},
};
const clv_entry clv_entry_compose_adjoint_total = CLV_ENTRY("field/compose_adjoint", "compose_adjoint_total",
                                                            total_variants, NULL);

/* Sums first: what is turned lies over g. */
static int by_planes(clvox_context *ctx, const clv_compose_adjoint_args *a, const clv_kernel *planes)
{
    int status = CLVOX_OK;
    const clv_kernel *reach, *turn;
    const int *size = a->d.size;
    const double n = (double)clv_image_voxels(&a->d);
    CLV_TRY(clv_kernel_get(ctx, planes->variant->before, NULL, size, 0, &reach));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_compose_adjoint_turn, NULL, size, 0, &turn));
    CLV_TRY(CLV_LAUNCH(ctx, reach, size, 12 * n, CLV_BUF(a->d.buffer), CLV_GRID(&a->d), CLV_BUF(a->rows)));
    CLV_TRY(CLV_LAUNCH(ctx, planes, size, 48 * n, CLV_BUF(a->d.buffer), CLV_GRID(&a->d), CLV_BUF(a->state),
                       CLV_INT(a->slot), CLV_BUF(a->g), CLV_BUF(a->sums), CLV_BUF(a->rows)));
    CLV_TRY(CLV_LAUNCH(ctx, turn, size, 48 * n, CLV_BUF(a->d.buffer), CLV_BUF(a->w), CLV_GRID(&a->d),
                       CLV_FLOAT(a->s), CLV_BUF(a->g)));
end:
    return status;
}

int clv_compose_adjoint(clvox_context *ctx, const clv_compose_adjoint_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int *size = a->d.size;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_compose_adjoint, NULL, size, 0, &kernel));
    if (kernel->variant->before)
        return by_planes(ctx, a, kernel);
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
    &clv_entry_compose_adjoint, &clv_entry_compose_adjoint_reach, &clv_entry_compose_adjoint_turn,
    &clv_entry_compose_adjoint_total, NULL};
