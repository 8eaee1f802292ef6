/* SPDX-License-Identifier: Apache-2.0 */
/* Tolerances are those of the operations' tests. */
#include <math.h>
#include <string.h>

#include "bench/rows/check.h"
#include "op/tensor/links.h"
#include "bench/papers/op/tensor_tv.h"
#include "ref/tensor/mppca.h"
#include "ref/tensor/fit.h"
#include "ref/tensor/links.h"
#include "ref/tensor/measures.h"
#include "ref/tensor/primal_dual.h"
#include "bench/papers/ref/tensor_tv.h"

/* ---- fits ---- */

/* Whether a fitted voxel is as near to the reference's as tolerance says; others of a robust fit are
 * those where a residual lies at the cut. */
static int check_fit(bench_check *c, clv_tensor_method method, bool robust)
{
    bench_data *d = c->data;
    size_t m = (size_t)bench_scan(d);
    double b[BENCH_VOLUMES], direction[BENCH_VOLUMES][3], tolerance = robust ? 5e-3 : 2e-4;
    float *tensor = c->got, *s0 = tensor + 6 * m, *noise = s0 + m, signal[BENCH_VOLUMES];
    int32_t *kind = (int32_t *)(noise + m);
    size_t others = 0;
    int status = CLVOX_OK;
    CLV_TRY(clv_buffer_read(d->ctx, d->field[0], 0, tensor, 6 * m * sizeof(float)));
    CLV_TRY(clv_buffer_read(d->ctx, d->out[0], 0, s0, m * sizeof(float)));
    CLV_TRY(clv_buffer_read(d->ctx, d->out[2], 0, noise, m * sizeof(float)));
    CLV_TRY(clv_buffer_read(d->ctx, d->field[1], 0, kind, m * sizeof(float)));
    bench_scheme(b, direction);
    for (size_t i = 0; i < m; i++) {
        ref_tensor want;
        for (size_t k = 0; k < BENCH_VOLUMES; k++)
            signal[k] = c->dwi[k * m + i];
        ref_tensor_fit(signal, b, (const double(*)[3])direction, BENCH_VOLUMES, method, robust, &want);
        bool same =
            fabs((double)s0[i] - want.s0) <= tolerance * (want.s0 + 1) &&
            fabs((double)noise[i] - want.noise) <= 10 * tolerance * (want.noise + .01 * want.s0 + 1) &&
            (kind[i] & CLV_TENSOR_FITTED) == (want.kind & CLV_TENSOR_FITTED);
        for (size_t k = 0; k < 6; k++)
            same = same && fabs((double)tensor[k * m + i] - want.tensor[k]) <= tolerance * 1e-3;
        if (!same && robust && others++ < 1 + m / 50)
            continue;
        if (!same) {
            status = bench_wrong(c->data->ctx, c->label, "voxel %zu has S0 %g and Dxx %g, not %g and %g", i,
                                 (double)s0[i], (double)tensor[i], want.s0, want.tensor[0]);
            goto end;
        }
    }
end:
    return status;
}

int check_fit_ols(bench_check *c)
{
    return check_fit(c, CLV_TENSOR_OLS, false);
}

int check_fit_wls(bench_check *c)
{
    return check_fit(c, CLV_TENSOR_WLS, false);
}

int check_fit_nlls(bench_check *c)
{
    return check_fit(c, CLV_TENSOR_NLLS, false);
}

int check_fit_robust(bench_check *c)
{
    return check_fit(c, CLV_TENSOR_WLS, true);
}

int check_mppca(bench_check *c)
{
    static const double noise = 30; /* of the scan */
    const int size[3] = {c->data->size[0] / 3, c->data->size[1] / 3, c->data->size[2] / 3};
    size_t voxels = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    int status = CLVOX_OK;
    const clv_mppca_args args = {.dwi = {.size = {size[0], size[1], size[2]}, .components = BENCH_VOLUMES},
                                 .radius = 2};
    ref_mppca(&args, c->dwi, NULL, c->want, c->more);
    CLV_TRY(check_buffer(c, c->data->nine, c->want, BENCH_VOLUMES * voxels, 0.02 * noise, 1e-5));
    CLV_TRY(check_buffer(c, c->data->out[0], c->more, voxels, 1e-3 * noise, 1e-3));
end:
    return status;
}

/* ---- fields of tensors ---- */

