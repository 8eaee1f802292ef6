/* SPDX-License-Identifier: Apache-2.0 */
/* The report's numbers: how alike the images are before, between and after. */
#include <math.h>

#include "base/matrix.h"
#include "image/distribution.h"
#include "op/image/gaussian.h"
#include "op/image/pointwise.h"
#include "op/image/resample.h"
#include "op/image/statistics.h"
#include "op/match/lncc.h"
#include "register/metric/metric.h"
#include "register/terms/posteriors.h"
#include "register/thresholds.h"
#include "register/contrast/synthesis.h"

clvox_metric clv_register_metric(const clvox_register_options *o)
{
    return o->deform == CLVOX_DEFORM_NONE ? o->linear_metric : o->metric;
}

/* The fixed image, NaN outside of the mask or, for a mean over windows, in the
 * empty background. */
static int masked_fixed(clv_registration *run, const clv_channel *c, bool windows, const clv_buffer **fixed)
{
    int status = CLVOX_OK;
    *fixed = c->fixed;
    if (!run->masks.of[0] && !windows)
        return CLVOX_OK;
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_THRESHOLD, CLV_VOLUME(c->level_fixed, run->fixed_grid.size),
                          run->masks.of[0] ? run->masks.of[0] : c->fixed, NULL, NULL,
                          (float[4]){run->masks.of[0] ? 0 : AIR, 0, NAN, 0}));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(c->level_fixed, run->fixed_grid.size),
                          c->level_fixed, c->fixed, NULL, (float[4]){1, 1, 0, 0}));
    *fixed = c->level_fixed;
end:
    return status;
}

/* Value of the metric, a voxel, of the image in scratch_a and the fixed one. */
static int mean_metric(clv_registration *run, const clv_channel *c, const clv_metric_row *metric, double *mean,
                       double *content)
{
    int status = CLVOX_OK;
    const clvox_register_options *o = run->options;
    const int *size = run->fixed_grid.size;
    const clv_buffer *fixed;
    float s[2];
    CLV_TRY(masked_fixed(run, c, metric->content, &fixed));
    const clv_metric_args args = {
        .fixed = clv_image_of(fixed, size, NULL, 1),
        .moving = run->scratch_a,
        .parameter = clv_metric_parameter(metric, o, o->deform == CLVOX_DEFORM_NONE),
        .epsilon = CLV_REGISTER_EPSILON,
        .local = true, /* the sum alone is wanted: the cheaper derivative */
        .derivative_moving = run->scratch_b,
        .scratch = run->metric_scratch,
        .partial = run->partial,
        .out = run->state,
        .slot = CLV_STATE_SUMS,
    };
    CLV_TRY(metric->derivative(run->ctx, &args));
    CLV_TRY(clv_buffer_read(run->ctx, run->state, CLV_STATE_SUMS * sizeof(float), s, sizeof s));
    *mean = s[1] > 0 ? s[0] / (double)s[1] : 0;
    *content = metric->content && !run->masks.of[0] ? (double)s[1] / run->n : 1;
end:
    return status;
}

/* The share of voxels where any channel with a weight has content: where masked_fixed has left a value. */
static int content_of_channels(clv_registration *run, double *content)
{
    int status = CLVOX_OK, found = 0;
    const clv_image all = *CLV_VOLUME(run->scratch_a, run->fixed_grid.size),
                    one = *CLV_VOLUME(run->scratch_b, run->fixed_grid.size);
    clv_statistics s;
    for (int i = 0; i < clv_shown_channels(run); i++)
        if (run->channels[i].share > 0) {
            CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_FINITE, found ? &one : &all,
                                  run->channels[i].level_fixed, NULL, NULL, (float[4]){0}));
            if (found++)
                CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, &all, all.buffer, one.buffer, NULL,
                                      (float[4]){1, 1, 0, 0}));
        }
    CLV_TRY(clv_statistics_determinants(run->ctx, all.buffer, NULL, all.size, run->partial, &s));
    *content = (double)(s.voxels - s.not_above) / run->n;
end:
    return status;
}

size_t clv_register_measure_floats(const clvox_register_options *o, const clvox_grid *grid)
{
    const clv_metric_row *metric = clv_metric_find(clv_register_metric(o));
    int parameter = clv_metric_parameter(metric, o, o->deform == CLVOX_DEFORM_NONE);
    return metric->report ? 0 : metric->scratch(grid->size, parameter, true, false);
}

int clv_register_measure(clv_registration *run, bool linear, const clv_buffer *u, clv_metric_report *report)
{
    int status = CLVOX_OK;
    const clv_metric_row *metric = clv_metric_find(clv_register_metric(run->options));
    clv_map map;
    *report = (clv_metric_report){.content = 1};
    clv_map_between(&run->fixed_grid, &run->moving_grid, linear ? CLV_MATRIX(run->matrix) : NULL, 1, &map);
    for (int i = 0; i < clv_shown_channels(run); i++) {
        const clv_channel *c = &run->channels[i];
        double square, ncc, value = 0, content = 1;
        CLV_TRY(clv_warp(run->ctx, CLV_VOLUME(c->moving, run->moving_grid.size), &map, u, CLV_LINEAR,
                         i < run->image_count ? 0 : c->outside,
                         CLV_VOLUME(run->scratch_a, run->fixed_grid.size)));
        const clv_buffer *fixed = c->fixed;
        if (i >= run->image_count) {
            CLV_TRY(clv_posteriors_root(run, &run->fixed_grid, run->scratch_a));
            CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_ROOT,
                                  CLV_VOLUME(c->level_fixed, run->fixed_grid.size), c->fixed, NULL, NULL,
                                  (const float[4]){0}));
            fixed = c->level_fixed;
        }
        CLV_TRY(clv_register_metrics(run, run->scratch_a, fixed, run->masks.of[0], run->n, &square, &ncc));
        report->mean_square += c->share * square;
        report->ncc += c->share * ncc;
        if (metric->report)
            value = metric->report(square, ncc);
        else
            CLV_TRY(mean_metric(run, c, metric, &value, &content));
        report->metric += c->share * value;
        if (c->made != CLV_MADE_FIXED) /* noise of the other image has no air */
            report->content = content;
    }
    if (clv_shown_channels(run) > 1 && !clv_contrast_made(run) && metric->content && !run->masks.of[0])
        CLV_TRY(content_of_channels(run, &report->content));
