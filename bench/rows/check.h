/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a row's result is right: what it ran on and what the reference says. */
#ifndef CLV_BENCH_CHECK_H
#define CLV_BENCH_CHECK_H

#include "bench/bench.h"
#include "clvox/registration.h"
#include "op/sort/radix_sort.h"
#include "phantom/phantom.h"

/* Inputs as they were before the row ran; fields are planar. */
typedef struct bench_check {
    bench_data *data;
    const char *label; /* the row, for messages */
    size_t n;
    float *in[BENCH_IN], *labels, *level, *u, *v, *tensor, *tensor_data, *dwi;
    float *field; /* what both fields for output held */
    float *got;   /* room for 12 n floats */
    double *want; /* and for 27 n doubles, three times */
    double *more, *most;
    int *unsure;  /* n, all 0 */
} bench_check;

/* Compares count values. Fails with one sentence where
 * |got - want| > absolute + relative |want| anywhere, or only one is NaN. */
int check_values(bench_check *c, const float *got, const double *want, size_t count, double absolute,
                 double relative);
/* The same for the first `count` floats of a buffer, for a field (want planar),
 * and for a number from the host. Where unsure is set, what a rounding may decide
 * otherwise, nothing is compared. */
int check_buffer(bench_check *c, const clv_buffer *buffer, const double *want, size_t count, double absolute,
                 double relative);
int check_field(bench_check *c, const clv_buffer *field, const double *want, double absolute,
                double relative);
int check_number(bench_check *c, double got, double want, double absolute);

/* A field of the device, planar. */
int check_read_field(bench_check *c, const clv_buffer *field, float *planar);
/* `count` values of want through the recursive filter along each axis. */
void check_recursive_lines(bench_check *c, size_t count, double sigma);
double check_largest(const double *values, size_t count);

/* Runs `run` on small rough data, odd and even, then `check`, both with `what`. */
int bench_verify_small(clvox_context *ctx, const char *label, int (*run)(bench_data *, const void *),
                       int (*check)(bench_check *, const void *), const void *what);

/* A registration's map must not fold, and lie nearer to the phantom's than no
 * map at all does, or within half a voxel of it. */
int bench_check_warp(const clvox_context *ctx, const char *name, const clvox_volume *fixed,
                     const clv_phantom_warp *warp, const clvox_register_result *result);

/* Weights of the row that adds gradients, small enough to be added again and again. */
#define BENCH_GRADIENT ((const float[3]){1e-3f, 2e-3f, 3e-3f})
/* For velocity_sum and weighted_sum: the weight, and whole numbers a mm and of images. */
#define BENCH_WEIGHT .3f
#define BENCH_UNIT 0x1p20f
#define BENCH_UNITS ((const clv_weighted_units){0x1p24f, 0x1p20f, 0x1p26f})

/* Total variation: in the unit of the images, and the iterations before the one that is timed. */
#define BENCH_TV_RADIUS 0.1f
enum { BENCH_TV_BEFORE = 3 };

/* Non-local means of a volume: the search of `filter nlm`; by the second image as noise, which is as strong
 * as the first, thresholds and weights that leave some and drop some. */
enum { BENCH_SEARCH = 3 };
#define BENCH_CUT 0.05f
#define BENCH_STRENGTH 0.02f
/* Sweeps of a solver: an even number of launches that make one or two. */
enum { BENCH_SWEEPS = 4 };

/* Checks of rows. */
int check_copy(bench_check *c);
int check_pointwise(bench_check *c);
int check_blend(bench_check *c);
int check_sum(bench_check *c);
int check_dot(bench_check *c);
int check_longest(bench_check *c);
int check_statistics(bench_check *c);
int check_histogram(bench_check *c);
int check_gradient(bench_check *c);
int check_median(bench_check *c);
int check_median_wide(bench_check *c);
int check_dct(bench_check *c);
int check_nlm_image(bench_check *c);
int check_tv_image(bench_check *c);
int check_sobel(bench_check *c);
int check_jacobian(bench_check *c);
int check_gaussian_scalar(bench_check *c);
int check_gaussian(bench_check *c);
int check_gaussian_short(bench_check *c);
int check_gaussian_wide(bench_check *c);
int check_recursive(bench_check *c);
int check_smooth(bench_check *c);
int check_smooth_scalar(bench_check *c);
int check_smooth_longest(bench_check *c);
int check_unsharp(bench_check *c);
int check_downsample(bench_check *c);

int check_warp(bench_check *c);
int check_warp_nearest(bench_check *c);
int check_warp_cubic(bench_check *c);
int check_warp_label(bench_check *c);
int check_compose(bench_check *c);
int check_compositive_step(bench_check *c);
int check_velocity_sum(bench_check *c);
int check_weighted_sum(bench_check *c);
int check_divergence(bench_check *c);
int check_add_gradient(bench_check *c);
int check_metric_force(bench_check *c);
int check_inverse(bench_check *c);
int check_linear_histogram(bench_check *c);
int check_linear_sums(bench_check *c);
int check_force_image(bench_check *c);
int check_energy(bench_check *c);
int check_ssd(bench_check *c);
int check_ncc(bench_check *c);
int check_mi(bench_check *c);
int check_lncc(bench_check *c);
int check_lncc_4(bench_check *c);
int check_lncc_7(bench_check *c);
int check_lncc_both(bench_check *c);
int check_lncc_local(bench_check *c);
int check_mind_points(bench_check *c);
int check_mind_patches(bench_check *c);
int check_rate(bench_check *c);
int check_update(bench_check *c);
int check_iteration(bench_check *c);

int check_operator(bench_check *c);
int check_operator_coupled(bench_check *c);
int check_sor(bench_check *c);
int check_conjugate(bench_check *c);
int check_fft(bench_check *c);
int check_fft_solve(bench_check *c);
int check_multigrid(bench_check *c);
int check_multigrid_coupled(bench_check *c);
int check_fft_solve_coupled(bench_check *c);

int check_redistance(bench_check *c);
int check_level(bench_check *c);
int check_mesh_distance(bench_check *c);
int check_nlm_band(bench_check *c);
int check_nlm_volume(bench_check *c);

int check_tv_local(bench_check *c);
int check_tv_paper(bench_check *c);
int check_tv_sums(bench_check *c);
int check_fit_ols(bench_check *c);
int check_fit_wls(bench_check *c);
int check_fit_nlls(bench_check *c);
int check_fit_robust(bench_check *c);
int check_measures(bench_check *c);
int check_pd(bench_check *c);
int check_pd_paper(bench_check *c);
int check_mppca(bench_check *c);
int check_links(bench_check *c);
int check_log(bench_check *c);

/* Sorting of random keys, with values or without, of 32 bits or of 24 (narrow); bench_begin_sort comes first. */
int bench_begin_sort(bench_data *data);
int bench_unsorted(bench_data *data, bool with_values, bool narrow, clv_sort_args *args);
int bench_sort(bench_data *data, bool with_values, bool narrow);
int bench_check_sort(bench_check *c, bool with_values, bool narrow);

#endif
