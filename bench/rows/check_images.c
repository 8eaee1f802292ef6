/* SPDX-License-Identifier: Apache-2.0 */
/* Tolerances are those of the operations' tests. */
#include <math.h>
#include <string.h>

#include "bench/rows/check.h"
#include "op/image/reduce.h"
#include "ref/image/blend.h"
#include "bench/papers/ref/copy.h"
#include "ref/image/gaussian.h"
#include "bench/papers/ref/gradient.h"
#include "ref/image/histogram.h"
#include "ref/field/jacobian.h"
#include "ref/image/pointwise.h"
#include "ref/image/recursive.h"
#include "ref/image/dct.h"
#include "ref/image/median.h"
#include "ref/image/nlm.h"
#include "ref/image/reduce.h"
#include "ref/image/resample.h"
#include "ref/image/smooth.h"
#include "ref/image/sobel.h"
#include "ref/image/statistics.h"
#include "ref/image/tv.h"
#include "ref/image/unsharp.h"

static const float UNIT[3] = {1, 1, 1};

int check_copy(bench_check *c)
{
    size_t count = c->n / 4 * 4;
    ref_copy(c->in[0], count, c->want);
    return check_buffer(c, c->data->out[0], c->want, count, 1e-30, 0);
}

int check_pointwise(bench_check *c)
{
    ref_pointwise(CLV_POINTWISE_LINEAR, c->want, (int)c->n, c->in[0], c->in[1], NULL,
                  (float[4]){.5f, .5f, 0, 0});
    return check_buffer(c, c->data->out[0], c->want, c->n, 1e-6, 1e-6);
}

int check_blend(bench_check *c)
{
    ref_blend(c->field, c->v, c->in[0], c->n, c->want);
    return check_field(c, c->data->field[1], c->want, 4e-6, 0);
}

static int check_reduced(bench_check *c, double want)
{
    return check_buffer(c, c->data->state, &want, 1, 4e-6 * sqrt((double)c->n), 1e-6);
}

int check_sum(bench_check *c)
{
    return check_reduced(c, ref_reduce(CLV_REDUCE_SUM, c->in[0], NULL, NULL, 0, (int)c->n));
}

int check_dot(bench_check *c)
{
    return check_reduced(c, ref_reduce(CLV_REDUCE_DOT, c->in[0], c->in[1], NULL, 0, (int)c->n));
}

int check_longest(bench_check *c)
{
    double want = ref_reduce_longest(c->u, UNIT, (int)c->n);
    return check_buffer(c, c->data->state, &want, 1, 0, 1e-6);
}

int check_statistics(bench_check *c)
{
    int status = CLVOX_OK;
    const double *got = c->data->answer;
    clv_statistics want;
    ref_statistics_lengths(c->u, CLV_MATRIX3F(((const float[3][3]){{1, 0, 0}, {0, 1, 0}, {0, 0, 1}})), NULL,
                           NULL, c->data->size, UNIT, &want);
    CLV_TRY(check_number(c, got[0], want.smallest, 1e-6));
    CLV_TRY(check_number(c, got[1], want.largest, 1e-5));
    CLV_TRY(check_number(c, got[2], want.sum, 1e-6 * (double)c->n + 1e-6 * want.sum));
    CLV_TRY(check_number(c, got[3], want.sum_squares, 1e-5 * (double)c->n + 1e-6 * want.sum_squares));
    CLV_TRY(check_number(c, got[4], (double)want.voxels, 0));
end:
    return status;
}

int check_histogram(bench_check *c)
{
    int32_t got[256], want[256];
    int status = clv_buffer_read(c->data->ctx, c->data->nine, 0, got, sizeof got);
    ref_histogram(c->in[0], NULL, (int)c->n, 0, 1, 256, want);
    for (int i = 0; i < 256 && status >= 0; i++)
        status = check_number(c, got[i], want[i], 0);
    return status;
}

int check_gradient(bench_check *c)
{
    ref_gradient(c->in[0], c->data->size, UNIT, c->want);
    return check_field(c, c->data->field[0], c->want, 1e-6, 1e-6);
}

int check_sobel(bench_check *c)
{
    ref_sobel(c->in[0], c->data->size, UNIT, c->want);
    return check_buffer(c, c->data->out[0], c->want, c->n, 2e-6, 2e-6);
}

static int check_median_of(bench_check *c, int radius)
{
    ref_median(c->in[0], c->data->size, (const int[3]){radius, radius, radius}, c->want);
    return check_buffer(c, c->data->out[0], c->want, c->n, 1e-30, 0);
}

int check_median(bench_check *c)
{
    return check_median_of(c, 1);
}

int check_median_wide(bench_check *c)
{
    return check_median_of(c, 2);
}

/* A coefficient that rounding takes across its threshold changes a voxel by BENCH_CUT/200 at most. */
int check_dct(bench_check *c)
{
    ref_dct_denoise(c->in[0], c->data->size, c->in[1], (double)BENCH_CUT, c->want);
    return check_buffer(c, c->data->out[0], c->want, c->n, (double)BENCH_CUT / 200, 1e-5);
}