int check_measures(bench_check *c)
{
    size_t n = c->n;
    int status = clv_buffer_read(c->data->ctx, c->data->nine, 0, c->got, 5 * n * sizeof(float));
    for (size_t i = 0; i < n && status >= 0; i++) {
        double d[6], want[11];
        for (size_t k = 0; k < 6; k++)
            d[k] = (double)c->tensor[k * n + i];
        const double v[3] = {(double)c->got[2 * n + i], (double)c->got[3 * n + i], (double)c->got[4 * n + i]};
        double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        ref_tensor_measures(d, want);
        if (!(fabs((double)c->got[i] - want[0]) <= 2e-6 && fabs((double)c->got[n + i] - want[1]) <= 2e-6 &&
              ref_tensor_residual(d, want[8], v) <= 1e-5 && fabs(length - 1) <= 2e-6))
            status = bench_wrong(c->data->ctx, c->label,
                                 "voxel %zu has FA %g and MD %g, not %g and %g, or another axis", i,
                                 (double)c->got[i], (double)c->got[n + i], want[0], want[1]);
    }
    return status;
}

int check_links(bench_check *c)
{
    unsigned char *want = (unsigned char *)c->more, *got = (unsigned char *)c->got;
    int status = clv_buffer_read(c->data->ctx, c->data->nine, 0, got, c->n);
    ref_tensor_links(c->labels, c->data->size, want);
    for (size_t i = 0; i < c->n && status >= 0; i++)
        status = check_number(c, got[i], want[i], 0);
    return status;
}

/* The planes of nine entries a voxel. */
static void pack(const double *nine, size_t n, double *planes)
{
    static const size_t entry[6] = {0, 1, 2, 4, 5, 8};
    for (size_t k = 0; k < 6; k++)
        for (size_t i = 0; i < n; i++)
            planes[k * n + i] = nine[9 * i + entry[k]];
}

int check_log(bench_check *c)
{
    ref_tensor_unpack(c->tensor, (int)c->n, c->more);
    for (size_t i = 0; i < c->n; i++)
        ref_tensor_log(c->more + 9 * i, .02, false);
    pack(c->more, c->n, c->want);
    return check_buffer(c, c->data->nine, c->want, 6 * c->n, 2e-5, 0);
}

static ref_tensor_tv model_of(bench_check *c, clv_tensor_coupling coupling)
{
    const int *n = c->data->size;
    for (size_t i = 0; i < 6 * c->n; i++)
        c->want[i] = (double)c->tensor[i];
    return (ref_tensor_tv){.size = {n[0], n[1], n[2]},
                           .w = {1, 1, 1},
                           .data = c->tensor_data,
                           .coupling = coupling,
                           .lambda = 10,
                           .eps = (double)1e-4f,
                           .dt = (double)2e-4f,
                           .floor = (double)1e-6f};
}

static int check_tv(bench_check *c, clv_tensor_coupling coupling)
{
    const ref_tensor_tv model = model_of(c, coupling);
    ref_tensor_step(&model, c->want);
    return check_buffer(c, c->data->nine, c->want, 6 * c->n, 2e-5, 0);
}

int check_tv_local(bench_check *c)
{
    return check_tv(c, CLV_TENSOR_LOCAL);
}

int check_tv_paper(bench_check *c)
{
    return check_tv(c, CLV_TENSOR_PAPER);
}

int check_tv_sums(bench_check *c)
{
    const ref_tensor_tv model = model_of(c, CLV_TENSOR_PAPER);
    double sums[6];
    ref_tensor_energy(&model, c->want, sums);
    return check_buffer(c, c->data->state, sums, 6, 0, 2e-5);
}

/* One iteration from the data, without dual. */
static int check_step(bench_check *c, bool paper)
{
    const int *size = c->data->pd.data.size;
    size_t m = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    double *data = c->want, *d = data + 9 * m, *ahead = d + 9 * m, *planes = ahead + 9 * m, *dual = c->more;
    double norm = 2 * sqrt(3), tau = 4 / norm, sigma = 1 / (4 * norm), radius[9];
    ref_tensor_unpack(c->tensor_data, (int)m, data);
    memcpy(d, data, 9 * m * sizeof *d);
    memcpy(ahead, data, 9 * m * sizeof *d);
    memset(dual, 0, 27 * m * sizeof *d);
    const ref_tensor_pd model = {.size = {size[0], size[1], size[2]}, .weight = {1, 1, 1}, .lambda = 4,
                                 .floor = -1, .paper = paper, .data = data};
    ref_tensor_radius(&model, ahead, radius);
    ref_tensor_pd_step(&model, tau, sigma, 1 / sqrt(1 + 2 * .7 * model.lambda * tau), radius, d, ahead, dual);
    pack(d, m, planes);
    return check_buffer(c, c->data->field[0], planes, 6 * m, 2e-5, 0);
}

int check_pd(bench_check *c)
{
    return check_step(c, false);
}

int check_pd_paper(bench_check *c)
{
    return check_step(c, true);
}
