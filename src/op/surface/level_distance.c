/* SPDX-License-Identifier: Apache-2.0 */
#include "op/surface/level_distance.h"

#include "op/surface/redistance.h"

static const clv_variant near_variants[] = {
    {.name = "item",
     .function = "level_distance_near",
     .defines = CLV_CLOSEST_POINTS,
     .devices = CLV_ON_GPU,
     .cell_bytes = 58 + 5,
     .fixed_bytes = 8 + 27, /* with the sides of a tile and its rim */
     .tiles = {{32, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row",
     .function = "level_distance_near_row",
     .defines = CLV_CLOSEST_POINTS,
     .item = {CLV_WHOLE},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
static const clv_variant finish_variants[] = {
    {.name = "item", .function = "level_distance_finish", .defines = CLV_CLOSEST_POINTS,
     .devices = CLV_ON_GPU, .tiles = {{32, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "level_distance_finish_row", .defines = CLV_CLOSEST_POINTS,
     .item = {CLV_WHOLE}, .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_level_distance_near = CLV_ENTRY("surface/level_distance", "level_distance_near",
                                                          near_variants, NULL);
const clv_entry clv_entry_level_distance_finish = CLV_ENTRY("surface/level_distance", "level_distance_finish",
                                                            finish_variants, NULL);

int clv_level_distance(clvox_context *ctx, const clv_image *values, float iso, float reach, clv_buffer *out,
                       clv_buffer *scratch)
{
    int status = CLVOX_OK, from, cells;
    const int *size = values->size;
    const clv_kernel *near, *finish;
    const double voxels = (double)clv_image_voxels(values);
    CLV_TRY(clv_closest_points_check(size));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_level_distance_near, NULL, size, 0, &near));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_level_distance_finish, NULL, size, 0, &finish));
    CLV_TRY(clv_closest_points_cells(ctx, size, scratch, &cells));
    CLV_TRY(CLV_LAUNCH(ctx, near, size, 16 * voxels, CLV_BUF(values->buffer), CLV_BUF(scratch),
                       CLV_INT(cells), CLV_GRID(values), CLV_FLOAT(iso)));
    CLV_TRY(clv_closest_points_spread(ctx, values, reach, scratch, cells, &from));
    CLV_TRY(CLV_LAUNCH(ctx, finish, size, 20 * voxels, CLV_BUF(values->buffer), CLV_BUF(scratch),
                       CLV_INT(from), CLV_BUF(out), CLV_GRID(values), CLV_FLOAT(iso), CLV_FLOAT(reach)));
end:
    return status;
}

const clv_entry *const clv_operation_surface_level_distance[] = {
    &clv_entry_level_distance_near, &clv_entry_level_distance_finish, NULL};
