/* SPDX-License-Identifier: Apache-2.0 */
/* Bias-field correction: known fields, on anisotropic and oblique grids. */
#include "clvox/filter.h"

#include "image/bias.h"
#include "image/distribution.h"
#include "image/spline.h"
#include "op/harness.h"
#include "phantom/phantom.h"

static clvox_context *ctx;

/* Two tissues in blocks with a little noise, times exp of a smooth field: *field is its logarithm. */
static clvox_volume *uneven(const int size[3], const double spacing[3], float **field)
{
    clvox_grid grid;
    clvox_volume *v;
    clvox_phantom_grid(size, spacing, true, &grid);
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
    *field = malloc(clvox_grid_voxels(&grid) * sizeof **field);
    size_t i = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++) {
                double a = (x + .5) / size[0] - .5, b = (y + .5) / size[1] - .5, c = (z + .5) / size[2] - .5;
                double r = hypot(hypot(a, b), c), f = 0.8 * a - 0.6 * b * c + 0.9 * a * b - 0.5 * b * b;
                double tissue = (x / 5 + y / 4 + z / 3) % 2 ? 100 : 60;
                (*field)[i] = (float)f;
                v->data[i] = r < .45 ? (float)((tissue + 2 * clv_phantom_normal(3, i)) * exp(f)) : 0;
            }
    return v;
}

/* Standard deviation of log(in / out) - field over the voxels above 0, and the mean of log(in / out). */
static double left_over(const clvox_volume *in, const clvox_volume *out, const float *field, double *mean)
{
    double s = 0, ss = 0, n = 0, m = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&in->grid); i++)
        if (in->data[i] > 0) {
            double ratio = log((double)(in->data[i] / out->data[i])), d = ratio - (double)field[i];
            s += d;
            ss += d * d;
            m += ratio;
            n++;
        }
    *mean = m / n;
    return sqrt(ss / n - s * s / n / n);
}

static void a_known_field_is_found(void **state)
{
    (void)state;
    static const int sizes[][3] = {{41, 37, 29}, {67, 53, 11}};
    static const double spacings[][3] = {{3, 3, 4}, {2, 2.5, 9}};
    for (int s = 0; s < 2; s++) {
        clvox_bias_options o;
        clvox_bias_report report;
        clvox_volume *out, *field;
        float *truth;
        double mean;
        clvox_volume *in = uneven(sizes[s], spacings[s], &truth);
        clvox_bias_defaults(&o);
        o.levels = 3;
        o.shrink = 2;
        double before = left_over(in, in, truth, &mean);
        assert_ok(clvox_filter_bias(ctx, in, NULL, &o, &out, &field, &report));
        double after = left_over(in, out, truth, &mean);
        assert_that(before > .15 && after < .015, "%g before, %g after", before, after);
        assert_that(fabs(mean) < 1e-3, "geometric mean exp(%g)", mean);
        for (size_t i = 0; i < clvox_grid_voxels(&in->grid); i++)
            assert_that(fabsf(in->data[i] - out->data[i] * field->data[i]) <= 1e-4f * in->data[i], "voxel %zu", i);
        assert_true(report.iterations[0] > 0 && report.iterations[0] <= 50 && report.voxels > 500);
        clvox_volume_destroy(&in);
        clvox_volume_destroy(&out);
        clvox_volume_destroy(&field);
        free(truth);
    }
}

