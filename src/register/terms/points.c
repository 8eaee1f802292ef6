/* SPDX-License-Identifier: Apache-2.0 */
#include "register/terms/points.h"

#include <math.h>
#include <stdlib.h>

#include "base/matrix.h"
#include "op/anatomy/landmark_force.h"
#include "register/model.h"

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

static void describe(clv_registration *run, const clvox_register_images *images)
{
    const clv_model *model = clv_model_find(run->options->deform);
    if (!(run->options->points_weight > 0) || !model || !clv_model_takes(model, "points-weight"))
        return;
    run->points.fixed = images->fixed_points;
    run->points.moving = images->moving_points;
    run->points.count = images->points;
}

static int count(const clv_registration *run)
{
    return run->points.count;
}

static int requests(clv_registration *run, clv_request *list)
{
    const size_t bytes = (size_t)run->points.count * 2 * sizeof(float);
    list[0] = (clv_request){&run->points.at, bytes * CLV_LANDMARK_POINT, "landmarks"};
    list[1] = (clv_request){&run->points.tracked, bytes * CLV_LANDMARK_TRACKED, "landmarks in the middle"};
    return 2;
}

static int place(clv_registration *run, const clv_pyramid_level *level)
{
    int status = CLVOX_OK, n = run->points.count;
    const clvox_grid *grid = &level->fixed;
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

void clv_points_sigma(const clv_registration *run, const clv_pull *pull, float sigma[3])
{
    double edge[3], width = run->options->points_width;
    clvox_grid_spacing(&run->fixed_grid, edge);
    if (!(width > 0))
        width = WIDTH * cbrt(edge[0] * edge[1] * edge[2]);
    for (int i = 0; i < 3; i++)
        sigma[i] = (float)width / pull->level->spacing[i];
}

static int force(clv_registration *run, const clv_pull *pull)
{
    int status = CLVOX_OK;
    const clv_pyramid_level *l = pull->level;
    const clvox_register_options *o = run->options;
    const clv_landmark_args args = {
        .points = run->points.at,
        .count = run->points.count,
        .u = clv_image_of(pull->side[0].u, l->fixed.size, l->spacing, 3),
        .second = pull->side[1].u,
        .weight = (float)o->points_weight,
        .axes = pull->axes,
        .state = pull->numbers,
        .slot = pull->slot + 1,
        .tracked = run->points.tracked,
    };
    float sigma[3];
    clv_points_sigma(run, pull, sigma);
    CLV_TRY(clv_landmark_track(run->ctx, &args));
    for (int i = 0; i < pull->count && pull->forces; i++)
        CLV_TRY(clv_landmark_force(run->ctx, &args, i, pull->smooth ? sigma : NULL,
                                   CLV_VECTORS(pull->side[i].force, l->fixed.size)));
end:
    return status;
}

static int value(clv_registration *run, const float *numbers, clv_value *v)
{
    int status = CLVOX_OK, n = run->points.count;
    const size_t bytes = (size_t)n * CLV_LANDMARK_TRACKED * sizeof(float);
    double term = 0;
    float *tracked = malloc(bytes);
    if (!tracked)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for landmarks");
    CLV_TRY(clv_buffer_read(run->ctx, run->points.tracked, 0, tracked, bytes));
    for (int k = 0; k < n; k++)
        term -= run->options->points_weight * (double)tracked[CLV_LANDMARK_TRACKED * k + 3] / n;
    v->mean += term;
    v->sum += (double)numbers[1] * term;
end:
    free(tracked);
    return status;
}

const clv_term_row clv_term_points = {
    .describe = describe,
    .count = count,
    .reads = true,
    .requests = requests,
    .place = place,
    .force = force,
    .value = value,
};
