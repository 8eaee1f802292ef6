/* SPDX-License-Identifier: Apache-2.0 */
#include "op/surface/level_distance.h"

#include "op/surface/redistance.h"

static const clv_variant near_variants[] = {
    {.name = "item", .function = "level_near", .devices = CLV_ON_GPU,
     .cell_bytes = 58, .fixed_bytes = 8, .tiles = {{32, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "level_near_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
static const clv_variant finish_variants[] = {
    {.name = "item", .function = "level_finish", .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "level_finish_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_level_near = {"surface/level_distance", "level_near", near_variants, 2, NULL};
const clv_entry clv_entry_level_finish = {"surface/level_distance", "level_finish", finish_variants, 2, NULL};

int clv_level_distance(clvox_context *ctx, const clv_buffer *values, const int size[3],
                       const float spacing[3], float iso, float reach, clv_buffer *out, clv_buffer *scratch)
{
    int status = CLVOX_OK, from, cells;
    const clv_kernel *near, *finish;
    const double voxels = (double)size[0] * size[1] * size[2];
    const clv_arg n = CLV_INT4(size[0], size[1], size[2], 0);
    const clv_arg edges = CLV_FLOAT4(spacing[0], spacing[1], spacing[2], 1);
    CLV_TRY(clv_places_check(size));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_level_near, NULL, size, 0, &near));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_level_finish, NULL, size, 0, &finish));
    CLV_TRY(clv_places_cells(ctx, size, scratch, &cells));
    CLV_TRY(CLV_LAUNCH(ctx, near, size, 16 * voxels, CLV_BUF(values), CLV_BUF(scratch), CLV_INT(cells), n, edges,
                       CLV_FLOAT(iso)));
    CLV_TRY(clv_places_spread(ctx, size, spacing, reach, scratch, cells, &from));
    CLV_TRY(CLV_LAUNCH(ctx, finish, size, 20 * voxels, CLV_BUF(values), CLV_BUF(scratch), CLV_INT(from),
                       CLV_BUF(out), n, edges, CLV_FLOAT(iso), CLV_FLOAT(reach)));
end:
    return status;
}

const clv_entry *const clv_operation_surface_level_distance[] = {
    &clv_entry_level_near, &clv_entry_level_finish, NULL};
