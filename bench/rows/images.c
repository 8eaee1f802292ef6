/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of operations on images and fields: arithmetic, sums, differences, filters. */
#include "bench/rows/check.h"
#include "op/image/blend.h"
#include "bench/papers/op/copy.h"
#include "op/image/gaussian.h"
#include "bench/papers/op/gradient.h"
#include "op/image/histogram.h"
#include "op/field/jacobian.h"
#include "op/image/pointwise.h"
#include "op/image/dct.h"
#include "op/image/median.h"
#include "op/image/nlm.h"
#include "op/image/reduce.h"
#include "op/image/resample.h"
#include "op/image/smooth.h"
#include "op/image/sobel.h"
#include "op/image/unsharp.h"

static const float UNIT[3] = {1, 1, 1};

static int row_copy(bench_data *d)
{
    return clv_copy(d->ctx, d->in[0], d->out[0], d->n / 4 * 4);
}

static int row_pointwise(bench_data *d)
{
    return clv_pointwise(d->ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(d->out[0], d->size), d->in[0], d->in[1],
                         NULL, (float[4]){.5f, .5f, 0, 0});
}

static int row_blend(bench_data *d)
{
    return clv_blend(d->ctx, CLV_VECTORS(d->field[1], d->size), d->v, d->in[0]);
}

static int row_sum(bench_data *d)
{
    return clv_reduce(d->ctx, CLV_REDUCE_SUM, &(clv_terms){d->in[0], NULL, NULL, 0, d->n}, d->partial,
                      d->state, 0);
}

static int row_dot(bench_data *d)
{
    return clv_reduce(d->ctx, CLV_REDUCE_DOT, &(clv_terms){d->in[0], d->in[1], NULL, 0, d->n}, d->partial,
                      d->state, 0);
}

static int row_longest(bench_data *d)
{
    return clv_reduce_longest(d->ctx, CLV_VECTORS(d->u, d->size), UNIT, false, d->partial, d->state, 0);
}