static void what_is_not_finite_stays_and_counts_for_nothing(void **state)
{
    (void)state;
    clvox_bias_options o;
    clvox_volume *out, *clean, *mask;
    float *truth;
    clvox_volume *in = uneven((const int[3]){23, 21, 17}, (const double[3]){4, 4, 4}, &truth);
    assert_ok(clvox_volume_create(&in->grid, 1, CLVOX_KIND_SCALAR, &mask));
    size_t n = clvox_grid_voxels(&in->grid);
    for (size_t i = 0; i < n; i++)
        mask->data[i] = in->data[i] > 0 && i % 101;
    clvox_bias_defaults(&o);
    o.levels = 1;
    o.shrink = 1;
    assert_ok(clvox_filter_bias(ctx, in, mask, &o, &clean, NULL, NULL));
    for (size_t i = 0; i < n; i++) {
        mask->data[i] = in->data[i] > 0;
        if (in->data[i] > 0 && i % 101 == 0)
            in->data[i] = i % 2 ? NAN : i % 4 ? -INFINITY : -5;
    }
    assert_ok(clvox_filter_bias(ctx, in, mask, &o, &out, NULL, NULL));
    for (size_t i = 0; i < n; i++)
        if (isfinite(in->data[i]) && in->data[i] >= 0)
            assert_that(fabsf(out->data[i] - clean->data[i]) <= 1e-3f, "voxel %zu: %g and %g", i,
                        (double)out->data[i], (double)clean->data[i]);
        else
            assert_true(isfinite(in->data[i]) == isfinite(out->data[i]));
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&out);
    clvox_volume_destroy(&clean);
    clvox_volume_destroy(&mask);
    free(truth);
}

/* A slab is brightened: weights of 0 there are the mask without it, equal ones none, small ones nearly 0. */
static void weights_say_how_much_voxels_count(void **state)
{
    (void)state;
    static const float in_slab[] = {0, 2, 1e-4f}, elsewhere[] = {3, 2, 1};
    clvox_bias_options o;
    clvox_volume *want[2], *out, *mask, *weight;
    float *truth;
    clvox_volume *in = uneven((const int[3]){41, 37, 29}, (const double[3]){3, 3, 4}, &truth);
    const size_t n = clvox_grid_voxels(&in->grid);
    assert_ok(clvox_volume_create(&in->grid, 1, CLVOX_KIND_SCALAR, &mask));
    assert_ok(clvox_volume_create(&in->grid, 1, CLVOX_KIND_SCALAR, &weight));
    clvox_bias_defaults(&o);
    o.levels = 2;
    o.shrink = 2;
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < n; i++) {
            const bool slab = i / 41 % 37 > 24;
            in->data[i] *= slab && !k ? 1.5f : 1;
            mask->data[i] = k || !slab;
        }
        assert_ok(clvox_filter_bias(ctx, in, mask, &o, &want[k], NULL, NULL));
    }
    o.weight = weight;
    for (int k = 0; k < 3; k++) {
        double error = 0, other = 0;
        for (size_t i = 0; i < n; i++)
            weight->data[i] = i / 41 % 37 > 24 ? i % 2 || k ? in_slab[k] : NAN : elsewhere[k];
        assert_ok(clvox_filter_bias(ctx, in, mask, &o, &out, NULL, NULL));
        for (size_t i = 0; i < n; i++)
            if (in->data[i] > 0 && i / 41 % 37 <= 24) {
                error = fmax(error, fabs((double)(out->data[i] / want[k == 1]->data[i]) - 1));
                other = fmax(other, fabs((double)(out->data[i] / want[k != 1]->data[i]) - 1));
            }
        assert_that(other > .01 && (k == 2 ? error < other : error < 1e-4),
                    "%d: %g of its own, %g of the other", k, error, other);
        clvox_volume_destroy(&out);
    }
    weight->grid.to_ras[0][3] += 5;
    assert_int_equal(clvox_filter_bias(ctx, in, NULL, &o, &out, NULL, NULL), CLVOX_ERROR_ARGUMENT);
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&weight);
    clvox_volume_destroy(&want[0]);
    clvox_volume_destroy(&want[1]);
    free(truth);
}

