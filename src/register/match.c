/* SPDX-License-Identifier: Apache-2.0 */
/* Intensities: both images are brought to one scale by their quantiles, so
 * that squared differences mean the same for every scanner. */
#include <math.h>
#include <string.h>

#include "base/matrix.h"
#include "image/distribution.h"
#include "op/image/pointwise.h"
#include "op/image/reduce.h"
#include "op/image/resample.h"
#include "register/metric/metric.h"
#include "register/model.h"
#include "register/thresholds.h"

static int read_state(clv_registration *run, int slot, int count, float *values)
{
    return clv_buffer_read(run->ctx, run->state, (size_t)slot * sizeof(float), values,
                           (size_t)count * sizeof(float));
}

static int measure(clv_registration *run, const clv_buffer *image, const clvox_grid *grid,
                   const clv_buffer *weight, clv_distribution *d)
{
    return clv_distribution_measure(run->ctx, CLV_VOLUME(image, grid->size), weight, run->partial, run->state,
                                    CLV_STATE_SUMS, d);
}

/* Appends a knot where both tables stay ascending. */
static int knot(float *from, float *to, int count, double x, double y)
{
    if (count > 0 && x <= from[count - 1] + 1e-6 * fabs(from[count - 1]))
        return count;
    from[count] = (float)x;
    to[count] = (float)(count > 0 ? fmax(y, to[count - 1]) : y);
    return count + 1;
}

/* Voxels that do not have the value, by bins of the histogram, that most of them have. */
static double stand_out(const clv_distribution *d)
{
    int32_t most = 0;
    for (int i = 0; i < CLV_DISTRIBUTION_BINS; i++)
        most = d->counts[i] > most ? d->counts[i] : most;
    return d->total - most;
}

/* 1 where an image has tissue by Otsu's threshold of where weight counts (NULL: everywhere), else 0. */
static int find_tissue(clv_registration *run, const clv_buffer *image, const clvox_grid *grid,
                       const clv_buffer *weight, clv_buffer *region)
{
    int status = CLVOX_OK;
    clv_distribution d;
    CLV_TRY(measure(run, image, grid, weight, &d));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_THRESHOLD, CLV_VOLUME(region, grid->size), image, NULL,
                          NULL, (float[4]){(float)clv_distribution_otsu(&d), 1, 0, 0}));
end:
    return status;
}

/* The voxels that both images' distributions are taken from: the masks, or
 * where there is none, the tissue of both images. */
static int common_region(clv_registration *run, const clv_channel *channel, const clv_buffer *resampled,
                         clv_buffer *region, clv_buffer *scratch)
{
    int status = CLVOX_OK;
    const float keep[4] = {1, 0, 0, 0};
    if (run->masks.of[0])
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(region, run->fixed_grid.size),
                              run->masks.of[0], NULL, NULL, keep));
    else
        CLV_TRY(find_tissue(run, channel->fixed, &run->fixed_grid, NULL, region));
    if (run->masks.of[1]) {
        clv_map map;
        clv_map_between(&run->fixed_grid, &run->moving_grid, CLV_MATRIX(run->matrix), 0, &map);
        CLV_TRY(clv_warp(run->ctx, CLV_VOLUME(run->masks.of[1], run->moving_grid.size), &map, NULL,
                         CLV_NEAREST, 0, CLV_VOLUME(scratch, run->fixed_grid.size)));
    } else {
        CLV_TRY(find_tissue(run, resampled, &run->fixed_grid, NULL, scratch));
    }
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_MULTIPLY, CLV_VOLUME(region, run->fixed_grid.size), region,
                          scratch, NULL, keep));
end:
    return status;
}

/* Whether a metric of the channel takes equal values for the same tissue. The others take
 * any contrast, which a match would only bend. */
static bool compares_values(const clvox_register_options *o, const clv_channel *channel)
{
    const clv_model *m = clv_model_find(o->deform);
    return clv_metric_find(clv_register_metric(o))->compares_values ||
           (m && (m->compares_values || clv_metric_find(channel->metric)->compares_values));
}

/* Background at 0, the brightest of the tissue at 1, nothing above 1.2: by this
 * image alone, as the other may be dark where it is bright. region: scratch. */
static int to_unit_range(clv_registration *run, clv_buffer *image, const clvox_grid *grid,
                         const clv_buffer *mask, const clv_distribution *all, clv_buffer *region)
{
    int status = CLVOX_OK;
    clv_distribution d;
    CLV_TRY(find_tissue(run, image, grid, mask, region));
    if (mask)
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_MULTIPLY, CLV_VOLUME(region, grid->size), region, mask,
                              NULL, (float[4]){1, 0, 0, 0}));
    CLV_TRY(measure(run, image, grid, region, &d));
    double low = fmin(clv_distribution_quantile(all, .02), clv_distribution_quantile(&d, .02)), unit = clv_distribution_quantile(&d, .995) - low;
    if (!(d.total > 0) || unit <= 0) {
        low = all->low;
        unit = all->high - all->low;
    }
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_CLAMP, CLV_VOLUME(image, grid->size), image, NULL, NULL,
                          (float[4]){(float)(1 / unit), (float)(-low / unit), 0, 1.2f}));
end:
    return status;
}