end:
    return status;
}

/* ---- coarse images ------------------------------------------------------- */

/* Voxels of the fixed image along each axis of one, and windows of 2 RADIUS + 1 of them: the noise of
 * single voxels has gone, and what tells heads apart from what is unrelated has not. */
enum { COARSE = 3, COARSE_RADIUS = 2 };

/* The fixed image of a channel, in level_fixed: NaN outside of the mask, or where there is no tissue by
 * Otsu's threshold, as magnitude images are not dark in the background. */
static int coarse_fixed(clv_registration *run, const clv_channel *c, const clvox_grid *grid)
{
    int status = CLVOX_OK;
    clv_buffer *const scratch[2] = {run->scratch_a, run->scratch_b};
    const clv_buffer *inside = c->level_fixed;
    float least = 0;
    CLV_TRY(clv_downsample(run->ctx, c->fixed, &run->fixed_grid, scratch, c->level_fixed, grid));
    if (run->masks.of[0]) {
        clv_map map;
        clv_map_between(grid, &run->fixed_grid, NULL, 0, &map);
        CLV_TRY(clv_warp(run->ctx, CLV_VOLUME(run->masks.of[0], run->fixed_grid.size), &map, NULL,
                         CLV_NEAREST, 0, CLV_VOLUME(run->scratch_a, grid->size)));
        inside = run->scratch_a;
    } else {
        clv_distribution d;
        CLV_TRY(clv_distribution_measure(run->ctx, CLV_VOLUME(c->level_fixed, grid->size), NULL, run->partial,
                                         run->state, CLV_STATE_SUMS, &d));
        least = (float)clv_distribution_otsu(&d);
    }
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_THRESHOLD, CLV_VOLUME(run->scratch_a, grid->size), inside,
                          NULL, NULL, (float[4]){least, 0, NAN, 0}));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(c->level_fixed, grid->size),
                          c->level_fixed, run->scratch_a, NULL, (float[4]){1, 1, 0, 0}));
end:
    return status;
}

/* The moving image, in level_moving on its own grid: as smooth as voxels of such an edge in mm. */
static int coarse_moving(clv_registration *run, const clv_channel *c, double edge)
{
    double own[3];
    float sigma[3];
    clvox_grid_spacing(&run->moving_grid, own);
    for (int i = 0; i < 3; i++)
        sigma[i] = (float)(.5 * sqrt(fmax(0, edge * edge - own[i] * own[i])) / own[i]);
    return clv_gaussian(run->ctx, CLV_VOLUME(c->moving, run->moving_grid.size), sigma, CLV_GAUSSIAN_FINITE,
                        run->scratch_a, c->level_moving);
}

/* Mean LNCC of level_fixed and level_moving under the linear part. */
static int coarse_lncc(clv_registration *run, const clv_channel *c, const clvox_grid *grid, double *mean)
{
    int status = CLVOX_OK;
    clv_map map;
    float s[2];
    const clv_metric_args args = {
        .fixed = clv_image_of(c->level_fixed, grid->size, NULL, 1),
        .moving = run->scratch_a,
        .parameter = COARSE_RADIUS,
        .epsilon = CLV_REGISTER_EPSILON,
        .local = true,
        .derivative_moving = run->scratch_b,
        .partial = run->partial,
        .out = run->state,
        .slot = CLV_STATE_SUMS,
    };
    clv_map_between(grid, &run->moving_grid, CLV_MATRIX(run->matrix), 1, &map);
    CLV_TRY(clv_warp(run->ctx, CLV_VOLUME(c->level_moving, run->moving_grid.size), &map, NULL, CLV_LINEAR, 0,
                     CLV_VOLUME(run->scratch_a, grid->size)));
    CLV_TRY(clv_lncc(run->ctx, &args));
    CLV_TRY(clv_buffer_read(run->ctx, run->state, CLV_STATE_SUMS * sizeof(float), s, sizeof s));
    *mean = s[1] > 0 ? s[0] / (double)s[1] : 0;
end:
    return status;
}

int clv_register_measure_coarse(clv_registration *run, double *coarse)
{
    int status = CLVOX_OK;
    clvox_grid grid;
    double edge[3];
    *coarse = NAN;
    clv_register_level(&run->fixed_grid, COARSE, &grid);
    if (3 * clvox_grid_voxels(&grid) > (size_t)run->n) /* more than scratch_b holds */
        return CLVOX_OK;
    *coarse = 0;
    clvox_grid_spacing(&grid, edge);
    for (int i = 0; i < run->image_count; i++) {
        const clv_channel *c = &run->channels[i];
        double mean;
        CLV_TRY(coarse_fixed(run, c, &grid));
        CLV_TRY(coarse_moving(run, c, cbrt(edge[0] * edge[1] * edge[2])));
        CLV_TRY(coarse_lncc(run, c, &grid, &mean));
        *coarse += c->share * mean;
    }
end:
    return status;
}
