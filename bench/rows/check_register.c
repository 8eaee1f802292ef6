/* SPDX-License-Identifier: Apache-2.0 */
/* Tolerances are those of the operations' tests. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/rows/check.h"
#include "op/fluid/fluid_step.h"
#include "op/field/velocity_sum.h"
#include "op/image/weighted_sum.h"
#include "op/match/lncc.h"
#include "ref/field/compositive_step.h"
#include "ref/field/compose.h"
#include "ref/field/divergence.h"
#include "ref/field/velocity_sum.h"
#include "ref/image/weighted_sum.h"
#include "ref/fluid/fluid_step.h"
#include "ref/fluid/force.h"
#include "ref/image/gaussian.h"
#include "ref/field/inverse.h"
#include "ref/match/metric.h"
#include "ref/match/affine_metric.h"
#include "ref/match/lncc.h"
#include "ref/match/mind.h"
#include "ref/match/metric_force.h"
#include "ref/field/warp.h"

static const float UNIT[3] = {1, 1, 1};
static const double ONES[3] = {1, 1, 1};
static const clv_map SAME = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}},
                             {{-1, 0, 0}, {0, -1, 0}, {0, 0, -1}}};

/* A reference that is unsure everywhere would let anything pass. */
static int check_sure(bench_check *c)
{
    size_t unsure = 0;
    for (size_t i = 0; i < c->n; i++)
        unsure += c->unsure[i] != 0;
    return unsure <= c->n / 50 ? CLVOX_OK
                               : bench_wrong(c->data->ctx, c->label, "%zu voxels lie on edges", unsure);
}

static int check_warped(bench_check *c, const float *in, int kind, double tolerance)
{
    int status = CLVOX_OK;
    ref_warp(in, c->data->size, &SAME, c->u, kind, 0, 1e-4, c->want, c->unsure, c->data->size);
    CLV_TRY(check_sure(c));
    CLV_TRY(check_buffer(c, c->data->out[0], c->want, c->n, tolerance, 0));
end:
    return status;
}

int check_warp(bench_check *c)
{
    return check_warped(c, c->in[0], REF_LINEAR, 1e-4);
}

int check_warp_nearest(bench_check *c)
{
    return check_warped(c, c->in[0], REF_NEAREST, 1e-6);
}

int check_warp_cubic(bench_check *c)
{
    return check_warped(c, c->in[0], REF_CUBIC, 2e-4);
}

int check_warp_label(bench_check *c)
{
    return check_warped(c, c->labels, REF_LABEL, 1e-6);
}