static int match(clv_registration *run, const clv_channel *channel)
{
    static const double levels[] = {.02, .05, .1, .2, .3, .4, .5, .6, .7, .8, .9, .95, .98};
    enum { LEVELS = sizeof levels / sizeof *levels };
    int status = CLVOX_OK;
    clv_buffer *resampled = run->scratch_a, *region = channel->level_fixed, *scratch = run->scratch_b;
    clv_distribution fixed_all, moving_all, fixed, moving;
    clv_map map;
    float from[LEVELS + 4], to[LEVELS + 4];

    clv_map_between(&run->fixed_grid, &run->moving_grid, CLV_MATRIX(run->matrix), 0, &map);
    CLV_TRY(clv_warp(run->ctx, CLV_VOLUME(channel->moving, run->moving_grid.size), &map, NULL,
                     CLV_LINEAR, NAN, CLV_VOLUME(resampled, run->fixed_grid.size)));
    CLV_TRY(common_region(run, channel, resampled, region, scratch));
    CLV_TRY(measure(run, channel->fixed, &run->fixed_grid, NULL, &fixed_all));
    CLV_TRY(measure(run, channel->moving, &run->moving_grid, NULL, &moving_all));
    CLV_TRY(measure(run, channel->fixed, &run->fixed_grid, region, &fixed));
    CLV_TRY(measure(run, resampled, &run->fixed_grid, region, &moving));
    if (fixed_all.high <= fixed_all.low || moving_all.high <= moving_all.low) {
        /* A constant image has no scale: both become 0 and no force arises. */
        run->suspicions |= CLVOX_SUSPECT_CONSTANT;
        CLV_TRY(clv_buffer_fill(run->ctx, channel->fixed, 0, 0, (size_t)run->n * sizeof(float)));
        CLV_TRY(clv_buffer_fill(run->ctx, channel->moving, 0, 0, (size_t)run->m * sizeof(float)));
        goto end;
    }
    if (stand_out(&fixed_all) < FEW || stand_out(&moving_all) < FEW)
        run->suspicions |= CLVOX_SUSPECT_SPARSE;
    if (fixed.total == 0 || moving.total == 0) {
        status = clvox_fail(CLVOX_ERROR_DATA, "the two images do not overlap where they and their masks "
                                              "have content; try --init moments or --init centers");
        goto end;
    }
    if (!compares_values(run->options, channel)) {
        CLV_TRY(to_unit_range(run, channel->fixed, &run->fixed_grid, run->masks.of[0], &fixed_all,
                              channel->level_fixed));
        CLV_TRY(to_unit_range(run, channel->moving, &run->moving_grid, run->masks.of[1], &moving_all,
                              channel->level_moving));
        goto end;
    }
    /* The darkest two percent of the whole image is the background's level. */
    double fixed_low = fmin(clv_distribution_quantile(&fixed_all, .02), clv_distribution_quantile(&fixed, .02));
    double moving_low = fmin(clv_distribution_quantile(&moving_all, .02), clv_distribution_quantile(&moving, .02));
    double unit = clv_distribution_quantile(&fixed, .98) - fixed_low;
    if (unit <= 0)
        unit = fixed_all.high - fixed_all.low;

    int knots = knot(from, to, 0, moving_low, 0);
    for (int i = 0; i < LEVELS; i++)
        knots = knot(from, to, knots, clv_distribution_quantile(&moving, levels[i]),
                     (clv_distribution_quantile(&fixed, levels[i]) - fixed_low) / unit);
    /* Above the last quantile both go on with the same slope and stop at 1.2. */
    double rise = to[knots - 1] > 0 ? (from[knots - 1] - moving_low) / to[knots - 1] : 1;
    knots = knot(from, to, knots, from[knots - 1] + fmax(0, 1.2 - to[knots - 1]) * rise, 1.2);
    CLV_TRY(clv_pointwise_table(run->ctx, CLV_VOLUME(channel->moving, run->moving_grid.size), channel->moving,
                                from, to, knots));
    knots = knot(from, to, 0, fixed_low, 0);
    knots = knot(from, to, knots, fixed_low + 1.2 * unit, 1.2);
    CLV_TRY(clv_pointwise_table(run->ctx, CLV_VOLUME(channel->fixed, run->fixed_grid.size), channel->fixed,
                                from, to, knots));
end:
    return status;
}

int clv_register_match(clv_registration *run)
{
    int status = CLVOX_OK;
    for (int i = 0; i < run->image_count; i++)
        CLV_TRY(match(run, &run->channels[i]));
end:
    return status;
}

int clv_register_metrics(clv_registration *run, const clv_buffer *a, const clv_buffer *b,
                   const clv_buffer *weight, int n, double *mean_square, double *ncc)
{
    int status = CLVOX_OK;
    float s[7];
    const struct {
        clv_reduce_kind kind;
        const clv_buffer *x, *y;
    } sums[] = {
        {CLV_REDUCE_SUM, a, NULL}, {CLV_REDUCE_SUM, b, NULL}, {CLV_REDUCE_DOT, a, a},
        {CLV_REDUCE_DOT, b, b},    {CLV_REDUCE_DOT, a, b},    {CLV_REDUCE_SQUARE_DIFFERENCE, a, b},
    };
    for (int i = 0; i < 6; i++)
        CLV_TRY(clv_reduce(run->ctx, sums[i].kind, &(clv_terms){sums[i].x, sums[i].y, weight, 0, n},
                           run->partial, run->state, CLV_STATE_SUMS + i));
    if (weight)
        CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_SUM, &(clv_terms){weight, NULL, NULL, 0, n}, run->partial,
                           run->state, CLV_STATE_SUMS + 6));
    CLV_TRY(read_state(run, CLV_STATE_SUMS, weight ? 7 : 6, s));
    double count = weight ? s[6] : n;
    *mean_square = count > 0 ? s[5] / count : 0;
    double va = s[2] - (double)s[0] * s[0] / count, vb = s[3] - (double)s[1] * s[1] / count;
    double cov = s[4] - (double)s[0] * s[1] / count;
    *ncc = count > 0 && va > 1e-6 * s[2] && vb > 1e-6 * s[3] ? cov / sqrt(va * vb) : 0;
end:
    return status;
}