static void rescaling_keeps_the_range_inside_the_mask(void **state)
{
    (void)state;
    clvox_bias_options o;
    clvox_volume *out, *plain, *mask;
    float *truth, range[2][2] = {{INFINITY, -INFINITY}, {INFINITY, -INFINITY}};
    clvox_volume *in = uneven((const int[3]){23, 21, 17}, (const double[3]){4, 4, 4}, &truth);
    assert_ok(clvox_volume_create(&in->grid, 1, CLVOX_KIND_SCALAR, &mask));
    const size_t n = clvox_grid_voxels(&in->grid);
    for (size_t i = 0; i < n; i++)
        mask->data[i] = in->data[i] > 40;
    in->data[0] = 1e4f; /* outside the mask it sets no range */
    clvox_bias_defaults(&o);
    o.levels = 1;
    assert_ok(clvox_filter_bias(ctx, in, mask, &o, &plain, NULL, NULL));
    o.rescale = 1;
    assert_ok(clvox_filter_bias(ctx, in, mask, &o, &out, NULL, NULL));
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        if (mask->data[i] > 0) {
            const float v[] = {in->data[i], out->data[i]};
            for (int k = 0; k < 2; k++) {
                range[k][0] = fminf(range[k][0], v[k]);
                range[k][1] = fmaxf(range[k][1], v[k]);
            }
            largest = fmax(largest, fabs((double)(out->data[i] - plain->data[i])));
        }
    for (int k = 0; k < 2; k++)
        assert_true(fabsf(range[0][k] - range[1][k]) < 1e-3f);
    assert_true(largest > 1);
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&out);
    clvox_volume_destroy(&plain);
    clvox_volume_destroy(&mask);
    free(truth);
}

static void a_constant_image_stays_and_nonsense_is_refused(void **state)
{
    (void)state;
    static const int sizes[][3] = {{1, 1, 1}, {9, 7, 1}, {13, 1, 1}};
    clvox_bias_options o;
    clvox_volume *v, *out, *mask;
    clvox_grid grid;
    for (int s = 0; s < 3; s++) {
        clvox_phantom_grid(sizes[s], (const double[3]){1, 2, 3}, false, &grid);
        assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
        size_t n = clvox_grid_voxels(&grid);
        for (size_t i = 0; i < n; i++)
            v->data[i] = 7;
        assert_ok(clvox_filter_bias(ctx, v, NULL, NULL, &out, NULL, NULL));
        for (size_t i = 0; i < n; i++)
            assert_true(fabsf(out->data[i] - 7) < 1e-5f);
        clvox_volume_destroy(&out);
        for (size_t i = 0; i < n; i++)
            v->data[i] = -1;
        assert_int_equal(clvox_filter_bias(ctx, v, NULL, NULL, &out, NULL, NULL), CLVOX_ERROR_DATA);
        assert_null(out);
        clvox_bias_defaults(&o);
        o.fwhm = 0;
        assert_int_equal(clvox_filter_bias(ctx, v, NULL, &o, &out, NULL, NULL), CLVOX_ERROR_ARGUMENT);
        v->kind = CLVOX_KIND_LABEL;
        assert_int_equal(clvox_filter_bias(ctx, v, NULL, NULL, &out, NULL, NULL), CLVOX_ERROR_ARGUMENT);
        v->kind = CLVOX_KIND_SCALAR;
        grid.to_ras[0][3] += 5;
        assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &mask));
        assert_int_equal(clvox_filter_bias(ctx, v, mask, NULL, &out, NULL, NULL), CLVOX_ERROR_ARGUMENT);
        clvox_volume_destroy(&v);
        clvox_volume_destroy(&mask);
    }
}

/* Two values blurred by the Gaussian that is assumed: between them the nearer one is expected. */
static void sharpening_pulls_values_to_the_peaks(void **state)
{
    (void)state;
    enum { BINS = 200 };
    int32_t counts[CLV_DISTRIBUTION_BINS];
    float expected[BINS];
    double sigma = .15 / 2.3548;
    for (int i = 0; i < CLV_DISTRIBUTION_BINS; i++) {
        double x = (i + .5) / CLV_DISTRIBUTION_BINS, a = (x - .3) / sigma, b = (x - .7) / sigma;
        counts[i] = (int32_t)(1e4 * (exp(-.5 * a * a) + exp(-.5 * b * b)));
    }
    assert_ok(clv_bias_expect(counts, 0, 1, BINS, .15, .01, expected));
    for (int i = 40; i < 85; i++)
        assert_that(fabs((double)expected[i] - .3) < .05, "%d: %g", i, (double)expected[i]);
    for (int i = 115; i < 160; i++)
        assert_that(fabs((double)expected[i] - .7) < .05, "%d: %g", i, (double)expected[i]);
}

