/* SPDX-License-Identifier: Apache-2.0 */
/* Whole scans to tensors: known ones, spoilt ones, and a real one against
 * another program's plain least squares. */
#include <unistd.h>

#include "check.h"
#include "clvox/tensor.h"
#include "op/harness.h"
#include "phantom/phantom.h"

enum { MOST = 40 };
static clvox_context *ctx;

typedef struct scheme {
    clvox_gradients table;
    double b[MOST], direction[MOST][3];
} scheme;

/* plain volumes without weighting, then count spread over the half sphere. */
static void make_scheme(int plain, int count, double b, scheme *s)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < count; i++) {
        double z = (i + .5) / count, r = sqrt(1 - z * z), *g = s->direction[plain + i];
        s->b[plain + i] = b;
        g[0] = r * cos(2.399963 * i);
        g[1] = r * sin(2.399963 * i);
        g[2] = z;
    }
    s->table = (clvox_gradients){.count = plain + count, .b = s->b, .direction = s->direction};
}

/* xx xy xz yy yz zz, mm^2/s: another in every voxel. */
static void truth(size_t i, double d[6])
{
    double a = .1 * (double)i, along[3] = {cos(a), sin(a) * .8, sin(a) * .6};
    for (int r = 0, c = 0; r < 3; r++)
        for (int s = r; s < 3; s++)
            d[c++] = 1.3e-3 * along[r] * along[s] + (r == s ? .4e-3 : 0);
}

static clvox_volume *make_dwi(const int size[3], const scheme *s)
{
    clvox_grid grid;
    clvox_volume *dwi;
    clvox_phantom_grid(size, (const double[3]){2, 2, 2.5}, true, &grid);
    assert_ok(clvox_volume_create(&grid, s->table.count, CLVOX_KIND_SCALAR, &dwi));
    size_t n = clvox_grid_voxels(&grid);
    for (int k = 0; k < s->table.count; k++)
        for (size_t i = 0; i < n; i++) {
            const double *g = s->direction[k];
            double d[6];
            truth(i, d);
            dwi->data[(size_t)k * n + i] = (float)(
                900 * exp(-s->b[k] * (d[0] * g[0] * g[0] + 2 * d[1] * g[0] * g[1] + 2 * d[2] * g[0] * g[2] +
                                      d[3] * g[1] * g[1] + 2 * d[4] * g[1] * g[2] + d[5] * g[2] * g[2])));
        }
    return dwi;
}

/* The largest error over voxels of the mask, in 1e-3 mm^2/s. */
static double error_of(const clvox_tensor_fit_result *r, const clvox_volume *mask)
{
    size_t n = clvox_grid_voxels(&r->tensor->grid);
    double worst = 0, d[6];
    for (size_t i = 0; i < n; i++) {
        truth(i, d);
        for (size_t c = 0; c < 6; c++) {
            double want = !mask || mask->data[i] > 0 ? d[c] : 0;
            worst = fmax(worst, 1e3 * fabs((double)r->tensor->data[c * n + i] - want));
        }
    }
    return worst;
}

static void exact(const int size[3])
{
    static const char *const names[] = {"ols", "wls", "iwls", "nlls"};
    scheme s;
    make_scheme(3, 20, 1000, &s);
    clvox_volume *dwi = make_dwi(size, &s);
    for (int method = CLVOX_TENSOR_OLS; method <= CLVOX_TENSOR_NLLS; method++)
        for (int robust = 0; robust < 2; robust++) {
            clvox_tensor_fit_options options = {
                .size = sizeof options, .method = (clvox_tensor_method)method, .robust = robust};
            clvox_tensor_fit_result r;
            assert_that(clvox_tensor_fit(ctx, dwi, &s.table, NULL, &options, &r) == CLVOX_OK, "%s",
                        clvox_message());
            if (!r.tensor)
                continue;
            assert_that(error_of(&r, NULL) < 1e-5, "%s%s: off by %g", names[method], robust ? " robust" : "",
                        error_of(&r, NULL));
            assert_true(r.fitted == clvox_grid_voxels(&dwi->grid) && r.asked == r.fitted && !r.made_positive);
            assert_true(fabs((double)r.s0->data[0] - 900) < .01 && r.median_noise < .01 && r.rejects == 0);
            clvox_tensor_fit_result_destroy(&r);
            assert_true(!r.tensor && !r.sigma);
        }
    clvox_volume_destroy(&dwi);
}