int check_compose(bench_check *c)
{
    static const float one[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    int status = CLVOX_OK;
    ref_compose(c->u, 1, c->v, c->data->size, &SAME, one, false, 1e-4, c->want, c->unsure, c->data->size);
    CLV_TRY(check_sure(c));
    CLV_TRY(check_field(c, c->data->field[0], c->want, 2e-4, 1e-6));
end:
    return status;
}

int check_compositive_step(bench_check *c)
{
    int status = CLVOX_OK;
    ref_compositive_step(c->u, c->v, c->data->size, UNIT, 1.5, 1.5, 0, 2e-5, c->want, c->unsure);
    CLV_TRY(check_sure(c));
    CLV_TRY(check_field(c, c->data->field[0], c->want, 5e-5, 2e-6));
end:
    return status;
}

/* u and v on the device are in its layout, as read back. */
int check_velocity_sum(bench_check *c)
{
    int status = CLVOX_OK;
    const size_t sums = 3 * (size_t)c->n;
    float *u = c->got, *v = c->got + sums;
    int32_t *got = malloc(sums * sizeof *got);
    double wrong = 0;
    if (!got)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(clv_buffer_read(c->data->ctx, c->data->u, 0, u, sums * sizeof *u));
    CLV_TRY(clv_buffer_read(c->data->ctx, c->data->v, 0, v, sums * sizeof *v));
    CLV_TRY(clv_buffer_read(c->data->ctx, c->data->field[0], 0, got, sums * sizeof *got));
    for (size_t i = 0; i < 2 * sums; i++)
        c->more[i] = (double)c->got[i];
    for (size_t i = 0; i < sums; i++)
        c->want[i] = 0;
    ref_velocity_sum(c->more, c->more + sums, (double)BENCH_WEIGHT, (double)BENCH_UNIT, sums, c->want);
    for (size_t i = 0; i < sums; i++)
        wrong = fmax(wrong, fabs((double)got[i] - c->want[i]));
    status = check_number(c, wrong / (double)BENCH_UNIT, 0, 1e-6 * check_largest(c->more, 2 * sums));
end:
    free(got);
    return status;
}

int check_weighted_sum(bench_check *c)
{
    int status = CLVOX_OK;
    const size_t n = c->n;
    int32_t *got = malloc(2 * n * sizeof *got);
    double wrong = 0, light = 0;
    if (!got)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(clv_buffer_read(c->data->ctx, c->data->field[0], 0, got, 2 * n * sizeof *got));
    for (size_t i = 0; i < n; i++)
        c->more[i] = (double)c->in[0][i];
    for (size_t i = 0; i < 2 * n; i++)
        c->want[i] = 0;
    ref_weighted_sum(c->more, (double)BENCH_WEIGHT, n, c->want);
    for (size_t i = 0; i < n; i++) {
        wrong = fmax(wrong, fabs((double)got[2 * i] / (double)BENCH_UNITS.value - c->want[2 * i]));
        light = fmax(light, fabs((double)got[2 * i + 1] / (double)BENCH_UNITS.weight - c->want[2 * i + 1]));
    }
    CLV_TRY(check_number(c, wrong, 0, 1e-6));
    status = check_number(c, light, 0, 1e-6);
end:
    free(got);
    return status;
}

int check_divergence(bench_check *c)
{
    for (size_t i = 0; i < 3 * c->n; i++)
        c->more[i] = (double)c->u[i];
    ref_divergence(c->more, c->data->size, ONES, c->want);
    return check_buffer(c, c->data->out[0], c->want, c->n, 1e-5, 1e-5);
}

int check_add_gradient(bench_check *c)
{
    const double weight[3] = {(double)BENCH_GRADIENT[0], (double)BENCH_GRADIENT[1],
                              (double)BENCH_GRADIENT[2]};
    for (size_t i = 0; i < c->n; i++)
        c->more[i] = (double)c->in[0][i];
    for (size_t i = 0; i < 3 * c->n; i++)
        c->want[i] = (double)c->field[i];
    ref_add_gradient(c->more, weight, c->data->size, ONES, c->want);
    return check_field(c, c->data->field[0], c->want, 1e-5, 1e-5);
}

int check_metric_force(bench_check *c)
{
    int status = CLVOX_OK;
    ref_metric_force(c->in[0], c->data->size, &SAME, c->u, c->in[1], 1, 0, NULL, 2e-5, c->want,
                     c->unsure, c->data->size);
    CLV_TRY(check_sure(c));
    CLV_TRY(check_field(c, c->data->field[0], c->want, 1e-4, 1e-6));
end:
    return status;
}

int check_inverse(bench_check *c)
{
    double d[3];
    int possible = 0, status = check_read_field(c, c->data->field[0], c->got);
    for (int i = 0; i < (int)c->n && status >= 0; i++) {
        if (!(ref_inverse_at(c->u, c->data->size, UNIT, i, d) < 1e-6))
            continue;
        possible++;
        double left = ref_inverse_left(c->u, c->got, c->data->size, UNIT, i);
        if (!(left < 2e-3))
            status = bench_wrong(c->data->ctx, c->label, "%g voxels are left at voxel %d", left, i);
    }
    return status < 0 || 2 * possible > (int)c->n
               ? status
               : bench_wrong(c->data->ctx, c->label, "%d voxels have an inverse", possible);
}

/* ---- linear registration ---- */

/* In c->most: room for 7 numbers a sample. */
static ref_affine_sample *samples_of(bench_check *c, int *count)
{
    static const double same[3][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}, centre[3] = {0, 0, 0};
    ref_affine_sample *samples = (ref_affine_sample *)c->most;
    *count = ref_affine_samples(c->in[0], c->data->size, c->in[1], c->data->size, (const int[2]){1, 1},
                                centre, same, NULL, samples);
    return samples;
}

int check_linear_histogram(bench_check *c)
{
    enum { BINS = 32, ENTRIES = BINS * BINS, UNITS = 16 };
    uint32_t got[ENTRIES];
    double off = 0;
    int count;
    const ref_affine_sample *samples = samples_of(c, &count);
    int status = clv_buffer_read(c->data->ctx, c->data->nine, 0, got, sizeof got);
    ref_affine_histogram(samples, count, BINS, c->want);
    for (int i = 0; i < ENTRIES; i++)
        off += fabs((double)got[i] / UNITS - c->want[i]);
    /* Each of four splines is rounded to a sixteenth. */
    if (status >= 0 && !(off <= 4 * .5 / UNITS * count))
        status = bench_wrong(c->data->ctx, c->label, "counts are off by %g of %d samples", off, count);
    return status;
}

int check_linear_sums(bench_check *c)
{
    float got[CLV_AFFINE_MOST_SUMS];
    double want[CLV_AFFINE_MOST_SUMS], size[CLV_AFFINE_MOST_SUMS] = {0}, one[CLV_AFFINE_MOST_SUMS];
    int count, sums = clv_affine_sum_count(CLV_AFFINE_PAIR);
    const ref_affine_sample *samples = samples_of(c, &count);
    int status = clv_buffer_read(c->data->ctx, c->data->sums, 0, got, sizeof got);
    ref_affine_sums(samples, count, CLV_AFFINE_PAIR, 8, NULL, NULL, want);
    for (int i = 0; i < count; i++) {
        ref_affine_sums(samples + i, 1, CLV_AFFINE_PAIR, 8, NULL, NULL, one);
        for (int j = 0; j < sums; j++)
            size[j] += fabs(one[j]);
    }
    for (int j = 0; j < sums && status >= 0; j++)
        status = check_number(c, (double)got[j], want[j], 1e-4 * size[j] + 1e-5);
    return status;
}

/* ---- the unbiased model ---- */

/* Fills c->more with u in double. */
static ref_energy_problem problem_of(bench_check *c, double lambda)
{
    const int *n = c->data->size;
    ref_energy_problem p = {.moving = c->in[0], .moving_size = {n[0], n[1], n[2]}, .fixed = c->in[1],
                            .size = {n[0], n[1], n[2]}, .spacing = {1, 1, 1}, .lambda = lambda};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 4; j++)
            p.linear[i][j] = (double)SAME.linear[i][j];
        for (int j = 0; j < 3; j++)
            p.shift[i][j] = (double)SAME.shift[i][j];
    }
    for (size_t i = 0; i < 3 * c->n; i++)
        c->more[i] = (double)c->u[i];
    return p;
}

