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

const clv_entry clv_entry_compose = {.file = "field/compose", .name = "compose", .variants = variants,
                                     .count = 2, .builds = builds};

static int compose(clvox_context *ctx, const clv_buffer *u, float own, const clv_image *w, const clv_map *map,
                   const float reorient[3][3], const clv_image *out, bool extend)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    double from = (double)clv_image_voxels(w), to = (double)clv_image_voxels(out);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_compose, builds[u != NULL], out->size, 0, &kernel));
    float shift[3][4] = {{0}};
    for (int i = 0; u && i < 3; i++)
        for (int j = 0; j < 3; j++)
            shift[i][j] = map->shift[i][j];
    CLV_TRY(CLV_LAUNCH(ctx, kernel, out->size, 12 * (from + to * (u ? 2 : 1)), CLV_BUF(u), CLV_FLOAT(own),
                       CLV_BUF(w->buffer), CLV_INT4(w->size[0], w->size[1], w->size[2], 0),
                       CLV_FLOAT4V(map->linear[0]), CLV_FLOAT4V(map->linear[1]), CLV_FLOAT4V(map->linear[2]),
                       CLV_FLOAT4V(shift[0]), CLV_FLOAT4V(shift[1]), CLV_FLOAT4V(shift[2]),
                       CLV_FLOAT4(reorient[0][0], reorient[0][1], reorient[0][2], 0),
                       CLV_FLOAT4(reorient[1][0], reorient[1][1], reorient[1][2], 0),
                       CLV_FLOAT4(reorient[2][0], reorient[2][1], reorient[2][2], 0), CLV_INT(extend),
                       CLV_BUF(out->buffer), CLV_INT4(out->size[0], out->size[1], out->size[2], 0)));
end:
    return status;
}

int clv_compose(clvox_context *ctx, const clv_buffer *u, float own, const clv_image *w, const clv_map *map,
                const float reorient[3][3], const clv_image *out)
{
    return compose(ctx, u, own, w, map, reorient, out, false);
}

int clv_compose_extended(clvox_context *ctx, const clv_buffer *u, float own, const clv_image *w,
                         const clv_map *map, const float reorient[3][3], const clv_image *out)
{
    return compose(ctx, u, own, w, map, reorient, out, true);
}

const clv_entry *const clv_operation_field_compose[] = {
    &clv_entry_compose, NULL};