static void shells_and_masks(void)
{
    const int size[3] = {13, 11, 5};
    scheme s;
    clvox_tensor_fit_result r;
    make_scheme(2, 30, 1000, &s);
    for (int k = 2; k < 32; k += 3)
        s.b[k] = 1020; /* a scanner's idea of 1000 */
    for (int k = 3; k < 32; k += 3)
        s.b[k] = 3000;
    clvox_volume *dwi = make_dwi(size, &s), *mask;
    size_t n = clvox_grid_voxels(&dwi->grid);
    assert_ok(clvox_volume_create(&dwi->grid, 1, CLVOX_KIND_SCALAR, &mask));
    for (size_t i = 0; i < n; i++)
        mask->data[i] = i % 7 && i / 90 % 3 ? 1 : 0;
    /* Volumes above bmax do not matter. */
    for (int k = 3; k < 32; k += 3)
        for (size_t i = 0; i < n; i++)
            dwi->data[(size_t)k * n + i] = NAN;
    clvox_tensor_fit_options options = {.size = sizeof options, .method = CLVOX_TENSOR_WLS, .bmax = 1000};
    assert_that(clvox_tensor_fit(ctx, dwi, &s.table, mask, &options, &r) == CLVOX_OK, "%s", clvox_message());
    assert_that(r.volumes == 22 && error_of(&r, mask) < 1e-5, "%d volumes, off by %g", r.volumes,
                error_of(&r, mask));
    clvox_tensor_fit_result_destroy(&r);
    /* Nor does it without bmax: NaN has no weight. */
    assert_that(clvox_tensor_fit(ctx, dwi, &s.table, mask, NULL, &r) == CLVOX_OK, "%s", clvox_message());
    assert_true(r.fitted == r.asked && r.left_out == r.asked && error_of(&r, mask) < 1e-5);
    clvox_tensor_fit_result_destroy(&r);
    for (int k = 0; k < s.table.count; k++)
        for (size_t i = 0; i < n && s.table.b[k] < 50; i++)
            dwi->data[(size_t)k * n + i] = NAN;
    assert_true(clvox_tensor_fit(ctx, dwi, &s.table, mask, NULL, &r) == CLVOX_ERROR_DATA && !r.tensor);
    assert_true(r.fitted == 0 && r.not_finite == r.asked && r.volumes == 32);
    assert_that(strstr(clvox_message(), "no voxel can be fitted"), "%s", clvox_message());
    options.bmax = 100;
    assert_true(clvox_tensor_fit(ctx, dwi, &s.table, mask, &options, &r) == CLVOX_ERROR_DATA && !r.tensor);
    assert_that(strstr(clvox_message(), "with b up to 100: only 2 volumes"), "%s", clvox_message());
    s.table.count--;
    assert_true(clvox_tensor_fit(ctx, dwi, &s.table, mask, NULL, &r) == CLVOX_ERROR_ARGUMENT && !r.tensor);
    s.table.count++;
    mask->grid.to_ras[0][3] += 1;
    assert_true(clvox_tensor_fit(ctx, dwi, &s.table, mask, NULL, &r) == CLVOX_ERROR_ARGUMENT && !r.tensor);
    clvox_volume_destroy(&dwi);
    clvox_volume_destroy(&mask);
}

