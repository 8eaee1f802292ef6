/* SPDX-License-Identifier: Apache-2.0 */
#include "register/points.h"

#include <math.h>
#include <stdlib.h>

#include "base/matrix.h"
#include "op/anatomy/landmark_force.h"

/* Width of their pull where none is given, in edges of a voxel of the finest level. */
static const double WIDTH = 3;

int clv_points_to_voxels(const clv_registration *run, const clvox_grid *grid, bool moving, const double *points, int n,
                         float *out)
{
    int status = CLVOX_OK;
    double to_voxels[4][4], back[4][4];
    CLV_TRY(clv_matrix_invert(CLV_MATRIX(grid->to_ras), to_voxels));
    if (moving) {
        CLV_TRY(clv_matrix_invert(CLV_MATRIX(run->matrix), back));
        clv_matrix_multiply(CLV_MATRIX(to_voxels), CLV_MATRIX(back), to_voxels);
    }
    for (int k = 0; k < n; k++, points += 3, out += CLV_LANDMARK_POINT) {
        for (int r = 0; r < 3; r++)
            out[r] = (float)(to_voxels[r][0] * points[0] + to_voxels[r][1] * points[1] + to_voxels[r][2] * points[2] +
                             to_voxels[r][3]);
        out[3] = 0;
    }
end:
    return status;
}

int clv_points_place(clv_registration *run, const clvox_grid *grid)
{
    int status = CLVOX_OK, n = run->points.count;
    float *at = malloc((size_t)n * 2 * CLV_LANDMARK_POINT * sizeof *at);
    if (!at)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for landmarks");
    CLV_TRY(clv_points_to_voxels(run, grid, true, run->points.moving, n, at));
    CLV_TRY(clv_points_to_voxels(run, grid, false, run->points.fixed, n, at + CLV_LANDMARK_POINT * n));
    CLV_TRY(clv_buffer_write(run->ctx, run->points.at, 0, at, (size_t)n * 2 * CLV_LANDMARK_POINT * sizeof *at));
end:
    free(at);
    return status;
}

void clv_points_sigma(const clv_registration *run, const clv_points_pull *pull, float sigma[3])
{
    double edge[3], width = run->options->points_width;
    clvox_grid_spacing(&run->fixed_grid, edge);
    if (!(width > 0))
        width = WIDTH * cbrt(edge[0] * edge[1] * edge[2]);
    for (int i = 0; i < 3; i++)
        sigma[i] = (float)width / pull->spacing[i];
}

int clv_points_force(clv_registration *run, const clv_points_pull *pull)
{
    int status = CLVOX_OK;
    const clvox_register_options *o = run->options;
    const clv_landmark_args args = {
        .points = run->points.at, .count = run->points.count, .u = clv_image_of(pull->u, pull->size, pull->spacing, 3),
        .second = pull->u_fixed, .weight = (float)o->points_weight, .axes = pull->axes, .state = pull->state,
        .slot = pull->slot, .tracked = run->points.tracked,
    };
    float sigma[3];
    clv_points_sigma(run, pull, sigma);
    CLV_TRY(clv_landmark_track(run->ctx, &args));
    if (pull->force)
        CLV_TRY(clv_landmark_force(run->ctx, &args, false, pull->smooth ? sigma : NULL,
                                   CLV_VECTORS(pull->force, pull->size)));
    if (pull->force_fixed)
        CLV_TRY(clv_landmark_force(run->ctx, &args, true, pull->smooth ? sigma : NULL,
                                   CLV_VECTORS(pull->force_fixed, pull->size)));
end:
    return status;
}

int clv_points_term(clv_registration *run, double *term)
{
    int status = CLVOX_OK, n = run->points.count;
    const size_t bytes = (size_t)n * CLV_LANDMARK_TRACKED * sizeof(float);
    float *tracked = malloc(bytes);
    *term = 0;
    if (!tracked)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for landmarks");
    CLV_TRY(clv_buffer_read(run->ctx, run->points.tracked, 0, tracked, bytes));
    for (int k = 0; k < n; k++)
        *term -= run->options->points_weight * (double)tracked[CLV_LANDMARK_TRACKED * k + 3] / n;
end:
    free(tracked);
    return status;
}
