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

static const char *const builds[] = {
    "-DINTERPOLATION=0 -DHAS_FIELD=0", "-DINTERPOLATION=0 -DHAS_FIELD=1",
    "-DINTERPOLATION=1 -DHAS_FIELD=0", "-DINTERPOLATION=1 -DHAS_FIELD=1",
    "-DINTERPOLATION=2 -DHAS_FIELD=0", "-DINTERPOLATION=2 -DHAS_FIELD=1",
    "-DINTERPOLATION=3 -DHAS_FIELD=0", "-DINTERPOLATION=3 -DHAS_FIELD=1",
    NULL,
};

const clv_entry clv_entry_warp = {.file = "field/warp", .name = "warp", .variants = variants, .count = 2,
                                  .builds = builds};

/* kind: the kernel's INTERPOLATION. */
static int launch(clvox_context *ctx, int kind, const clv_buffer *in, const int in_size[3],
                  const clv_map *map, const clv_buffer *field, float outside, clv_buffer *out,
                  const int out_size[3])
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    double from = (double)in_size[0] * in_size[1] * in_size[2];
    double to = (double)out_size[0] * out_size[1] * out_size[2];
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_warp, builds[2 * kind + (field != NULL)], out_size, 0, &kernel));
    float shift[3][4] = {{0}};
    for (int i = 0; field && i < 3; i++)
        for (int j = 0; j < 3; j++)
            shift[i][j] = map->shift[i][j];
    CLV_TRY(CLV_LAUNCH(ctx, kernel, out_size, 4 * (from + to * (field ? 4 : 1)), CLV_BUF(in),
                       CLV_INT4(in_size[0], in_size[1], in_size[2], 0), CLV_FLOAT4V(map->linear[0]),
                       CLV_FLOAT4V(map->linear[1]), CLV_FLOAT4V(map->linear[2]), CLV_FLOAT4V(shift[0]),
                       CLV_FLOAT4V(shift[1]), CLV_FLOAT4V(shift[2]), CLV_BUF(field), CLV_FLOAT(outside),
                       CLV_BUF(out), CLV_INT4(out_size[0], out_size[1], out_size[2], 0)));
end:
    return status;
}

int clv_warp(clvox_context *ctx, const clv_buffer *in, const int in_size[3], const clv_map *map,
             const clv_buffer *field, clv_interpolation interpolation, float outside,
             clv_buffer *out, const int out_size[3])
{
    int kind = interpolation == CLV_NEAREST ? 0 : interpolation == CLV_LINEAR ? 1 : 2;
    return launch(ctx, kind, in, in_size, map, field, outside, out, out_size);
}

int clv_warp_label(clvox_context *ctx, const clv_buffer *in, const int in_size[3],
                   const clv_map *map, const clv_buffer *field, float outside, clv_buffer *out,
                   const int out_size[3])
{
    return launch(ctx, 3, in, in_size, map, field, outside, out, out_size);
}

const clv_entry *const clv_operation_field_warp[] = {
    &clv_entry_warp, NULL};
