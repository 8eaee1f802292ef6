/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/compose.h"

static const clv_variant variants[] = {
    {.name = "item",
     .function = "compose_item",
     .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {64, 4, 1, 1}, {256, 1, 1, 1}, {16, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row",
     .function = "compose_row",
     .item = {CLV_WHOLE},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};

static const char *const builds[] = {"-DHAS_FIELD=0", "-DHAS_FIELD=1", NULL};

const clv_entry clv_entry_compose = CLV_ENTRY("field/compose", "compose", variants, builds);

int clv_compose(clvox_context *ctx, const clv_compose_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    double from = (double)clv_image_voxels(&a->w), to = (double)clv_image_voxels(&a->out);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_compose, builds[a->u != NULL], a->out.size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, a->out.size, 12 * (from + to * (a->u ? 2 : 1)), CLV_BUF(a->u),
                       CLV_FLOAT(a->own), CLV_BUF(a->w.buffer), CLV_SIZE(&a->w), CLV_MAP(a->map),
                       CLV_ROWS(a->reorient), CLV_INT(a->extend), CLV_BUF(a->out.buffer), CLV_SIZE(&a->out)));
end:
    return status;
}

const clv_entry *const clv_operation_field_compose[] = {
    &clv_entry_compose, NULL};
