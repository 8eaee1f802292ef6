/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "bench.h"
#include "op/advance.h"
#include "op/blend.h"
#include "op/compose.h"
#include "op/copy.h"
#include "op/energy.h"
#include "op/fluid.h"
#include "op/force.h"
#include "op/gaussian.h"
#include "op/gradient.h"
#include "op/histogram.h"
#include "op/inverse.h"
#include "op/jacobian.h"
#include "op/level.h"
#include "op/likeness.h"
#include "op/lncc.h"
#include "op/linear.h"
#include "op/moments.h"
#include "op/nlm.h"
#include "op/pointwise.h"
#include "op/push.h"
#include "op/redistance.h"
#include "op/reduce.h"
#include "op/smooth.h"
#include "op/statistics.h"
#include "op/sobel.h"
#include "op/tensor_measures.h"
#include "op/tensor_pd.h"
#include "op/tensor_tv.h"
#include "op/unsharp.h"
#include "op/warp.h"

static const float UNIT[3] = {1, 1, 1};
static const clv_map SAME = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}},
                             {{-1, 0, 0}, {0, -1, 0}, {0, 0, -1}}};

static int row_copy(bench_data *d)
{
    return clv_copy(d->ctx, d->scalar[0], d->scalar[1], d->n / 4 * 4);
}

static int row_pointwise(bench_data *d)
{
    return clv_pointwise(d->ctx, CLV_POINTWISE_LINEAR, d->scalar[2], d->n, d->scalar[0], d->scalar[1], NULL,
                         (float[4]){.5f, .5f, 0, 0});
}

static int row_blend(bench_data *d)
{
    return clv_blend(d->ctx, d->field[1], d->field[2], d->scalar[0], d->n);
}

static int row_sum(bench_data *d)
{
    return clv_reduce(d->ctx, CLV_REDUCE_SUM, d->scalar[0], NULL, NULL, 0, d->n, d->partial, d->state, 0);
}