static int row_statistics(bench_data *d)
{
    clv_statistics all;
    int status = clv_statistics_lengths(d->ctx, CLV_VECTORS(d->u, d->size),
                                        (const float[3][3]){{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, NULL, NULL,
                                        d->partial, &all);
    const double answer[] = {all.smallest, all.largest, all.sum, all.sum_squares, (double)all.voxels};
    for (int i = 0; i < 5; i++)
        d->answer[i] = answer[i];
    return status;
}

static int row_histogram(bench_data *d)
{
    return clv_histogram(d->ctx, CLV_VOLUME(d->in[0], d->size), NULL, &(clv_bins){0, 1, 256}, d->nine);
}

static int row_gradient(bench_data *d)
{
    return clv_gradient(d->ctx, CLV_VOLUME(d->in[0], d->size), d->field[0]);
}

static int row_sobel(bench_data *d)
{
    return clv_sobel(d->ctx, CLV_VOLUME(d->in[0], d->size), d->out[0]);
}

static int row_median(bench_data *d)
{
    return clv_median_filter(d->ctx, CLV_VOLUME(d->in[0], d->size), (const int[3]){1, 1, 1}, d->out[0]);
}

static int row_median_wide(bench_data *d)
{
    return clv_median_filter(d->ctx, CLV_VOLUME(d->in[0], d->size), (const int[3]){2, 2, 2}, d->out[0]);
}

/* In the midst of a run: the fourth iteration, always from the same place. */
static int begin_tv(bench_data *d)
{
    int status = CLVOX_OK;
    d->tv_channel = (clv_tv_channel){d->in[0], {d->out[0], d->out[1], d->out[2]}, {d->nine, d->field[1]}};
    d->tv = (clv_tv){.grid = clv_image_of(NULL, d->size, NULL, 1), .radius = BENCH_TV_RADIUS,
                     .links = d->links, .partial = d->partial, .channel = &d->tv_channel, .channels = 1};
    CLV_TRY(clv_tv_start(d->ctx, &d->tv));
    for (int k = 0; k < BENCH_TV_BEFORE; k++)
        CLV_TRY(clv_tv_step(d->ctx, &d->tv));
end:
    return status;
}

static int row_tv(bench_data *d)
{
    clv_tv_channel channel = d->tv_channel;
    clv_tv tv = d->tv;
    tv.channel = &channel;
    return clv_tv_step(d->ctx, &tv);
}

static int row_dct(bench_data *d)
{
    return clv_dct_denoise(d->ctx, CLV_VOLUME(d->in[0], d->size), d->in[1], BENCH_CUT, d->out[0]);
}

static int begin_nlm(bench_data *d)
{
    int status = CLVOX_OK;
    clv_pool_release(d->workspace_list, d->workspace_count);
    d->workspace_count = 0;
    CLV_TRY(clv_nlm_guided_padding(d->ctx, d->size, BENCH_SEARCH, &d->padding));
    for (int k = 0; k < 3; k++)
        d->workspace_list[k] =
            (clv_request){&d->padded[k], clv_nlm_padded_bytes(&d->padding), "padded volume"};
    CLV_TRY(clv_pool_take(d->ctx, d->workspace_list, 3));
    d->workspace_count = 3;
end:
    return status;
}

/* As `filter nlm` denoises a volume whose noise is known. */
static int row_nlm(bench_data *d)
{
    int status = row_dct(d);
    const clv_nlm_means_args args = {.padding = d->padding,
                                     .value = d->padded[0],
                                     .guide = d->padded[1],
                                     .mean = d->padded[2],
                                     .search = BENCH_SEARCH,
                                     .strength = BENCH_STRENGTH,
                                     .sigma = d->in[1]};
    CLV_TRY(status);
    CLV_TRY(clv_nlm_pad(d->ctx, CLV_VOLUME(d->in[0], d->size), &d->padding, false, d->padded[0]));
    CLV_TRY(clv_nlm_pad(d->ctx, CLV_VOLUME(d->out[0], d->size), &d->padding, false, d->padded[1]));
    CLV_TRY(clv_nlm_pad(d->ctx, CLV_VOLUME(d->out[0], d->size), &d->padding, true, d->padded[2]));
    CLV_TRY(clv_nlm_means(d->ctx, CLV_VOLUME(d->out[1], d->size), &args, d->out[1]));
end:
    return status;
}

static int row_jacobian(bench_data *d)
{
    return clv_jacobian(d->ctx, CLV_VECTORS_MM(d->u, d->size, UNIT), false, d->out[0]);
}

static int gaussian(bench_data *d, bool vectors, float sigma, clv_gaussian_method method)
{
    const float s[3] = {sigma, sigma, sigma};
    return clv_gaussian(
        d->ctx, (const clv_image[1]){clv_image_of(vectors ? d->u : d->in[0], d->size, NULL, vectors ? 3 : 1)},
        s, method, vectors ? d->field[1] : d->out[1], vectors ? d->field[0] : d->out[0]);
}

static int row_gaussian(bench_data *d)
{
    return gaussian(d, true, 1.7f, CLV_GAUSSIAN_SEPARABLE);
}

static int row_gaussian_scalar(bench_data *d)
{
    return gaussian(d, false, 1.7f, CLV_GAUSSIAN_SEPARABLE);
}

static int row_gaussian_short(bench_data *d)
{
    return gaussian(d, true, 1, CLV_GAUSSIAN_SEPARABLE);
}

static int row_gaussian_wide(bench_data *d)
{
    return gaussian(d, true, 5, CLV_GAUSSIAN_SEPARABLE);
}

static int row_recursive(bench_data *d)
{
    return gaussian(d, true, 5, CLV_GAUSSIAN_RECURSIVE);
}

static int row_smooth(bench_data *d)
{
    return clv_smooth(d->ctx, CLV_VECTORS(d->u, d->size), UNIT, d->field[0], NULL);
}

static int row_smooth_scalar(bench_data *d)
{
    return clv_smooth(d->ctx, CLV_VOLUME(d->in[0], d->size), UNIT, d->out[0], NULL);
}

static int row_smooth_longest(bench_data *d)
{
    const clv_longest longest = {d->partial, d->state, 0, {1, 1, 1}};
    return clv_smooth(d->ctx, CLV_VECTORS(d->u, d->size), UNIT, d->field[0], &longest);
}

static int row_unsharp(bench_data *d)
{
    return clv_unsharp(d->ctx, CLV_VOLUME(d->in[0], d->size), (const float[3]){1.7f, 1.7f, 1.7f}, 1,
                       d->out[1], d->out[0]);
}

static int row_downsample(bench_data *d)
{
    clvox_grid grid = {.size = {d->size[0], d->size[1], d->size[2]}}, level;
    for (int i = 0; i < 4; i++)
        grid.to_ras[i][i] = 1;
    clv_pyramid_grid(&grid, (const double[3]){2, 2, 2}, &level);
    return clv_downsample(d->ctx, d->in[0], &grid, &d->out[1], d->out[0], &level);
}

/* Operations of filters: a multiply-add a tap and axis, as many taps as 3 sigma reach. */
const bench_row bench_rows_images[] = {
    {"copy", "copy", 8, 0, row_copy, check_copy, NULL, NULL},
    {"blend", "blend", 40, 9, row_blend, check_blend, NULL, NULL},
    {"pointwise a+b", "pointwise", 12, 3, row_pointwise, check_pointwise, NULL, NULL},
    {"reduce sum", "reduce", 4, 1, row_sum, check_sum, NULL, NULL},
    {"reduce dot", NULL, 8, 2, row_dot, check_dot, NULL, NULL},
    {"longest", "reduce_longest", 12, 6, row_longest, check_longest, NULL, NULL},
    {"statistics lengths", "statistics", 12, 0, row_statistics, check_statistics, NULL, NULL},
    {"histogram 256", "histogram", 4, 3, row_histogram, check_histogram, NULL, NULL},
    {"gradient", "gradient", 16, 6, row_gradient, check_gradient, NULL, NULL},
    {"sobel", "sobel", 8, 0, row_sobel, check_sobel, NULL, NULL},
    /* 153 comparators of two operations and 27 keys; about ten rounds over 125 values of seven. */
    {"median 1", "median", 8, 387, row_median, check_median, NULL, NULL},
    {"median 2", NULL, 8, 8750, row_median_wide, check_median_wide, NULL, NULL},
    /* Extrapolation, three differences and steps, a norm and its root, shortening, divergence, step. */
    {"total variation", "tv_step", 41, 28, row_tv, check_tv_image, begin_tv, NULL},
    /* A plane's block of 4x4 forward 80 and back 112; of a cube 16 columns forward 10 and back 14, 3 sums
     * each, and 63 thresholds; 16 sums. Means: 179 neighbours of 11 operations; means of 27 values. */
    {"cosine transform", "dct_denoise", 12, 703, row_dct, check_dct, NULL, NULL},
    {"non-local means", "nlm_means", 56, 2699, row_nlm, check_nlm_image, begin_nlm, NULL},
    {"jacobian", "jacobian", 16, 35, row_jacobian, check_jacobian, NULL, NULL},
    {"gaussian 1.7 scalar", NULL, 24, 78, row_gaussian_scalar, check_gaussian_scalar, NULL, NULL},
    {"gaussian 1.7 field", "gaussian_x", 72, 234, row_gaussian, check_gaussian, NULL, NULL},
    {"gaussian 1 field", NULL, 72, 126, row_gaussian_short, check_gaussian_short, NULL, NULL},
    {"smooth 1 scalar", NULL, 8, 42, row_smooth_scalar, check_smooth_scalar, NULL, NULL},
    {"smooth 1 field", "smooth", 24, 126, row_smooth, check_smooth, NULL, NULL},
    {"smooth 1 field, longest", NULL, 24, 132, row_smooth_longest, check_smooth_longest, NULL, NULL},
    {"gaussian 5 field", NULL, 72, 558, row_gaussian_wide, check_gaussian_wide, NULL, NULL},
    {"recursive 5 field", NULL, 72, 288, row_recursive, check_recursive, NULL, NULL},
    {"unsharp 1.7", NULL, 36, 81, row_unsharp, check_unsharp, NULL, NULL},
    {"downsample 2", NULL, 28.5, 0, row_downsample, check_downsample, NULL, NULL},
    {NULL, NULL, 0, 0, NULL, NULL, NULL, NULL},
};
