/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of operations on diffusion-weighted scans and tensors. */
#include "bench/rows/check.h"
#include "op/tensor/mppca.h"
#include "op/tensor/links.h"
#include "op/tensor/measures.h"
#include "bench/papers/op/tensor_tv.h"

enum { K = BENCH_VOLUMES };

/* ---- fits ---- */

static void scan_size(const bench_data *d, int size[3])
{
    size[0] = bench_scan(d);
    size[1] = size[2] = 1;
}

static int tensor_fit(bench_data *d, clv_tensor_method method, bool robust)
{
    return clv_tensor_fit(d->ctx, &(clv_tensor_fit_args){
        .design = d->design, .method = method, .robust = robust, .voxels = bench_scan(d), .dwi = d->dwi,
        .state = d->nine, .kind = d->field[1], .tensor = d->field[0], .s0 = d->out[0], .sigma = d->out[1],
        .noise = d->out[2]});
}

static int row_ols(bench_data *d)
{
    return tensor_fit(d, CLV_TENSOR_OLS, false);
}

static int row_wls(bench_data *d)
{
    return tensor_fit(d, CLV_TENSOR_WLS, false);
}

static int row_nlls(bench_data *d)
{
    return tensor_fit(d, CLV_TENSOR_NLLS, false);
}

static int row_robust(bench_data *d)
{
    return tensor_fit(d, CLV_TENSOR_WLS, true);
}

/* Windows that take seconds on neither; volumes of 7 voxels along each axis have room for 3. */
static void mppca_size(const bench_data *d, int size[3])
{
    static const int most[2][3] = {{20, 20, 12}, {32, 32, 16}};
    bool gpu = clvox_context_limits(d->ctx)->type != CLVOX_DEVICE_CPU;
    for (int a = 0; a < 3; a++) {
        size[a] = d->size[a] / 3 < most[gpu][a] ? d->size[a] / 3 : most[gpu][a];
        size[a] = size[a] < 3 ? 3 : size[a];
    }
}

static int row_mppca(bench_data *d)
{
    clv_mppca_args args = {.dwi = {.buffer = d->dwi, .components = K}, .radius = 2, .out = d->nine,
                           .sigma = d->out[0]};
    mppca_size(d, args.dwi.size);
    return clv_mppca(d->ctx, &args);
}

/* ---- fields of tensors ---- */

static int row_measures(bench_data *d)
{
    unsigned wanted = 1u << CLVOX_MEASURE_FA | 1u << CLVOX_MEASURE_MD | 1u << CLVOX_MEASURE_V1;
    const clv_image tensor = {d->tensor, {d->size[0], d->size[1], d->size[2]}, {1, 1, 1}, 6};
    return clv_tensor_measures(d->ctx, &tensor, NULL, 0, d->n, wanted, d->nine);
}

static int row_links(bench_data *d)
{
    const clv_image mask = {d->labels, {d->size[0], d->size[1], d->size[2]}, {1, 1, 1}, 1};
    return clv_tensor_links(d->ctx, &mask, d->nine);
}

static int begin_log(bench_data *d)
{
    return clv_buffer_copy(d->ctx, d->tensor, 0, d->nine, 0, 6 * (size_t)d->n * sizeof(float));
}

static int row_log(bench_data *d)
{
    return clv_tensor_log(d->ctx, d->nine, d->links, d->n, .02f, false);
}

static clv_tensor_tv_args tv_args(const bench_data *d, clv_tensor_coupling coupling)
{
    return (clv_tensor_tv_args){
        .data = {d->tensor_data, {d->size[0], d->size[1], d->size[2]}, {1, 1, 1}, 6},
        .links = d->links, .coupling = coupling, .lambda = 10, .eps = 1e-4f, .dt = 2e-4f, .floor = 1e-6f,
        .partial = d->partial, .state = d->state,
    };
}

static int row_tv_local(bench_data *d)
{
    const clv_tensor_tv_args args = tv_args(d, CLV_TENSOR_LOCAL);
    return clv_tensor_tv_step(d->ctx, &args, d->tensor, d->nine);
}

static int row_tv_sums(bench_data *d)
{
    const clv_tensor_tv_args args = tv_args(d, CLV_TENSOR_PAPER);
    return clv_tensor_tv_sums(d->ctx, &args, d->tensor);
}