static int row_statistics(bench_data *d)
{
    clv_statistics all;
    return clv_statistics_lengths(d->ctx, d->field[0], (const float[3][3]){{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
                                  NULL, NULL, d->size, UNIT, d->partial, &all);
}

static int row_dot(bench_data *d)
{
    return clv_reduce(d->ctx, CLV_REDUCE_DOT, d->scalar[0], d->scalar[1], NULL, 0, d->n, d->partial,
                      d->state, 0);
}

static int row_histogram(bench_data *d)
{
    return clv_histogram(d->ctx, d->scalar[0], NULL, d->n, 0, 1, 256, d->nine);
}

static int row_moments(bench_data *d)
{
    double moments[10];
    return clv_moments(d->ctx, d->scalar[0], d->size, moments);
}

/* One map, all voxels. The map lies in a volume that no other row uses. */
static int linear_pair(bench_data *d, clv_linear_pair *pair)
{
    static const float same[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    const int *n = d->size;
    *pair = (clv_linear_pair){.fixed = d->scalar[0], .moving = d->scalar[1], .size = {n[0], n[1], n[2]},
                              .moving_size = {n[0], n[1], n[2]}, .step = {1, 1}, .maps = d->scalar[5],
                              .count = 1};
    return clv_buffer_write(d->ctx, d->scalar[5], 0, same, sizeof same);
}

static int row_linear_histogram(bench_data *d)
{
    clv_linear_pair pair;
    int status = linear_pair(d, &pair);
    return status < 0 ? status : clv_linear_histogram(d->ctx, &pair, 32, 16, d->nine);
}

static int row_linear_sums(bench_data *d)
{
    clv_linear_pair pair;
    int status = linear_pair(d, &pair);
    return status < 0 ? status
                      : clv_linear_sums(d->ctx, &pair, CLV_LINEAR_PAIR, 8, NULL, NULL, d->nine, d->scalar[4]);
}

static int row_gradient(bench_data *d)
{
    return clv_gradient(d->ctx, d->scalar[0], d->size, UNIT, d->field[1]);
}

static int row_sobel(bench_data *d)
{
    return clv_sobel(d->ctx, d->scalar[0], d->size, UNIT, d->scalar[1]);
}

static int row_inverse(bench_data *d)
{
    return clv_inverse(d->ctx, d->field[0], d->size, UNIT, 40, d->field[1]);
}

static int row_jacobian(bench_data *d)
{
    return clv_jacobian(d->ctx, d->field[0], d->size, UNIT, -1, false, d->scalar[1]);
}

static int warp(bench_data *d, clv_interpolation how)
{
    return clv_warp(d->ctx, d->scalar[0], d->size, &SAME, d->field[0], how, 0, d->scalar[1], d->size);
}

static int row_warp(bench_data *d)
{
    return warp(d, CLV_LINEAR);
}

static int row_warp_nearest(bench_data *d)
{
    return warp(d, CLV_NEAREST);
}

static int row_warp_cubic(bench_data *d)
{
    return warp(d, CLV_CUBIC);
}

static int row_warp_label(bench_data *d)
{
    return clv_warp_label(d->ctx, d->scalar[0], d->size, &SAME, d->field[0], 0, d->scalar[1], d->size);
}

static int row_compose(bench_data *d)
{
    static const float one[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    return clv_compose(d->ctx, d->field[0], 1, d->field[1], d->size, &SAME, one, d->field[2], d->size);
}

static int row_advance(bench_data *d)
{
    return clv_advance(d->ctx, d->field[1], d->field[0], d->size, UNIT, 1.5f, 0, d->state, BENCH_LONGEST,
                       d->field[2]);
}

static int row_push(bench_data *d)
{
    return clv_push(d->ctx, d->scalar[0], d->size, &SAME, d->field[0], d->scalar[1], 1, 0, d->field[1],
                    d->size);
}

static int gaussian(bench_data *d, bool vectors, float sigma, clv_gaussian_method method)
{
    const float s[3] = {sigma, sigma, sigma};
    return clv_gaussian(d->ctx, vectors ? d->field[0] : d->scalar[0], d->size, vectors, s, method,
                        vectors ? d->field[1] : d->scalar[1], vectors ? d->field[2] : d->scalar[2]);
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

static int row_smooth(bench_data *d)
{
    return clv_smooth(d->ctx, d->field[0], d->size, true, UNIT, d->field[2], NULL, NULL, 0, NULL);
}

static int row_smooth_scalar(bench_data *d)
{
    return clv_smooth(d->ctx, d->scalar[0], d->size, false, UNIT, d->scalar[2], NULL, NULL, 0, NULL);
}

static int row_smooth_longest(bench_data *d)
{
    return clv_smooth(d->ctx, d->field[0], d->size, true, UNIT, d->field[2], d->partial, d->state, 0, UNIT);
}

static int row_longest(bench_data *d)
{
    return clv_reduce_longest(d->ctx, d->field[0], UNIT, d->n, d->partial, d->state, 0);
}

static int row_gaussian_wide(bench_data *d)
{
    return gaussian(d, true, 5, CLV_GAUSSIAN_SEPARABLE);
}

static int row_recursive(bench_data *d)
{
    return gaussian(d, true, 5, CLV_GAUSSIAN_RECURSIVE);
}

static int row_unsharp(bench_data *d)
{
    return clv_unsharp(d->ctx, d->scalar[0], d->size, (const float[3]){1.7f, 1.7f, 1.7f}, 1, d->scalar[1],
                       d->scalar[2]);
}

/* A band of 8 voxels. */
static int row_nlm_band(bench_data *d)
{
    int count, status = clv_nlm_band_count(d->ctx, d->level, d->size, 2, d->nine, &count);
    return status < 0 ? status
                      : clv_nlm_band_list(d->ctx, d->level, d->size, 2, d->nine, d->scalar[4], d->scalar[3]);
}

static int row_nlm_volume(bench_data *d)
{
    double cells;
    return clv_nlm_volume(d->ctx, d->level, d->size, 0, d->nine, &cells);
}

static int row_redistance(bench_data *d)
{
    return clv_redistance(d->ctx, d->level, d->size, UNIT, 8, d->scalar[1], d->nine);
}

static int row_mesh_distance(bench_data *d)
{
    const clv_mesh_cells cells = {.triangles = d->triangles, .cells = d->cells, .list = d->list,
                                  .count = bench_cells(d),
                                  .place = {{1, 0, 0, -4}, {0, 1, 0, 4}, {0, 0, 1, 4}}};
    return clv_mesh_distance(d->ctx, &cells, d->scalar[1], d->scalar[2]);
}

/* Half of the planes, whose dual has just the room of nine: 338 bytes a voxel of
 * these, 265 in the sweep. No projection: the data are no positive tensors. */
static int tensor_pd(bench_data *d, bool paper, clv_tensor_pd_form form)
{
    clv_tensor_pd pd = {
        .size = {d->size[0], d->size[1], d->size[2] / 2}, .weight = {1, 1, 1}, .lambda = 4, .floor = -1,
        .paper = paper, .form = form, .links = d->scalar[5], .data = d->tensor, .tensor = d->field[1], .ahead = d->field[2],
        .dual = d->nine, .partial = d->partial, .state = d->state, .tau = 1, .sigma = 1 / 12.0f};
    int status = clv_tensor_links(d->ctx, NULL, pd.size, d->scalar[5]);
    return status < 0 ? status : clv_tensor_pd_step(d->ctx, &pd);
}

static int row_tensor_pd(bench_data *d)
{
    return tensor_pd(d, false, CLV_TENSOR_PD_PASSES);
}

static int row_tensor_pd_sweep(bench_data *d)
{
    return tensor_pd(d, false, CLV_TENSOR_PD_SWEEP);
}

static int row_tensor_pd_paper(bench_data *d)
{
    return tensor_pd(d, true, CLV_TENSOR_PD_PASSES);
}

static clv_tensor_tv_args tv_args(const bench_data *d, clv_tensor_coupling coupling)
{
    return (clv_tensor_tv_args){
        .data = d->tensor_data, .links = d->links, .size = {d->size[0], d->size[1], d->size[2]},
        .spacing = {1, 1, 1}, .coupling = coupling, .lambda = 10, .eps = 1e-4f, .relax = 1, .floor = 1e-6f,
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
    int status = clv_tensor_tv_sums(d->ctx, &args, d->tensor);
    return status < 0 ? status : clv_tensor_tv_step(d->ctx, &args, d->tensor, d->nine);
}

/* A scan of 64 volumes in the room of six components: 6 / 64 of the voxels. */
static int tensor_fit(bench_data *d, clv_tensor_method method, bool robust)
{
    clv_tensor_fit_args fit = {
        .design = d->design, .method = method, .robust = robust, .voxels = d->n / BENCH_VOLUMES * 6,
        .dwi = d->tensor, .state = d->nine, .kind = d->scalar[4], .tensor = d->field[1], .s0 = d->scalar[1],
        .sigma = d->scalar[2], .noise = d->scalar[3]};
    return clv_tensor_fit(d->ctx, &fit);
}

static int row_tensor_ols(bench_data *d)
{
    return tensor_fit(d, CLV_TENSOR_OLS, false);
}

static int row_tensor_wls(bench_data *d)
{
    return tensor_fit(d, CLV_TENSOR_WLS, false);
}

static int row_tensor_nlls(bench_data *d)
{
    return tensor_fit(d, CLV_TENSOR_NLLS, false);
}

static int row_tensor_robust(bench_data *d)
{
    return tensor_fit(d, CLV_TENSOR_WLS, true);
}

static int row_tensor_measures(bench_data *d)
{
    unsigned wanted = 1u << CLVOX_MEASURE_FA | 1u << CLVOX_MEASURE_MD | 1u << CLVOX_MEASURE_V1;
    return clv_tensor_measures(d->ctx, d->tensor, NULL, d->n, 0, d->n, wanted, d->nine);
}

static int row_level(bench_data *d)
{
    return clv_level_distance(d->ctx, d->level, d->size, UNIT, 0, 8, d->scalar[1], d->nine);
}

static clv_force_args force_args(const bench_data *d)
{
    return (clv_force_args){
        .moving = d->scalar[0], .moving_size = {d->size[0], d->size[1], d->size[2]}, .fixed = d->scalar[1],
        .u = d->field[0], .size = {d->size[0], d->size[1], d->size[2]}, .spacing = {1, 1, 1}, .map = SAME,
        .lambda = .01f, .nine = d->nine, .force = d->field[1],
    };
}

int bench_force(bench_data *d, clv_force_form form)
{
    const clv_force_args args = force_args(d);
    return clv_force(d->ctx, form, &args);
}

/* lambda 0: what looking up the moving image costs. */
static int row_force_image(bench_data *d)
{
    clv_force_args args = force_args(d);
    args.lambda = 0;
    return clv_force(d->ctx, CLV_FORCE_AUTO, &args);
}

static int row_energy(bench_data *d)
{
    const clv_force_args args = force_args(d);
    return clv_energy(d->ctx, &args, d->partial, d->state, 0);
}

static int row_force(bench_data *d)
{
    return bench_force(d, CLV_FORCE_AUTO);
}

static int row_force_recompute(bench_data *d)
{
    return bench_force(d, CLV_FORCE_RECOMPUTE);
}

static int row_force_reuse(bench_data *d)
{
    return bench_force(d, CLV_FORCE_REUSE);
}

static int row_force_capped(bench_data *d)
{
    return bench_force(d, CLV_FORCE_CAPPED);
}

static int row_force_twopass(bench_data *d)
{
    return bench_force(d, CLV_FORCE_TWOPASS);
}

static int lncc(bench_data *d, int radius, bool local, bool both)
{
    const clv_lncc_args args = {
        .fixed = d->scalar[0], .moving = d->scalar[1], .size = {d->size[0], d->size[1], d->size[2]},
        .radius = radius, .epsilon = 1e-5f, .local = local, .slope_moving = d->scalar[2],
        .slope_fixed = both ? d->scalar[3] : NULL, .terms = d->nine, .partial = d->partial, .out = d->state,
    };
    return clv_lncc(d->ctx, &args);
}

static int row_lncc(bench_data *d)
{
    return lncc(d, 2, false, false);
}

static int row_lncc_wide(bench_data *d)
{
    return lncc(d, 4, false, false);
}

static int row_lncc_any(bench_data *d)
{
    return lncc(d, 7, false, false);
}

static int row_lncc_both(bench_data *d)
{
    return lncc(d, 2, false, true);
}

static int row_lncc_local(bench_data *d)
{
    return lncc(d, 2, true, false);
}

static int likeness(bench_data *d, clv_likeness_kind kind)
{
    return clv_likeness(d->ctx, &(clv_likeness_args){
        .kind = kind, .fixed = d->scalar[0], .moving = d->scalar[1],
        .size = {d->size[0], d->size[1], d->size[2]}, .bins = 32, .slope_moving = d->scalar[2],
        .slope_fixed = d->scalar[3], .scratch = d->partial, .out = d->state,
    });
}

static int row_ssd(bench_data *d)
{
    return likeness(d, CLV_LIKENESS_SSD);
}

static int row_ncc(bench_data *d)
{
    return likeness(d, CLV_LIKENESS_NCC);
}

static int row_mi(bench_data *d)
{
    return likeness(d, CLV_LIKENESS_MI);
}

static int row_rate(bench_data *d)
{
    return clv_fluid_rate(d->ctx, d->field[0], d->field[2], d->size, UNIT, d->field[1], d->partial, d->state);
}

static int row_update(bench_data *d)
{
    /* So small a step leaves the data as they are. */
    return clv_fluid_update(d->ctx, d->field[3], d->field[1], d->size, 1e-30f, d->state);
}

static int row_iteration(bench_data *d)
{
    int status = bench_force(d, CLV_FORCE_AUTO);
    if (status >= 0)
        status = clv_gaussian(d->ctx, d->field[1], d->size, true, (float[3]){1.7f, 1.7f, 1.7f},
                              CLV_GAUSSIAN_AUTO, d->field[2], d->field[3]);
    if (status >= 0)
        status = clv_fluid_rate(d->ctx, d->field[0], d->field[3], d->size, UNIT, d->field[1], d->partial,
                                d->state);
    if (status >= 0)
        status = clv_fluid_update(d->ctx, d->field[0], d->field[1], d->size, 1e-30f, d->state);
    return status;
}

const bench_row bench_rows[] = {
    {"copy", "copy", 8, row_copy},
    {"blend", "blend", 40, row_blend},
    {"pointwise a+b", "pointwise", 12, row_pointwise},
    {"reduce sum", "reduce", 4, row_sum},
    {"reduce dot", NULL, 8, row_dot},
    {"statistics lengths", "statistics", 12, row_statistics},
    {"histogram 256", "histogram", 4, row_histogram},
    {"moments", "moments", 4, row_moments},
    {"linear histogram", "linear_histogram", 8, row_linear_histogram},
    {"linear sums", "linear_sums", 8, row_linear_sums},
    {"gradient", "gradient", 16, row_gradient},
    {"sobel", "sobel", 8, row_sobel},
    {"jacobian", "jacobian", 16, row_jacobian},
    {"inverse", "inverse", 24, row_inverse},
    {"warp linear", "warp", 20, row_warp},
    {"warp nearest", NULL, 20, row_warp_nearest},
    {"warp cubic", NULL, 20, row_warp_cubic},
    {"warp label", "warp_label", 20, row_warp_label},
    {"compose", "compose", 36, row_compose},
    {"advance", "advance", 36, row_advance},
    {"push", "push", 32, row_push},
    {"gaussian 1.7 scalar", NULL, 24, row_gaussian_scalar},
    {"gaussian 1.7 field", "gaussian_x", 72, row_gaussian},
    {"gaussian 1 field", NULL, 72, row_gaussian_short},
    {"smooth 1 scalar", NULL, 8, row_smooth_scalar},
    {"smooth 1 field", "smooth", 24, row_smooth},
    {"smooth 1 field, longest", NULL, 24, row_smooth_longest},
    {"longest", "reduce_longest", 12, row_longest},
    {"gaussian 5 field", NULL, 72, row_gaussian_wide},
    {"recursive 5 field", NULL, 72, row_recursive},
    {"unsharp 1.7", NULL, 36, row_unsharp},
    {"redistance 8", "redistance_jump", 8, row_redistance},
    {"nlm band 2", "nlm_band", 12, row_nlm_band},
    {"nlm volume", "nlm_volume", 4, row_nlm_volume},
    /* An eighth of the voxels, each against 64 triangles: 4 bytes of lists a voxel. */
    {"mesh distance", "mesh_distance", 5.25, row_mesh_distance},
    {"level distance 8", "level_near", 8, row_level},
    {"tensor tv local", "tensor_tv_step", 73, row_tv_local},
    {"tensor tv paper", NULL, 98, row_tv_paper},
    {"tensor tv sums", "tensor_tv_sums", 25, row_tv_sums},
    {"tensor fit, plain", "tensor_fit_start", 28, row_tensor_ols},
    {"tensor fit, weighted", "tensor_fit_step", 28, row_tensor_wls},
    {"tensor fit, nonlinear", "tensor_fit_finish", 28, row_tensor_nlls},
    {"tensor fit, robust", "tensor_fit_scale", 28, row_tensor_robust},
    {"tensor measures", "tensor_measures", 44, row_tensor_measures},
    {"tensor primal-dual", "tensor_pd_dual", 169, row_tensor_pd},
    {"tensor primal-dual, primal", "tensor_pd_primal", 169, row_tensor_pd},
    {"tensor primal-dual, sweep", "tensor_pd_sweep", 132.5, row_tensor_pd_sweep},
    {"tensor primal-dual, paper", "tensor_pd_sums", 182, row_tensor_pd_paper},
    {"force", NULL, 32, row_force},
    {"force image only", NULL, 32, row_force_image},
    {"force recompute", NULL, 32, row_force_recompute},
    {"force reuse", NULL, 32, row_force_reuse},
    {"force capped", NULL, 32, row_force_capped},
    {"force twopass", NULL, 32, row_force_twopass},
    {"energy", "energy", 20, row_energy},
    {"likeness SSD", "likeness_ssd", 16, row_ssd},
    {"likeness NCC", "likeness_ncc", 24, row_ncc},
    {"likeness MI 32", "likeness_counts", 24, row_mi},
    {"likeness MI slopes", "likeness_table_slopes", 24, row_mi},
    /* Terms 20 bytes and slope 24; with both slopes 28 and 36. */
    {"lncc 2", "lncc_terms", 44, row_lncc},
    {"lncc 2 slope", "lncc_slope", 44, row_lncc},
    {"lncc 4", NULL, 44, row_lncc_wide},
    /* Terms 124 (along x 32, y 48, z 44), slope 72. */
    {"lncc 7", "lncc_box_terms", 196, row_lncc_any},
    {"lncc 2 both slopes", NULL, 64, row_lncc_both},
    {"lncc 2 local", NULL, 12, row_lncc_local},
    {"fluid rate", NULL, 60, row_rate},
    {"fluid update", NULL, 36, row_update},
    {"fluid iteration", NULL, 200, row_iteration},
    {NULL, NULL, 0, NULL},
};