int check_nlm_image(bench_check *c)
{
    const bench_data *d = c->data;
    ref_dct_denoise(c->in[0], d->size, c->in[1], (double)BENCH_CUT, c->want);
    for (size_t i = 0; i < c->n; i++)
        c->got[i] = (float)c->want[i];
    const ref_nlm ref = {.value = c->in[0],
                         .guide = c->got,
                         .sigma = c->in[1],
                         .size = {d->size[0], d->size[1], d->size[2]},
                         .search = BENCH_SEARCH,
                         .strength = (double)BENCH_STRENGTH};
    ref_nlm_means(&ref, c->more);
    return check_buffer(c, d->out[1], c->more, c->n, 3e-4, 1e-5);
}

int check_tv_image(bench_check *c)
{
    const bench_data *d = c->data;
    double *u = c->want, *ahead = u + c->n, *dual = c->more, tau = 1, sigma = 1. / 12;
    const ref_tv tv = {.size = {d->size[0], d->size[1], d->size[2]}, .channels = 1, .weight = {1, 1, 1},
                       .radius = (double)BENCH_TV_RADIUS, .data = c->in[0]};
    for (size_t i = 0; i < c->n; i++)
        u[i] = ahead[i] = (double)c->in[0][i];
    memset(dual, 0, 3 * c->n * sizeof *dual);
    for (int k = 0; k <= BENCH_TV_BEFORE; k++) {
        const double theta = 1 / sqrt(1 + 1.4 * tau);
        ref_tv_step(&tv, tau, sigma, theta, u, ahead, dual);
        tau *= theta;
        sigma /= theta;
    }
    return check_buffer(c, d->tv_channel.u[2], u, c->n, 2e-6, 2e-6);
}

int check_jacobian(bench_check *c)
{
    ref_jacobian(c->u, c->data->size, UNIT, false, c->want);
    return check_buffer(c, c->data->out[0], c->want, c->n, 2e-6, 1e-6);
}

/* ---- filters ---- */

static void filter(bench_check *c, const float *values, size_t components, double sigma)
{
    const double s[3] = {sigma, sigma, sigma};
    for (size_t i = 0; i < components * c->n; i++)
        c->more[i] = (double)values[i];
    for (size_t k = 0; k < components; k++)
        ref_gaussian(c->more + k * c->n, c->data->size, s, c->want + k * c->n);
}

static int check_filter(bench_check *c, double sigma)
{
    filter(c, c->u, 3, sigma);
    return check_field(c, c->data->field[0], c->want, 3e-6, 0);
}

static int check_filter_scalar(bench_check *c, double sigma)
{
    filter(c, c->in[0], 1, sigma);
    return check_buffer(c, c->data->out[0], c->want, c->n, 2e-6, 0);
}

int check_gaussian_scalar(bench_check *c)
{
    return check_filter_scalar(c, (double)1.7f);
}

int check_gaussian(bench_check *c)
{
    return check_filter(c, (double)1.7f);
}

int check_gaussian_short(bench_check *c)
{
    return check_filter(c, 1);
}

int check_gaussian_wide(bench_check *c)
{
    return check_filter(c, 5);
}

int check_smooth(bench_check *c)
{
    return check_filter(c, 1);
}

int check_smooth_scalar(bench_check *c)
{
    return check_filter_scalar(c, 1);
}

int check_smooth_longest(bench_check *c)
{
    int status = check_filter(c, 1);
    double longest = ref_smooth_longest(c->want, c->n, UNIT);
    return status < 0 ? status : check_buffer(c, c->data->state, &longest, 1, 2e-6, 0);
}

void check_recursive_lines(bench_check *c, size_t count, double sigma)
{
    const int *size = c->data->size;
    const size_t step[3] = {1, (size_t)size[0], (size_t)size[0] * (size_t)size[1]};
    double *line = c->more, *made = c->most;
    for (int a = 0; a < 3; a++)
        for (size_t v = 0; v < count; v++) {
            if (v % c->n / step[a] % (size_t)size[a])
                continue;
            for (size_t i = 0; i < (size_t)size[a]; i++)
                line[i] = c->want[v + i * step[a]];
            ref_recursive_line(line, size[a], sigma, made);
            for (size_t i = 0; i < (size_t)size[a]; i++)
                c->want[v + i * step[a]] = made[i];
        }
}

int check_recursive(bench_check *c)
{
    for (size_t i = 0; i < 3 * c->n; i++)
        c->want[i] = (double)c->u[i];
    check_recursive_lines(c, 3 * c->n, 5);
    return check_field(c, c->data->field[0], c->want, 2e-5, 0);
}

int check_unsharp(bench_check *c)
{
    filter(c, c->in[0], 1, (double)1.7f);
    for (size_t i = 0; i < c->n; i++)
        c->got[i] = (float)c->want[i];
    ref_unsharp(c->in[0], c->got, (int)c->n, 1, c->more);
    return check_buffer(c, c->data->out[0], c->more, c->n, 4e-6, 1e-6);
}

int check_downsample(bench_check *c)
{
    const int *n = c->data->size;
    const int size[3] = {(n[0] + 1) / 2, (n[1] + 1) / 2, (n[2] + 1) / 2};
    ref_downsample(c->in[0], n, c->want, size);
    return check_buffer(c, c->data->out[0], c->want, (size_t)size[0] * (size_t)size[1] * (size_t)size[2],
                        1e-4, 0);
}
