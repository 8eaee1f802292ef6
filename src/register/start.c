/* SPDX-License-Identifier: Apache-2.0 */
/* The displacement that a deformation starts from. */
#include "base/matrix.h"
#include "op/field/compose.h"
#include "op/image/resample.h"
#include "register/problem.h"
#include "transform/field.h"

int clv_register_start(clv_registration *run, const clvox_grid *grid, clv_buffer *u)
{
    int status = CLVOX_OK;
    const clvox_volume *warp = run->problem->images.initial_warp;
    size_t voxels = clvox_grid_voxels(grid);
    clv_buffer *w = NULL;
    double identity[4][4];
    clv_map map;
    float reorient[3][3];
    if (!warp)
        return clv_buffer_fill(run->ctx, u, 0, 0, 3 * voxels * sizeof(float));
    clv_matrix_identity(identity);
    CLV_TRY(clv_buffer_create(run->ctx, 3 * clvox_grid_voxels(&warp->grid) * sizeof(float), "initial warp", &w));
    CLV_TRY(clv_field_upload(run->ctx, warp, 1, w));
    clv_map_between(grid, &warp->grid, NULL, 1, &map);
    CLV_TRY(clv_field_reorientation(grid, &warp->grid, CLV_MATRIX(identity), reorient));
    CLV_TRY(clv_compose(run->ctx, &(clv_compose_args){.w = *CLV_VECTORS(w, warp->grid.size), .map = &map,
                                                      .reorient = CLV_MATRIX3F(reorient),
                                                      .out = *CLV_VECTORS(u, grid->size)}));
end:
    clv_buffer_destroy(&w);
    return status;
}
