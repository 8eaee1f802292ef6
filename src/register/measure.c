/* SPDX-License-Identifier: Apache-2.0 */
/* The report's numbers: how alike the images are before, between and after. */
#include <math.h>

#include "base/matrix.h"
#include "op/image/pointwise.h"
#include "op/image/resample.h"
#include "register/metric/metric.h"
#include "register/posteriors.h"

clvox_metric clv_register_metric(const clvox_register_options *o)
{
    return o->deform == CLVOX_DEFORM_NONE ? o->linear_metric : o->metric;
}

/* Of images in [0, 1]: below it there is air, whose windows would say nothing. */
static const float CONTENT = 0.05f;

/* The fixed image, NaN outside of the mask or, for a mean over windows, in the
 * empty background. */
static int masked_fixed(clv_registration *run, const clv_channel *c, bool windows, const clv_buffer **fixed)
{
    int status = CLVOX_OK;
    *fixed = c->fixed;
    if (!run->fixed_mask && !windows)
        return CLVOX_OK;
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_THRESHOLD, CLV_VOLUME(c->level_fixed, run->fixed_grid.size),
                          run->fixed_mask ? run->fixed_mask : c->fixed, NULL, NULL,
                          (float[4]){run->fixed_mask ? 0 : CONTENT, 0, NAN, 0}));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(c->level_fixed, run->fixed_grid.size),
                          c->level_fixed, c->fixed, NULL, (float[4]){1, 1, 0, 0}));
    *fixed = c->level_fixed;
end:
    return status;
}

/* What the metric says by itself, a voxel, of the image in scratch_a and the fixed one. */
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
    *content = metric->content && !run->fixed_mask ? (double)s[1] / run->n : 1;
end:
    return status;
}

size_t clv_register_measure_floats(const clvox_register_options *o, const clvox_grid *grid)
{
    const clv_metric_row *metric = clv_metric_find(clv_register_metric(o));
    int parameter = clv_metric_parameter(metric, o, o->deform == CLVOX_DEFORM_NONE);
    return metric->report ? 0 : metric->scratch(grid->size, parameter, true, false);
}

static int measure(clv_registration *run, bool linear, const clv_buffer *u, clv_metric_report *report)
{
    int status = CLVOX_OK;
    const clv_metric_row *metric = clv_metric_find(clv_register_metric(run->options));
    clv_map map;
    *report = (clv_metric_report){.content = 1};
    clv_map_between(&run->fixed_grid, &run->moving_grid, linear ? CLV_MATRIX(run->matrix) : NULL, 1, &map);
    for (int i = 0; i < run->shown_count; i++) {
        const clv_channel *c = &run->channels[i];
        double square, ncc, value = 0;
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
        CLV_TRY(clv_register_metrics(run, run->scratch_a, fixed, run->fixed_mask, run->n, &square, &ncc));
        report->mean_square += c->share * square;
        report->ncc += c->share * ncc;
        if (metric->report)
            value = metric->report(square, ncc);
        else
            CLV_TRY(mean_metric(run, c, metric, &value, &report->content));
        report->metric += c->share * value;
    }
end:
    return status;
}

int clv_register_measure(const clv_registration *run, bool linear, const clv_buffer *u,
                         clv_metric_report *report)
{
    int status = CLVOX_OK;
    clv_registration view = *run;
    if (run->exchanged)
        CLV_TRY(clv_register_exchange(&view));
    CLV_TRY(measure(&view, linear, u, report));
end:
    return status;
}
