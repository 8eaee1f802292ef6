/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/invert.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

#include "clvox/apply.h"
#include "op/field/compose.h"
#include "op/field/inverse.h"
#include "op/image/resample.h"
#include "op/image/statistics.h"
#include "runtime/device/host.h"
#include "runtime/device/watch.h"
#include "transform/field.h"

enum { MOST_LOOKS = 50 };

/* Mean error in voxels from which on an inverse is of no use. */
static const double USELESS = 1;

static const float plus[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

int clv_invert_field(clvox_context *ctx, const clv_buffer *u, const clvox_grid *grid, clv_buffer *v)
{
    double edge[3];
    clvox_grid_spacing(grid, edge);
    const float spacing[3] = {(float)edge[0], (float)edge[1], (float)edge[2]};
    return clv_inverse(ctx, CLV_VECTORS_MM(u, grid->size, spacing), MOST_LOOKS, false, v);
}

int clv_invert_residual(clvox_context *ctx, const clv_buffer *u, const clv_buffer *v, const clvox_grid *grid,
                        const clvox_grid *voxels, clv_buffer *scratch, clv_buffer *partial,
                        clv_inverse_error *out)
{
    int status = CLVOX_OK;
    double edge[3], voxel[3], frame[3][3];
    float reorient[2][3][3] = {{{0}}};
    clv_map map;
    clv_statistics s;
    clvox_grid_spacing(grid, edge);
    clvox_grid_spacing(voxels, voxel);
    const float spacing[3] = {(float)edge[0], (float)edge[1], (float)edge[2]};
    clv_field_frame(grid, frame);
    for (int i = 0; i < 3; i++) {
        reorient[0][i][i] = 1 / (float)voxel[i];
        for (int j = 0; j < 3; j++)
            reorient[1][i][j] = (float)frame[i][j];
    }
    clv_map_between(grid, grid, NULL, 1, &map);
    CLV_TRY(clv_compose(ctx, &(clv_compose_args){.u = v, .own = 1, .w = *CLV_VECTORS(u, grid->size),
                                                 .map = &map, .reorient = plus,
                                                 .out = *CLV_VECTORS(scratch, grid->size)}));
    for (int unit = 0; unit < 2; unit++) {
        double *to = unit ? out->mm : out->voxels;
        CLV_TRY(clv_statistics_lengths(ctx, CLV_VECTORS_MM(scratch, grid->size, spacing),
                                       CLV_MATRIX3F(reorient[unit]), v, NULL, partial, &s));
        /* Without a voxel to look at nothing is known. */
        to[0] = s.voxels ? s.largest : NAN;
        to[1] = s.voxels ? s.sum / (double)s.voxels : NAN;
    }
end:
    return status;
}

int clvox_invert(clvox_context *ctx, const clvox_volume *warp, clvox_volume **out,
                 double residual_voxels[2])
{
    CLV_GIVEN(ctx, warp, out);
    CLV_HOST_THREADS(ctx);
    CLV_WATCH(ctx, "inversion");
    int status = CLVOX_OK;
    clv_buffer *u = NULL, *v = NULL, *error = NULL, *partial = NULL;
    clv_inverse_error residual;
    *out = NULL;
    if (warp->frames != 3)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a warp has 3 components, this volume has %d; give a warp",
                          warp->frames);
    CLV_TRY(clv_field_check(&warp->grid));
    size_t bytes = 3 * sizeof(float) * clvox_grid_voxels(&warp->grid);
    const clv_request requests[] = {
        {&u, bytes, "warp"},
        {&v, bytes, "inverse warp"},
        {&error, bytes, "what the inverse leaves"},
        {&partial, CLV_STATISTICS_PARTIALS * sizeof(float), "partial sums"},
    };
    int count = sizeof requests / sizeof *requests;
    CLV_TRY(clv_pool_take(ctx, requests, count));
    status = clv_field_upload(ctx, warp, 1, u);
    if (status >= 0)
        status = clv_invert_field(ctx, u, &warp->grid, v);
    if (status >= 0 && residual_voxels) {
        status = clv_invert_residual(ctx, u, v, &warp->grid, &warp->grid, error, partial, &residual);
        if (status >= 0)
            memcpy(residual_voxels, residual.voxels, sizeof residual.voxels);
    }
    /* With a mean error above a voxel it is the inverse of nothing; NaN: it leads out of the grid everywhere. */
    if (status >= 0 && residual_voxels && !(residual_voxels[1] <= USELESS))
        status = isnan(residual_voxels[1])
                     ? clvox_fail(CLVOX_ERROR_DATA,
                                  "the warp has no inverse on its grid: it leads out of the grid, or "
                                  "is not finite, everywhere; check that its vectors are millimetres")
                     : clvox_fail(
                           CLVOX_ERROR_DATA,
                           "the warp has no inverse: the result is off by %.3g voxels on average and %.3g at "
                           "most; smooth the warp until it does not fold (clvox jacobian)",
                           residual_voxels[1], residual_voxels[0]);
    if (status >= 0)
        status = clv_field_download(ctx, v, &warp->grid, 1, out);
    clv_pool_release(requests, count);
end:
    return status;
}