static void spoilt(void)
{
    const int size[3] = {9, 10, 7};
    scheme s;
    clvox_tensor_fit_result r;
    make_scheme(3, 30, 1000, &s);
    clvox_volume *dwi = make_dwi(size, &s);
    size_t n = clvox_grid_voxels(&dwi->grid), hit = 0;
    float *noise = malloc(n * 33 * sizeof *noise);
    harness_random(noise, n * 33, 5, -17, 17); /* standard deviation 9.8: SNR about 90 */
    for (size_t j = 0; j < n * 33; j++)
        dwi->data[j] += noise[j];
    free(noise);
    for (size_t i = 0; i < n; i += 2, hit++)
        dwi->data[(3 + i % 30) * n + i] *= .1f;
    clvox_tensor_fit_options options = {.size = sizeof options, .method = CLVOX_TENSOR_WLS};
    double rms[2];
    for (int robust = 0; robust < 2; robust++) {
        options.robust = robust;
        assert_ok(clvox_tensor_fit(ctx, dwi, &s.table, NULL, &options, &r));
        double sum = 0, d[6];
        for (size_t i = 0; i < n; i++) {
            truth(i, d);
            for (size_t c = 0; c < 6; c++)
                sum += pow(1e3 * ((double)r.tensor->data[c * n + i] - d[c]), 2);
        }
        rms[robust] = sqrt(sum / (double)n / 6);
        if (robust) {
            assert_that(r.rejects >= hit && r.rejects < hit + n / 2, "%zu rejected, %zu spoilt", r.rejects,
                        hit);
            assert_that(fabs(r.median_noise - 9.8) < 1.5, "noise %g", r.median_noise);
        }
        clvox_tensor_fit_result_destroy(&r);
    }
    assert_that(rms[1] < .3 * rms[0] && rms[1] < .04, "errors of %g and, robust, %g", rms[0], rms[1]);
    /* Zeros, negative values, no signal at all. */
    for (size_t i = 0; i < n; i += 3) {
        dwi->data[5 * n + i] = 0;
        dwi->data[9 * n + i] = -4;
    }
    for (int k = 0; k < 3; k++)
        dwi->data[(size_t)k * n + 1] = 0;
    for (int k = 0; k < 3; k++)
        dwi->data[(size_t)k * n + 4] = NAN;
    dwi->data[20 * n + 2] = INFINITY;
    assert_int_equal(clvox_tensor_fit(ctx, dwi, &s.table, NULL, NULL, &r), CLVOX_OK);
    assert_true(r.without_signal == 1 && r.not_finite == 1 && r.fitted == n - 2);
    assert_true(r.left_out == (n + 2) / 3 + 1);
    for (size_t j = 0; j < 6 * n; j++)
        assert_true(isfinite(r.tensor->data[j]));
    clvox_tensor_fit_result_destroy(&r);
    clvox_volume_destroy(&dwi);
}

/* A device that holds only some voxels gives the same. */
static void in_parts(void)
{
    const int size[3] = {31, 17, 7};
    scheme s;
    clvox_tensor_fit_result whole, parts;
    make_scheme(3, 20, 1000, &s);
    clvox_volume *dwi = make_dwi(size, &s);
    size_t n = clvox_grid_voxels(&dwi->grid);
    clvox_device_limits *limits = (clvox_device_limits *)(uintptr_t)clvox_context_limits(ctx), real = *limits;
    assert_ok(clvox_tensor_fit(ctx, dwi, &s.table, NULL, NULL, &whole));
    limits->max_allocation = 23 * 4 * 800;
    assert_ok(clvox_tensor_fit(ctx, dwi, &s.table, NULL, NULL, &parts));
    *limits = real;
    assert_memory_equal(whole.tensor->data, parts.tensor->data, 6 * n * sizeof(float));
    assert_memory_equal(whole.sigma->data, parts.sigma->data, n * sizeof(float));
    assert_true(whole.fitted == parts.fitted && whole.median_sigma == parts.median_sigma);
    clvox_tensor_fit_result_destroy(&whole);
    clvox_tensor_fit_result_destroy(&parts);
    clvox_volume_destroy(&dwi);
}

static const char *data(const char *name)
{
    static char path[4096];
    const char *folder = getenv("CLVOX_DATA");
    snprintf(path, sizeof path, "%s/dti_dsistudio/%s", folder ? folder : CLVOX_DATA_DEFAULT, name);
    return path;
}