static int check_forces(bench_check *c, double lambda)
{
    const ref_energy_problem p = problem_of(c, lambda);
    ref_force_gradient(&p, c->more, c->want);
    return check_field(c, c->data->field[0], c->want, 2e-5 * check_largest(c->want, 3 * c->n), 0);
}

int bench_check_force(bench_check *c)
{
    return check_forces(c, (double).01f);
}

int check_force_image(bench_check *c)
{
    return check_forces(c, 0);
}

int check_energy(bench_check *c)
{
    const ref_energy_problem p = problem_of(c, (double).01f);
    double want[4];
    ref_energy(&p, c->more, want);
    return check_buffer(c, c->data->state, want, 4, 1e-6 * (double)c->n, 5e-6);
}

int check_rate(bench_check *c)
{
    double bounds[2];
    int status = CLVOX_OK;
    for (size_t i = 0; i < 3 * c->n; i++) {
        c->more[i] = (double)c->u[i];
        c->most[i] = (double)c->v[i];
    }
    ref_fluid_rate(c->more, c->most, c->data->size, ONES, c->want, bounds);
    CLV_TRY(check_buffer(c, c->data->state, bounds, 2, 1e-30, 1e-4));
    CLV_TRY(check_field(c, c->data->field[0], c->want, 1e-5, 0));
end:
    return status;
}

int check_update(bench_check *c)
{
    for (size_t i = 0; i < 3 * c->n; i++)
        c->want[i] = (double)c->field[i] + 1e-3 / 1.5 * (double)c->v[i];
    return check_field(c, c->data->field[1], c->want, 1e-6, 1e-6);
}

