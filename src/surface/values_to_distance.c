/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "op/surface/level_distance.h"
#include "base/status.h"
#include "op/surface/redistance.h"
#include "runtime/device/host.h"
#include "runtime/device/watch.h"
#include "transform/field.h"
#include "mesh/mesh.h"

static int check_sides(const clvox_volume *values, float iso)
{
    size_t voxels = clvox_grid_voxels(&values->grid), inside = 0;
    for (size_t i = 0; i < voxels; i++)
        inside += values->data[i] > iso;
    if (!inside)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "no value is above %g: there is no surface", (double)iso);
    if (inside == voxels)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "every value is above %g: there is no surface", (double)iso);
    return CLVOX_OK;
}

int clvox_distance_from_values(clvox_context *ctx, const clvox_volume *values, double iso,
                               clvox_volume **out)
{
    CLV_GIVEN(ctx, values, out);
    CLV_HOST_THREADS(ctx);
    CLV_WATCH(ctx, "distance");
    int status = CLVOX_OK;
    const clvox_grid *grid = &values->grid;
    const size_t bytes = clvox_grid_voxels(grid) * sizeof(float);
    clvox_volume *made = NULL;
    clv_image in = {.size = {grid->size[0], grid->size[1], grid->size[2]}, .components = 1};
    clv_buffer *distance = NULL, *scratch = NULL;
    const clv_request requests[] = {
        {&in.buffer, bytes, "values"},
        {&distance, bytes, "distance"},
        {&scratch, clv_redistance_bytes(grid->size), "closest points of the surface"},
    };
    double edge[3], diagonal = 0;
    *out = NULL;
    clvox_grid_spacing(grid, edge);
    for (int a = 0; a < 3; a++) {
        in.spacing[a] = (float)edge[a];
        diagonal += pow(edge[a] * grid->size[a], 2);
    }
    if (values->frames != 1) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "%d volumes have no one surface; give one of them",
                            values->frames);
        goto end;
    }
    CLV_TRY(clv_field_check(grid));
    CLV_TRY(clv_field_check_angles(grid, "a distance on it"));
    CLV_TRY(check_sides(values, (float)iso));
    CLV_TRY(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &made));
    CLV_TRY(clv_pool_take(ctx, requests, 3));
    CLV_TRY(clv_buffer_write(ctx, in.buffer, 0, values->data, bytes));
    CLV_TRY(clv_level_distance(ctx, &in, (float)iso, (float)sqrt(diagonal), distance, scratch));
    CLV_TRY(clv_buffer_read(ctx, distance, 0, made->data, bytes));
    *out = made;
    made = NULL;
end:
    clv_pool_release(requests, 3);
    clvox_volume_destroy(&made);
    return status;
}
