/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/invert.h"

#include <math.h>

#include "clvox/apply.h"
#include "op/compose.h"
#include "op/pointwise.h"
#include "op/reduce.h"
#include "op/resample.h"
#include "op/statistics.h"
#include "pipeline/field.h"

enum { MOST_STEPS = 50 };
static const float enough_voxels = 0.01f, least_damping = 0.2f;

static const float plus[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
static const float minus[3][3] = {{-1, 0, 0}, {0, -1, 0}, {0, 0, -1}};

void clv_invert_half(const clvox_grid *grid, clvox_grid *half)
{
    double factor[3];
    for (int i = 0; i < 3; i++)
        factor[i] = fmin(2, fmax(1, grid->size[i] / 4.));
    clv_level_grid(grid, factor, half);
}

/* Steps from what *now holds; *now and *next change places with every step. */
static int steps(clvox_context *ctx, const clv_buffer *u, const clvox_grid *grid, clv_buffer **now,
                 clv_buffer **next, const clv_invert_buffers *buffers)
{
    int status = CLVOX_OK;
    int voxels = (int)clvox_grid_voxels(grid);
    double spacing[3];
    clv_map map;
    clvox_grid_spacing(grid, spacing);
    float per_mm[3] = {(float)(1 / spacing[0]), (float)(1 / spacing[1]), (float)(1 / spacing[2])};
    float best = INFINITY, damping = 1;
    clv_map_between(grid, grid, NULL, 1, &map);
    for (int step = 0, stuck = 0; step < MOST_STEPS; step++) {
        float change;
        CLV_TRY(clv_compose(ctx, *now, 0, u, grid->size, &map, minus, *next, grid->size));
        CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_LINEAR, buffers->scratch, 3 * voxels, *next, *now, NULL,
                              (float[4]){1, -1, 0, 0}));
        CLV_TRY(clv_reduce_longest(ctx, buffers->scratch, per_mm, voxels, buffers->partial,
                                   buffers->change, 0));
        CLV_TRY(clv_buffer_read(ctx, buffers->change, 0, &change, sizeof change));
        if (damping < 1)
            CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_LINEAR, *next, 3 * voxels, *now, buffers->scratch, NULL,
                                  (float[4]){1, damping, 0, 0}));
        clv_buffer *swap = *now;
        *now = *next;
        *next = swap;
        /* change is of the whole step, so damping alone does not end the loop. */
        if (!(change >= enough_voxels))
            break;
        stuck = change < 0.9f * best ? 0 : stuck + 1;
        best = fminf(best, change);
        if (stuck >= 3) {
            if (damping <= least_damping)
                break;
            damping *= 0.6f;
            best = change;
            stuck = 0;
        }
    }
end:
    return status;
}

int clv_invert_coarsely(clvox_context *ctx, const clv_buffer *u, const clvox_grid *grid, clv_buffer *v,
                        const clv_invert_buffers *buffers)
{
    int status = CLVOX_OK;
    clvox_grid half;
    clv_map map;
    clv_buffer *now = v, *next = buffers->other;
    clv_invert_half(grid, &half);
    int voxels = (int)clvox_grid_voxels(&half);
    clv_map_between(&half, grid, NULL, 0, &map);
    CLV_TRY(clv_compose(ctx, NULL, 0, u, grid->size, &map, plus, buffers->half, half.size));
    /* v = -u is the first step from v = 0. */
    CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_LINEAR, now, 3 * voxels, buffers->half, NULL, NULL,
                          (float[4]){-1, 0, 0, 0}));
    CLV_TRY(steps(ctx, buffers->half, &half, &now, &next, buffers));
    if (now != v)
        CLV_TRY(clv_buffer_copy(ctx, now, 0, v, 0, 3 * sizeof(float) * (size_t)voxels));
end:
    return status;
}

int clv_invert_field(clvox_context *ctx, const clv_buffer *u, const clvox_grid *grid, clv_buffer *v,
                     const clv_invert_buffers *buffers)
{
    int status = CLVOX_OK;
    clvox_grid half;
    clv_map map;
    clv_buffer *now = buffers->other, *next = v;
    CLV_TRY(clv_invert_coarsely(ctx, u, grid, v, buffers));
    clv_invert_half(grid, &half);
    clv_map_between(grid, &half, NULL, 0, &map);
    CLV_TRY(clv_compose(ctx, NULL, 0, v, half.size, &map, plus, now, grid->size));
    CLV_TRY(steps(ctx, u, grid, &now, &next, buffers));
    if (now != v)
        CLV_TRY(clv_buffer_copy(ctx, now, 0, v, 0, 3 * sizeof(float) * clvox_grid_voxels(grid)));
end:
    return status;
}

int clv_invert_residual(clvox_context *ctx, const clv_buffer *u, const clv_buffer *v,
                        const clvox_grid *grid, clv_buffer *error, clv_buffer *partial,
                        double residual_voxels[2], double residual_mm[2])
{
    int status = CLVOX_OK;
    double edge[3], frame[3][3];
    float turn[2][3][3] = {{{0}}};
    clv_map map;
    clv_statistics s;
    clvox_grid_spacing(grid, edge);
    const float spacing[3] = {(float)edge[0], (float)edge[1], (float)edge[2]};
    clv_field_frame(grid, frame);
    for (int i = 0; i < 3; i++) {
        turn[0][i][i] = 1 / spacing[i];
        for (int j = 0; j < 3; j++)
            turn[1][i][j] = (float)frame[i][j];
    }
    clv_map_between(grid, grid, NULL, 1, &map);
    CLV_TRY(clv_compose(ctx, v, 1, u, grid->size, &map, plus, error, grid->size));
    for (int unit = 0; unit < 2; unit++) {
        double *to = unit ? residual_mm : residual_voxels;
        CLV_TRY(clv_statistics_lengths(ctx, error, CLV_TURN(turn[unit]), v, NULL, grid->size, spacing,
                                       partial, &s));
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
    int status = CLVOX_OK;
    clv_buffer *u = NULL, *v = NULL;
    clv_invert_buffers b = {0};
    double mm[2];
    *out = NULL;
    if (warp->frames != 3)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "a warp has 3 components, this volume has %d; give a warp",
                        warp->frames);
    CLV_TRY(clv_field_check(&warp->grid));
    clvox_grid half;
    clv_invert_half(&warp->grid, &half);
    size_t bytes = 3 * sizeof(float) * clvox_grid_voxels(&warp->grid);
    const clv_request requests[] = {
        {&u, bytes, "warp"},
        {&v, bytes, "inverse warp"},
        {&b.other, bytes, "inverse warp of the step before"},
        {&b.scratch, bytes, "change of the inverse warp"},
        {&b.half, 3 * sizeof(float) * clvox_grid_voxels(&half), "warp on half the resolution"},
        {&b.partial, CLV_STATISTICS_PARTIALS * sizeof(float), "partial maxima"},
        {&b.change, sizeof(float), "largest change"},
    };
    int count = sizeof requests / sizeof *requests;
    CLV_TRY(clv_pool_take(ctx, requests, count));
    status = clv_field_upload(ctx, warp, 1, u);
    if (status >= 0)
        status = clv_invert_field(ctx, u, &warp->grid, v, &b);
    if (status >= 0 && residual_voxels)
        status = clv_invert_residual(ctx, u, v, &warp->grid, b.scratch, b.partial, residual_voxels, mm);
    if (status >= 0)
        status = clv_field_download(ctx, v, &warp->grid, 1, out);
    clv_pool_release(requests, count);
end:
    return status;
}