int check_iteration(bench_check *c)
{
    static const double sigma[3] = {(double)1.7f, (double)1.7f, (double)1.7f};
    const ref_energy_problem p = problem_of(c, (double).01f);
    double bounds[2];
    int status = CLVOX_OK;
    ref_force_gradient(&p, c->more, c->want);
    for (size_t k = 0; k < 3; k++)
        ref_gaussian(c->want + k * c->n, c->data->size, sigma, c->most + k * c->n);
    ref_fluid_rate(c->more, c->most, c->data->size, ONES, c->want, bounds);
    CLV_TRY(check_buffer(c, c->data->state, bounds, 2, 1e-30, 2e-4));
    CLV_TRY(check_field(c, c->data->field[0], c->want, 2e-5 * check_largest(c->want, 3 * c->n), 0));
end:
    return status;
}

/* ---- metrics ---- */

/* tolerance: of S over N and of derivatives over the largest one. */
static int check_metric(bench_check *c, clv_metric_kind kind, double tolerance)
{
    enum { BINS = 32 };
    int status = CLVOX_OK;
    double *fixed = c->more, *moving = c->more + c->n;
    size_t valid;
    for (size_t i = 0; i < c->n; i++) {
        fixed[i] = (double)c->in[0][i];
        moving[i] = (double)c->in[1][i];
    }
    double want[2] = {ref_metric(kind, fixed, moving, c->n, BINS, &valid), (double)c->n};
    CLV_TRY(check_buffer(c, c->data->state, want, 2, tolerance * (double)c->n, 0));
    ref_metric_derivative(kind, fixed, moving, c->n, BINS, c->want);
    CLV_TRY(check_buffer(c, c->data->out[0], c->want, c->n, tolerance * check_largest(c->want, c->n), 0));
    ref_metric_derivative(kind, moving, fixed, c->n, BINS, c->want);
    CLV_TRY(check_buffer(c, c->data->out[1], c->want, c->n, tolerance * check_largest(c->want, c->n), 0));
end:
    return status;
}

int check_ssd(bench_check *c)
{
    return check_metric(c, CLV_METRIC_SSD, 1e-6);
}

int check_ncc(bench_check *c)
{
    return check_metric(c, CLV_METRIC_NCC, 1e-5);
}

int check_mi(bench_check *c)
{
    return check_metric(c, CLV_METRIC_MI, 5e-4);
}

/* Two images of the row as the references take them; their derivatives. */
typedef struct compared {
    double *fixed, *moving, *derivative[2];
} compared;

static compared compared_of(bench_check *c)
{
    const compared two = {c->more, c->more + c->n, {c->want, c->want + c->n}};
    for (size_t i = 0; i < c->n; i++) {
        two.fixed[i] = (double)c->in[0][i];
        two.moving[i] = (double)c->in[1][i];
    }
    return two;
}

/* want: S and the number of voxels. */
static int check_derivatives(bench_check *c, const compared *two, bool both, double want[2])
{
    static const double tolerance = 3e-5;
    int status = CLVOX_OK;
    for (int k = 0; k <= both; k++) {
        double largest = check_largest(two->derivative[k], c->n);
        CLV_TRY(check_buffer(c, c->data->out[k], two->derivative[k], c->n, tolerance * largest, 0));
    }
    CLV_TRY(check_buffer(c, c->data->state, want, 2, tolerance * fabs(want[0]), 0));
end:
    return status;
}

static int check_windows(bench_check *c, int radius, bool local, bool both)
{
    double want[2];
    const compared two = compared_of(c);
    ref_lncc(two.fixed, two.moving, c->data->size, radius, (double)1e-4f, local, two.derivative[0],
             two.derivative[1], &want[0], &want[1]);
    return check_derivatives(c, &two, both, want);
}

static int check_mind(bench_check *c, int radius)
{
    double want[2];
    const compared two = compared_of(c);
    ref_mind(two.fixed, two.moving, c->data->size, radius, (double)1e-4f, two.derivative[0],
             two.derivative[1], &want[0], &want[1]);
    return check_derivatives(c, &two, true, want);
}

int check_mind_points(bench_check *c)
{
    return check_mind(c, 0);
}

int check_mind_patches(bench_check *c)
{
    return check_mind(c, 1);
}

int check_lncc(bench_check *c)
{
    return check_windows(c, 2, false, false);
}

int check_lncc_4(bench_check *c)
{
    return check_windows(c, 4, false, false);
}

int check_lncc_7(bench_check *c)
{
    return check_windows(c, 7, false, false);
}

int check_lncc_both(bench_check *c)
{
    return check_windows(c, 2, false, true);
}

int check_lncc_local(bench_check *c)
{
    return check_windows(c, 2, true, false);
}
