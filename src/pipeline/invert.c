/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/invert.h"

#include <math.h>
#include <stdlib.h>

#include "clvox/apply.h"
#include "op/compose.h"
#include "op/pointwise.h"
#include "op/reduce.h"
#include "op/resample.h"
#include "pipeline/field.h"

enum { MOST_STEPS = 50, CHUNK = 1 << 20 };
static const float enough_voxels = 0.01f, least_damping = 0.2f;

static const float plus[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
static const float minus[3][3] = {{-1, 0, 0}, {0, -1, 0}, {0, 0, -1}};

int clv_invert_field(clvox_context *ctx, const clv_buffer *u, const clvox_grid *grid,
                     clv_buffer *v, const clv_invert_buffers *buffers)
{
    int status = CLVOX_OK;
    int voxels = (int)clvox_grid_voxels(grid);
    size_t bytes = 3 * sizeof(float) * (size_t)voxels;
    double spacing[3];
    clv_map map;
    clvox_grid_spacing(grid, spacing);
    float per_mm[3] = {(float)(1 / spacing[0]), (float)(1 / spacing[1]), (float)(1 / spacing[2])};
    float best = INFINITY, damping = 1;
    clv_buffer *now = v, *next = buffers->other;
    clv_map_between(grid, grid, NULL, 1, &map);
    /* v = -u is the first step from v = 0. */
    CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_LINEAR, now, 3 * voxels, u, NULL, NULL,
                          (float[4]){-1, 0, 0, 0}));
    for (int step = 0, stuck = 0; step < MOST_STEPS; step++) {
        float change;
        CLV_TRY(clv_compose(ctx, now, 0, u, grid->size, &map, minus, next, grid->size));
        CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_LINEAR, buffers->scratch, 3 * voxels, next, now, NULL,
                              (float[4]){1, -1, 0, 0}));
        CLV_TRY(clv_reduce_longest(ctx, buffers->scratch, per_mm, voxels, buffers->partial,
                                   buffers->change, 0));
        CLV_TRY(clv_buffer_read(ctx, buffers->change, 0, &change, sizeof change));
        if (damping < 1)
            CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_LINEAR, next, 3 * voxels, now, buffers->scratch, NULL,
                                  (float[4]){1, damping, 0, 0}));
        clv_buffer *swap = now;
        now = next;
        next = swap;
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
    if (now != v)
        CLV_TRY(clv_buffer_copy(ctx, now, 0, v, 0, bytes));
end:
    return status;
}

int clv_invert_residual(clvox_context *ctx, const clv_buffer *u, const clv_buffer *v,
                        const clvox_grid *grid, clv_buffer *error, double residual_voxels[2])
{
    int status = CLVOX_OK;
    size_t voxels = clvox_grid_voxels(grid), chunk = voxels < CHUNK ? voxels : CHUNK, counted = 0, s[2];
    double spacing[3], largest = 0, sum = 0;
    clv_map map;
    float *a = malloc(6 * chunk * sizeof *a), *e = a ? a + 3 * chunk : NULL;
    if (!a)
        return clv_fail(CLVOX_ERROR_MEMORY, "inverse warp: out of host memory");
    clvox_grid_spacing(grid, spacing);
    clv_map_between(grid, grid, NULL, 1, &map);
    CLV_TRY(clv_compose(ctx, v, 1, u, grid->size, &map, plus, error, grid->size));
    for (size_t first = 0; first < voxels; first += chunk) {
        size_t count = voxels - first < chunk ? voxels - first : chunk;
        CLV_TRY(clv_field_read(ctx, v, voxels, first, count, a, s));
        CLV_TRY(clv_field_read(ctx, error, voxels, first, count, e, s));
        for (size_t i = 0; i < count; i++) {
            size_t at = first + i;
            int index[3] = {(int)(at % (size_t)grid->size[0]),
                            (int)(at / (size_t)grid->size[0] % (size_t)grid->size[1]),
                            (int)(at / (size_t)grid->size[0] / (size_t)grid->size[1])};
            bool inside = true;
            double square = 0;
            for (size_t c = 0; c < 3; c++) {
                double p = index[c] + (double)a[i * s[0] + c * s[1]] / spacing[c];
                double r = (double)e[i * s[0] + c * s[1]] / spacing[c];
                inside = inside && p >= -0.5 && p <= grid->size[c] - 0.5;
                square += r * r;
            }
            if (!inside || isnan(square))
                continue;
            counted++;
            sum += sqrt(square);
            largest = fmax(largest, square);
        }
    }
    /* Without a voxel to look at nothing is known. */
    residual_voxels[0] = counted ? sqrt(largest) : NAN;
    residual_voxels[1] = counted ? sum / (double)counted : NAN;
end:
    free(a);
    return status;
}

int clvox_invert(clvox_context *ctx, const clvox_volume *warp, clvox_volume **out,
                 double residual_voxels[2])
{
    int status = CLVOX_OK;
    clv_buffer *u = NULL, *v = NULL;
    clv_invert_buffers b = {0};
    *out = NULL;
    if (warp->frames != 3)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "a warp has 3 components, this volume has %d; give a warp",
                        warp->frames);
    CLV_TRY(clv_field_check(&warp->grid));
    size_t bytes = 3 * sizeof(float) * clvox_grid_voxels(&warp->grid);
    const clv_request requests[] = {
        {&u, bytes, "warp"},
        {&v, bytes, "inverse warp"},
        {&b.other, bytes, "inverse warp of the step before"},
        {&b.scratch, bytes, "change of the inverse warp"},
        {&b.partial, CLV_REDUCE_PARTIALS * sizeof(float), "partial maxima"},
        {&b.change, sizeof(float), "largest change"},
    };
    int count = sizeof requests / sizeof *requests;
    CLV_TRY(clv_pool_take(ctx, requests, count));
    status = clv_field_upload(ctx, warp, 1, u);
    if (status >= 0)
        status = clv_invert_field(ctx, u, &warp->grid, v, &b);
    if (status >= 0 && residual_voxels)
        status = clv_invert_residual(ctx, u, v, &warp->grid, b.scratch, residual_voxels);
    if (status >= 0)
        status = clv_field_download(ctx, v, &warp->grid, 1, out);
    clv_pool_release(requests, count);
end:
    return status;
}