static int row_tv_paper(bench_data *d)
{
    const clv_tensor_tv_args args = tv_args(d, CLV_TENSOR_PAPER);
    return clv_tensor_tv_iterate(d->ctx, &args, d->tensor, d->nine);
}

/* Half of the planes, whose dual has just the room of nine. No projection: what lies in
 * half of the planes' room are no positive tensors. */
static void half_size(const bench_data *d, int size[3])
{
    size[0] = d->size[0];
    size[1] = d->size[1];
    size[2] = d->size[2] / 2;
}

static int begin_pd_of(bench_data *d, bool paper)
{
    d->pd = (clv_tensor_pd){.data = {.buffer = d->tensor_data, .spacing = {1, 1, 1}, .components = 6},
                            .lambda = 4, .floor = -1, .paper = paper, .links = d->half_links,
                            .tensor = d->field[0], .ahead = d->field[1], .dual = d->nine,
                            .partial = d->partial, .state = d->state};
    half_size(d, d->pd.data.size);
    size_t bytes = 6 * sizeof(float) * clv_image_voxels(&d->pd.data);
    int status = clv_buffer_copy(d->ctx, d->tensor_data, 0, d->field[0], 0, bytes);
    return status < 0 ? status : clv_tensor_pd_start(d->ctx, &d->pd, false);
}

static int begin_pd(bench_data *d)
{
    return begin_pd_of(d, false);
}

static int begin_pd_paper(bench_data *d)
{
    return begin_pd_of(d, true);
}

/* Always with the first step's lengths: the later ones go to 0. */
static int row_pd(bench_data *d)
{
    clv_tensor_pd pd = d->pd;
    return clv_tensor_pd_step(d->ctx, &pd);
}

#define SCAN (4. * K + 4 * 9)
/* At least 0.42 of the voxels of the blocks above are the middle of a whole window. */
#define PCA (.42 * (K * (K + 1.) * 125 + 4. / 3 * K * K * K))
/* Operations of fits by the arithmetic that each method cannot do without, for K volumes and seven
 * parameters: a product with the pseudoinverse and the residuals, 28 K; weighted normal equations of
 * 22 different sums, 72 K each time; ten times for the nonlinear one; nine times for the robust one,
 * with eight for a weight, behind as many medians: residuals, 14, and five rounds of seven bins, 70; of PCA of K volumes in windows
 * of N: the covariance, K (K + 1) N, and its tridiagonal form, 4/3 K^3. */
const bench_row bench_rows_tensor[] = {
    {"tensor fit, plain", "tensor_fit_start", SCAN, 28. * K, row_ols, check_fit_ols, NULL, scan_size},
    {"tensor fit, weighted", "tensor_fit_step", SCAN, (28. + 72) * K, row_wls, check_fit_wls, NULL,
     scan_size},
    {"tensor fit, nonlinear", "tensor_fit_finish", SCAN, (28. + 72 + 10 * 72) * K, row_nlls, check_fit_nlls,
     NULL, scan_size},
    {"tensor fit, robust", "tensor_fit_scale", SCAN, (28. + 72 + 9 * (80 + 84)) * K, row_robust, check_fit_robust, NULL, scan_size},
    {"mppca 64 volumes", "mppca_window", 8. * K + 4, PCA, row_mppca,
     check_mppca, NULL, mppca_size},
    {"tensor measures", "tensor_measures", 44, 0, row_measures, check_measures, NULL, NULL},
    {"tensor links", "tensor_links", 5, 0, row_links, check_links, NULL, NULL},
    {"tensor log", "tensor_log", 49, 0, row_log, check_log, begin_log, NULL},
    {"tensor tv local", "tensor_tv_step", 73, 0, row_tv_local, check_tv_local, NULL, NULL},
    {"tensor tv paper", "tensor_tv_step", 98, 0, row_tv_paper, check_tv_paper, NULL, NULL},
    {"tensor tv sums", "tensor_tv_sums", 25, 0, row_tv_sums, check_tv_sums, NULL, NULL},
    {"tensor primal-dual", "tensor_pd_dual", 338, 0, row_pd, check_pd, begin_pd, half_size},
    {"tensor primal-dual, primal", "tensor_pd_primal", 338, 0, row_pd, check_pd, begin_pd, half_size},
    {"tensor primal-dual, paper", "tensor_pd_sums", 364, 0, row_pd, check_pd_paper, begin_pd_paper,
     half_size},
    {NULL, NULL, 0, 0, NULL, NULL, NULL, NULL},
};
