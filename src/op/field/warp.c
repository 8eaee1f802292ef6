/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/warp.h"

static const clv_variant variants[] = {
    {.name = "item",
     .function = "warp_item",
     .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {64, 4, 1, 1}, {256, 1, 1, 1}, {16, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row",
     .function = "warp_row",
     .item = {CLV_WHOLE},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};

/* By clv_interpolation. */
static const char *const builds[] = {
    "-DINTERPOLATION=0 -DHAS_FIELD=0", "-DINTERPOLATION=0 -DHAS_FIELD=1",
    "-DINTERPOLATION=1 -DHAS_FIELD=0", "-DINTERPOLATION=1 -DHAS_FIELD=1",
    "-DINTERPOLATION=2 -DHAS_FIELD=0", "-DINTERPOLATION=2 -DHAS_FIELD=1",
    "-DINTERPOLATION=3 -DHAS_FIELD=0", "-DINTERPOLATION=3 -DHAS_FIELD=1",
    "-DINTERPOLATION=4 -DHAS_FIELD=0", "-DINTERPOLATION=4 -DHAS_FIELD=1",
    "-DINTERPOLATION=5 -DHAS_FIELD=0", "-DINTERPOLATION=5 -DHAS_FIELD=1",
    "-DINTERPOLATION=6 -DHAS_FIELD=0", "-DINTERPOLATION=6 -DHAS_FIELD=1",
    NULL,
};

const clv_entry clv_entry_warp = CLV_ENTRY("field/warp", "warp", variants, builds);

int clv_warp_within(clvox_context *ctx, const clv_image *in, const clv_map *map, const clv_buffer *field,
                    clv_interpolation interpolation, float outside, clv_within within, const clv_image *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const char *build = builds[2 * (int)interpolation + (field != NULL)];
    const double to = (double)clv_image_voxels(out), part = clv_within_voxels(within, out->size);
    const double from = (double)clv_image_voxels(in) * part / to;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_warp, build, out->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, out->size, 4 * (from + to + (field ? 3 : 0) * part), CLV_BUF(in->buffer),
                       CLV_SIZE(in), CLV_MAP(map), CLV_BUF(field), CLV_FLOAT(outside), CLV_BUF(within.rows),
                       CLV_BUF(out->buffer), CLV_SIZE(out)));
end:
    return status;
}

int clv_warp(clvox_context *ctx, const clv_image *in, const clv_map *map, const clv_buffer *field,
             clv_interpolation interpolation, float outside, const clv_image *out)
{
    return clv_warp_within(ctx, in, map, field, interpolation, outside, (clv_within){NULL, 0}, out);
}

const clv_entry *const clv_operation_field_warp[] = {
    &clv_entry_warp, NULL};