/* Control points refined to half the spacing give the same values, and those of a constant are that constant. */
static void splines_refine_to_the_same_values(void **state)
{
    (void)state;
    const int size[3] = {13, 8, 1};
    enum { VOXELS = 13 * 8 };
    float points[2048], values[2][VOXELS];
    clvox_grid grid;
    clv_lattice lattice, half;
    clv_spline spline[2], refine;
    int coarse[3], fine[3];
    clvox_phantom_grid(size, (const double[3]){1.5, 2, 1}, false, &grid);
    clv_lattice_make(&grid, 9, &lattice);
    half = clv_lattice_half(&lattice);
    clv_lattice_size(&lattice, coarse);
    clv_lattice_size(&half, fine);
    assert_int_equal(coarse[0], 6);
    assert_int_equal(coarse[2], 4);
    size_t n = (size_t)(coarse[0] * coarse[1] * coarse[2]), m = (size_t)(fine[0] * fine[1] * fine[2]);
    harness_random(points, n, 5, -1, 1);
    clv_buffer *a = harness_upload(ctx, points, n * 4), *b = harness_output(ctx, m * 4);
    clv_buffer *tmp[2] = {harness_output(ctx, 1 << 16), harness_output(ctx, 1 << 16)};
    clv_buffer *out = harness_output(ctx, VOXELS * 4);
    assert_ok(clv_spline_make(ctx, &lattice, &grid, CLV_SPLINE_VALUES, &spline[0]));
    assert_ok(clv_spline_make(ctx, &half, &grid, CLV_SPLINE_VALUES, &spline[1]));
    assert_ok(clv_spline_refine(ctx, &lattice, &refine));
    assert_ok(clv_spline_apply(ctx, &refine, a, coarse, tmp, b, fine));
    assert_ok(clv_spline_apply(ctx, &spline[0], a, coarse, tmp, out, size));
    harness_download(ctx, out, values[0], sizeof values[0]);
    assert_ok(clv_spline_apply(ctx, &spline[1], b, fine, tmp, out, size));
    harness_download(ctx, out, values[1], sizeof values[1]);
    double spread = 0;
    for (int i = 0; i < VOXELS; i++) {
        assert_that(fabsf(values[0][i] - values[1][i]) < 1e-5f, "%g and %g", (double)values[0][i], (double)values[1][i]);
        spread = fmax(spread, fabs((double)(values[0][i] - values[0][0])));
    }
    assert_true(spread > .05);
    for (size_t i = 0; i < n; i++)
        points[i] = 3;
    assert_ok(clv_buffer_write(ctx, a, 0, points, n * 4));
    assert_ok(clv_spline_apply(ctx, &spline[0], a, coarse, tmp, out, size));
    harness_download(ctx, out, values[0], sizeof values[0]);
    for (int i = 0; i < VOXELS; i++)
        assert_true(fabsf(values[0][i] - 3) < 1e-5f);
    clv_spline_free(&spline[0]);
    clv_spline_free(&spline[1]);
    clv_spline_free(&refine);
    clv_buffer_destroy(&a);
    clv_buffer_destroy(&b);
    clv_buffer_destroy(&tmp[0]);
    clv_buffer_destroy(&tmp[1]);
    clv_buffer_destroy(&out);
}

int main(void)
{
    ctx = harness_open();
    test_case(splines_refine_to_the_same_values, "splines refine to the same values");
    test_case(sharpening_pulls_values_to_the_peaks, "sharpening pulls values to the peaks");
    test_case(a_known_field_is_found, "a known field is found");
    test_case(what_is_not_finite_stays_and_counts_for_nothing, "what is not finite stays and counts for nothing");
    test_case(weights_say_how_much_voxels_count, "weights say how much voxels count");
    test_case(rescaling_keeps_the_range_inside_the_mask, "rescaling keeps the range inside the mask");
    test_case(a_constant_image_stays_and_nonsense_is_refused, "a constant image stays and nonsense is refused");
    return test_run("bias", harness_close);
}