/* The tensors of README's own plain fit are in the axes of the bvecs as they stand. */
static void real_scan(void **state)
{
    (void)state;
    clvox_volume *dwi = NULL, *mask = NULL, *want = NULL, *fa = NULL;
    clvox_gradients *g = NULL;
    clvox_tensor_fit_result r = {0};
    clvox_volume *maps[CLVOX_MEASURES] = {0};
    char bval[4096];
    if (access(data("dwi.nii.gz"), R_OK))
        test_skip("no dti_dsistudio");
    assert_ok(clvox_volume_read(data("dwi.nii.gz"), &dwi));
    assert_ok(clvox_volume_read(data("mask.nii.gz"), &mask));
    assert_ok(clvox_volume_read(data("tensor_lls_xx_xy_xz_yy_yz_zz.nii.gz"), &want));
    assert_ok(clvox_volume_read(data("fa_lls.nii.gz"), &fa));
    snprintf(bval, sizeof bval, "%s", data("bvals"));
    assert_ok(clvox_gradients_read_fsl(bval, data("bvecs"), &dwi->grid, dwi->frames, &g));
    /* From RAS back into those axes: x runs the other way on a right-handed grid. */
    clvox_tensor_fit_options options = {.size = sizeof options, .method = CLVOX_TENSOR_OLS};
    assert_ok(clvox_tensor_fit(ctx, dwi, g, mask, &options, &r));
    assert_ok(
        clvox_tensor_measures(ctx, r.tensor, NULL, 1u << CLVOX_MEASURE_FA | 1u << CLVOX_MEASURE_L3, maps));
    size_t n = clvox_grid_voxels(&dwi->grid), count = 0;
    double flip[3], worst = 0, worst_fa = 0, sign = 1;
    for (int a = 0; a < 3; a++) {
        flip[a] = dwi->grid.to_ras[a][a] > 0 ? 1 : -1;
        sign *= flip[a];
    }
    flip[0] *= sign > 0 ? -1 : 1;
    for (size_t i = 0; i < n; i++) {
        /* Such a fit is not made positive and treats values at or below 0 differently. */
        bool usable = mask->data[i] > 0 && maps[CLVOX_MEASURE_L3]->data[i] > 1.01e-5f;
        for (int k = 0; k < dwi->frames; k++)
            usable = usable && dwi->data[(size_t)k * n + i] > 0;
        if (!usable)
            continue;
        count++;
        for (size_t c = 0; c < 6; c++) {
            static const int pair[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};
            double got = (double)r.tensor->data[c * n + i] * flip[pair[c][0]] * flip[pair[c][1]];
            worst = fmax(worst, 1e3 * fabs(got - (double)want->data[c * n + i]));
        }
        worst_fa = fmax(worst_fa, fabs((double)maps[0]->data[i] - (double)fa->data[i]));
    }
    assert_that(worst < 2e-4 && worst_fa < 2e-4 && count > 45000,
                "%zu voxels: tensors off by %g um^2/ms, FA by %g", count, worst, worst_fa);
    assert_that(r.median_noise > 1 && r.median_noise < 10, "noise %g", r.median_noise);
    clvox_tensor_fit_result_destroy(&r);
    clvox_volume_destroy(&maps[CLVOX_MEASURE_FA]);
    clvox_volume_destroy(&maps[CLVOX_MEASURE_L3]);
    clvox_volume_destroy(&dwi);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&want);
    clvox_volume_destroy(&fa);
    clvox_gradients_destroy(&g);
}

static void known_tensors_from_signals_without_noise(void **state)
{
    (void)state;
    exact((const int[3]){13, 7, 5});
}

static void a_scan_of_one_slice_of_one_row_of_one_voxel(void **state)
{
    (void)state;
    exact((const int[3]){17, 11, 1});
    exact((const int[3]){1, 23, 1});
    exact((const int[3]){1, 1, 1});
}

static void shells_above_bmax_masks_with_holes(void **state)
{
    (void)state;
    shells_and_masks();
}

static void lost_signals_are_rejected_zeros(void **state)
{
    (void)state;
    spoilt();
}

static void the_same_in_parts(void **state)
{
    (void)state;
    in_parts();
}

int main(void)
{
    ctx = harness_open();
    test_case(known_tensors_from_signals_without_noise, "known tensors from signals without noise");
    test_case(a_scan_of_one_slice_of_one_row_of_one_voxel, "a scan of one slice, of one row, of one voxel");
    test_case(shells_above_bmax_masks_with_holes,
              "shells above bmax, masks with holes, what does not fit together");
    test_case(lost_signals_are_rejected_zeros, "lost signals are rejected; zeros and infinities are counted");
    test_case(the_same_in_parts, "the same in parts");
    test_case(real_scan, "a real scan against a plain least-squares fit and its FA");
    return test_run("scan", harness_close);
}
