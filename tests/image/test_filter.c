/* SPDX-License-Identifier: Apache-2.0 */
/* Filters of volumes: known answers on anisotropic and oblique grids. */
#include "clvox/filter.h"

#include "base/matrix.h"
#include "op/harness.h"

static clvox_context *ctx;

/* A turned grid with the origin in its middle. */
static clvox_grid turned(int nx, int ny, int nz, double dx, double dy, double dz)
{
    static const double turn[3][3] = {{0.8, -0.48, 0.36}, {0.6, 0.64, -0.48}, {0, 0.6, 0.8}};
    const double edge[3] = {dx, dy, dz};
    clvox_grid grid = {{nx, ny, nz}, {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 1}}};
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            grid.to_ras[r][c] = turn[r][c] * edge[c];
            grid.to_ras[r][3] -= grid.to_ras[r][c] * (grid.size[c] / 2);
        }
    return grid;
}

static void position(const clvox_grid *grid, size_t i, double x[3])
{
    size_t nx = (size_t)grid->size[0], ny = (size_t)grid->size[1];
    const double at[3] = {(double)(i % nx), (double)(i / nx % ny), (double)(i / nx / ny)};
    clv_matrix_apply(grid->to_ras, at, x);
}

static clvox_volume *volume(const clvox_grid *grid, int frames, float value)
{
    clvox_volume *v;
    assert_ok(clvox_volume_create(grid, frames, CLVOX_KIND_SCALAR, &v));
    for (size_t i = 0; i < clvox_grid_voxels(grid) * (size_t)frames; i++)
        v->data[i] = value;
    return v;
}

static clvox_volume *gaussian(const clvox_volume *in, double sx, double sy, double sz, int in_voxels)
{
    clvox_volume *out;
    assert_ok(clvox_filter_gaussian(ctx, in, (const double[3]){sx, sy, sz}, in_voxels, &out));
    return out;
}

static clvox_volume *sobel(const clvox_volume *in)
{
    clvox_volume *out;
    assert_ok(clvox_filter_sobel(ctx, in, &out));
    return out;
}

static clvox_volume *unsharp(const clvox_volume *in, double sigma, double amount)
{
    clvox_volume *out;
    assert_ok(clvox_filter_unsharp(ctx, in, (const double[3]){sigma, sigma, sigma}, 0, amount, &out));
    return out;
}

static double farthest(const clvox_volume *v, double from)
{
    double largest = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&v->grid) * (size_t)v->frames; i++)
        largest = fmax(largest, isnan(v->data[i]) ? INFINITY : fabs((double)v->data[i] - from));
    return largest;
}

/* Sum and second moments in RAS mm about the origin, where the point was. */
static double spread(const clvox_volume *v, double m[3][3])
{
    double sum = 0;
    memset(m, 0, 9 * sizeof(double));
    for (size_t i = 0; i < clvox_grid_voxels(&v->grid); i++) {
        double x[3];
        position(&v->grid, i, x);
        sum += (double)v->data[i];
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                m[r][c] += (double)v->data[i] * x[r] * x[c];
    }
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            m[r][c] /= sum;
    return sum;
}

static clvox_volume *point(const clvox_grid *grid)
{
    clvox_volume *v = volume(grid, 1, 0);
    const int *n = grid->size;
    v->data[((size_t)(n[2] / 2) * (size_t)n[1] + (size_t)(n[1] / 2)) * (size_t)n[0] + (size_t)(n[0] / 2)] = 1;
    return v;
}

static void a_point_smoothed_by_3_mm_on_an_anisotropic(void **state)
{
    (void)state;
    double m[3][3];
    const clvox_grid grid = turned(23, 25, 13, 1.2, 1.1, 2.4);
    clvox_volume *in = point(&grid), *out = gaussian(in, 3, 3, 3, 0);
    double sum = spread(out, m);
    assert_that(fabs(sum - 1) < 1e-5, "sum %g", sum);
    /* Cut at 3 sigma, a Gaussian loses up to 2.7 % of its variance. */
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            assert_that(fabs(m[r][c] - (r == c ? 9 : 0)) < 0.27, "moment %d %d: %g", r, c, m[r][c]);
    assert_true(clvox_grid_equal(&in->grid, &out->grid) && out->type == CLVOX_TYPE_FLOAT32);
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&out);
}

static void sigma_in_voxels_another_along_each_axis_0(void **state)
{
    (void)state;
    double m[3][3];
    const clvox_grid grid = turned(23, 25, 13, 1.2, 1.1, 2.4);
    clvox_volume *in = point(&grid), *out = gaussian(in, 2.5, 0, 1.25, 1);
    double sum = spread(out, m);
    double want[3] = {2.5 * 1.2, 0, 1.25 * 2.4}, moments = 0;
    for (int a = 0; a < 3; a++) {
        double column[3], along = 0;
        for (int r = 0; r < 3; r++)
            column[r] = grid.to_ras[r][a] / (a == 0 ? 1.2 : a == 1 ? 1.1 : 2.4);
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                along += column[r] * m[r][c] * column[c];
        double variance = want[a] * want[a];
        assert_that(fabs(along - variance) <= 0.03 * variance + 1e-4, "axis %d: %g", a, along);
        moments += m[a][a];
    }
    assert_that(fabs(sum - 1) < 1e-5 && fabs(moments - 18) < 0.54, "sum %g, moments %g", sum, moments);
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&out);
}

static void a_wide_gaussian_keeps_its_width_too(void **state)
{
    (void)state;
    double m[3][3];
    const clvox_grid grid = turned(401, 1, 2, 0.5, 1, 3);
    clvox_volume *in = point(&grid), *out = gaussian(in, 12, 0, 0, 0);
    double sum = spread(out, m);
    double variance = m[0][0] + m[1][1] + m[2][2];
    assert_that(fabs(sum - 1) < 1e-4 && fabs(variance / 144 - 1) < 0.03, "sum %g, variance %g", sum,
                variance);
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&out);
}

static void test_width(void)
{
    test_case(a_point_smoothed_by_3_mm_on_an_anisotropic,
              "a point smoothed by 3 mm on an anisotropic oblique grid is as wide in every direction");
    test_case(sigma_in_voxels_another_along_each_axis_0,
              "sigma in voxels, another along each axis, 0 leaves one alone");
    test_case(a_wide_gaussian_keeps_its_width_too, "a wide Gaussian keeps its width, too");
}

static const int constant_sizes[][3] = {{19, 14, 11}, {1, 1, 1}, {13, 9, 1}, {1, 7, 1}, {2, 1, 5}};

static void a_constant_of_x_x_stays_and_has_no_edges(void **state)
{
    const int *given = *state;
    size_t s = (size_t)given[0];
    const int *n = constant_sizes[s];
    clvox_grid grid = turned(n[0], n[1], n[2], 1.2, 1.1, 2.4);
    clvox_volume *in = volume(&grid, 1, -731.25f), *out;
    double error = farthest(out = gaussian(in, 3, 3, 3, 0), -731.25);
    assert_that(error < 1e-3, "narrow Gaussian: %g", error);
    clvox_volume_destroy(&out);
    error = farthest(out = gaussian(in, CLVOX_MAX_SIGMA, CLVOX_MAX_SIGMA, CLVOX_MAX_SIGMA, 1), -731.25);
    assert_that(error < 0.1, "widest Gaussian: %g", error);
    clvox_volume_destroy(&out);
    error = farthest(out = gaussian(in, 0, 0, 0, 0), -731.25);
    assert_that(error == 0, "no Gaussian: %g", error);
    clvox_volume_destroy(&out);
    error = farthest(out = sobel(in), 0);
    assert_that(error < 1e-3, "Sobel: %g", error);
    clvox_volume_destroy(&out);
    error = farthest(out = unsharp(in, 3, 2), -731.25);
    assert_that(error < 3e-3, "unsharp: %g", error);
    clvox_volume_destroy(&out);
    clvox_volume_destroy(&in);
}

static void test_constant(void)
{
    for (size_t s = 0; s < sizeof constant_sizes / sizeof constant_sizes[0]; s++) {
        const int *n = constant_sizes[s];
        test_case_at(a_constant_of_x_x_stays_and_has_no_edges, TEST_AT((int)s),
                     "a constant of %d x %d x %d stays, and has no edges", n[0], n[1], n[2]);
    }
}

static const int slope_sizes[][3] = {{21, 17, 9}, {11, 6, 1}, {2, 3, 2}};
static const double slope[3] = {0.7, -0.4, 1.1};

static void sobel_of_a_ramp_is_its_slope_a_millimetre_x(void **state)
{
    const int *given = *state;
    size_t s = (size_t)given[0];
    const int *n = slope_sizes[s];
    clvox_grid grid = turned(n[0], n[1], n[2], 0.8, 1.3, 2.4);
    clvox_volume *in = volume(&grid, 1, 0), *out;
    for (size_t i = 0; i < clvox_grid_voxels(&grid); i++) {
        double x[3];
        position(&grid, i, x);
        in->data[i] = (float)(slope[0] * x[0] + slope[1] * x[1] + slope[2] * x[2]);
    }
    /* Beyond the border edge values are repeated: half of the slope there, and none along axes of one
     * voxel. */
    const double edge[3] = {0.8, 1.3, 2.4};
    double along[3] = {0};
    for (int a = 0; a < 3; a++)
        for (int r = 0; r < 3; r++)
            along[a] += slope[r] * grid.to_ras[r][a] / edge[a];
    out = sobel(in);
    for (int i = 0; i < n[0] * n[1] * n[2]; i++) {
        const int at[3] = {i % n[0], i / n[0] % n[1], i / (n[0] * n[1])};
        double squares = 0;
        for (int a = 0; a < 3; a++) {
            double found = along[a] * ((at[a] > 0) + (at[a] < n[a] - 1)) / 2;
            squares += found * found;
        }
        double error = fabs((double)out->data[i] - sqrt(squares));
        assert_that(error < 2e-5, "voxel %d: error %g of %g", i, error, sqrt(squares));
    }
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&out);
}

static void test_slope(void)
{
    for (size_t s = 0; s < 3; s++) {
        const int *n = slope_sizes[s];
        test_case_at(sobel_of_a_ramp_is_its_slope_a_millimetre_x, TEST_AT((int)s),
                     "Sobel of a ramp is its slope a millimetre, %d x %d x %d", n[0], n[1], n[2]);
    }
}

static void test_unsharp(void **state)
{
    (void)state;
    clvox_grid grid = turned(19, 14, 11, 1.2, 1.1, 2.4);
    clvox_volume *in = volume(&grid, 1, 0);
    size_t n = clvox_grid_voxels(&grid);
    harness_random(in->data, n, 5, -100, 100);
    clvox_volume *smooth = gaussian(in, 3, 3, 3, 0), *sharp = unsharp(in, 3, 1.5), *same = unsharp(in, 3, 0);
    double error = 0, change = 0;
    for (size_t i = 0; i < n; i++) {
        double want = (double)in->data[i] + 1.5 * ((double)in->data[i] - (double)smooth->data[i]);
        error = fmax(error, fabs((double)sharp->data[i] - want));
        change = fmax(change, fabs((double)(same->data[i] - in->data[i])));
    }
    assert_that(error < 1e-3 && change < 1e-4, "error %g, change %g", error, change);
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&smooth);
    clvox_volume_destroy(&sharp);
    clvox_volume_destroy(&same);
}

static void frames_do_not_know_one_another_and_keep(void **state)
{
    (void)state;
    const clvox_grid grid = turned(19, 14, 11, 1.2, 1.1, 2.4);
    size_t n = clvox_grid_voxels(&grid);
    clvox_volume *all = volume(&grid, 3, 0), *one = volume(&grid, 1, 0);
    harness_random(all->data, 3 * n, 9, -100, 100);
    all->data[n + 5] = NAN; /* stays in the second */
    all->frame_seconds = 2.5;
    all->type = CLVOX_TYPE_INT16;
    clvox_volume *filtered[3] = {gaussian(all, 3, 3, 3, 0), sobel(all), unsharp(all, 3, 1)};
    for (size_t f = 0; f < 3; f++) {
        if (f == 1)
            continue;
        memcpy(one->data, all->data + f * n, n * sizeof(float));
        clvox_volume *alone[3] = {gaussian(one, 3, 3, 3, 0), sobel(one), unsharp(one, 3, 1)};
        for (int k = 0; k < 3; k++) {
            assert_memory_equal(alone[k]->data, filtered[k]->data + f * n, n * sizeof(float));
            clvox_volume_destroy(&alone[k]);
        }
    }
    for (int k = 0; k < 3; k++) {
        assert_true(filtered[k]->frames == 3 && filtered[k]->frame_seconds == 2.5);
        assert_true(filtered[k]->type == CLVOX_TYPE_FLOAT32 && isnan(filtered[k]->data[n + 5]));
        clvox_volume_destroy(&filtered[k]);
    }
    clvox_volume_destroy(&all);
    clvox_volume_destroy(&one);
}

static void vectors_stay_vectors_when_smoothed_their(void **state)
{
    (void)state;
    const clvox_grid grid = turned(19, 14, 11, 1.2, 1.1, 2.4);
    clvox_volume *all;
    assert_ok(clvox_volume_create(&grid, 3, CLVOX_KIND_DISPLACEMENT, &all));
    clvox_volume *smooth = gaussian(all, 3, 3, 3, 0), *edges = sobel(all);
    assert_true(smooth->kind == CLVOX_KIND_DISPLACEMENT && smooth->frames == 3);
    assert_true(edges->kind == CLVOX_KIND_SCALAR && edges->frames == 3);
    clvox_volume_destroy(&all);
    clvox_volume_destroy(&smooth);
    clvox_volume_destroy(&edges);
}

static void test_frames(void)
{
    test_case(frames_do_not_know_one_another_and_keep,
              "frames do not know one another, and keep their distance in time");
    test_case(vectors_stay_vectors_when_smoothed_their,
              "vectors stay vectors when smoothed; their edges are scalars");
}

static void test_not_finite(void **state)
{
    (void)state;
    clvox_grid grid = turned(41, 3, 5, 1.2, 1.1, 2.4);
    size_t n = clvox_grid_voxels(&grid);
    clvox_volume *in = volume(&grid, 1, 7);
    const size_t at = ((size_t)2 * 3 + 1) * 41 + 20;
    in->data[at] = NAN;
    clvox_volume *narrow = gaussian(in, 2.5, 0, 0, 1), *wide = gaussian(in, 12, 0, 0, 1), *edges = sobel(in);
    for (size_t i = 0; i < n; i++) {
        size_t x = i % 41, y = i / 41 % 3, z = i / 41 / 3;
        bool line = y == 1 && z == 2, near = x >= 19 && x <= 21 && z >= 1 && z <= 3;
        assert_that(isnan(narrow->data[i]) == (line && x >= 12 && x <= 28), "narrow: %g at %zu",
                    (double)narrow->data[i], i);
        assert_that(isnan(wide->data[i]) == line, "wide: %g at %zu", (double)wide->data[i], i);
        assert_that(near || edges->data[i] == 0, "Sobel: %g at %zu", (double)edges->data[i], i);
    }
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&narrow);
    clvox_volume_destroy(&wide);
    clvox_volume_destroy(&edges);
}

/* ---- median ------------------------------------------------------------- */

static clvox_volume *median(const clvox_volume *in, int rx, int ry, int rz)
{
    clvox_volume *out;
    assert_ok(clvox_filter_median(ctx, in, (const int[3]){rx, ry, rz}, &out));
    return out;
}

/* On an odd, anisotropic grid, a prime line and a plane: a constant with single wrong voxels is a
 * constant again, a step stays where it is, and two frames do not mix. */
static void median_of_spikes_and_a_step(void **state)
{
    (void)state;
    static const int sizes[][3] = {{13, 7, 5}, {31, 1, 1}, {17, 11, 1}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        clvox_grid grid = turned(sizes[s][0], sizes[s][1], sizes[s][2], 0.8, 1.3, 3);
        clvox_volume *in = volume(&grid, 2, 7);
        size_t nx = (size_t)sizes[s][0], voxels = clvox_grid_voxels(&grid);
        for (size_t i = 0; i < voxels; i++)
            if (i % nx >= nx / 2)
                in->data[voxels + i] = 9;
        in->data[2] = NAN;
        in->data[voxels + 2] = INFINITY;
        in->data[nx - 3] = -1e30f;
        clvox_volume *out = median(in, 1, 1, 1);
        assert_true(clvox_grid_equal(&in->grid, &out->grid) && out->frames == 2);
        for (size_t i = 0; i < voxels; i++) {
            const float right = i % nx >= nx / 2 ? 9 : 7;
            assert_float_equal(out->data[i], 7, 0);
            assert_float_equal(out->data[voxels + i], right, 0);
        }
        clvox_volume_destroy(&out);
        out = median(in, 0, 0, 0);
        assert_true(isnan(out->data[2]));
        out->data[2] = in->data[2];
        assert_memory_equal(in->data, out->data, 2 * voxels * sizeof(float));
        clvox_volume_destroy(&in);
        clvox_volume_destroy(&out);
    }
}

static void median_radii_that_are_refused(void **state)
{
    (void)state;
    clvox_grid grid = turned(3, 3, 3, 1, 1, 1);
    clvox_volume *in = volume(&grid, 1, 1), *out = in;
    assert_true(clvox_filter_median(ctx, in, (const int[3]){1, 1, CLVOX_MEDIAN_RADIUS + 1}, &out) ==
                    CLVOX_ERROR_ARGUMENT && !out);
    assert_true(clvox_filter_median(ctx, in, (const int[3]){-1, 1, 1}, &out) == CLVOX_ERROR_ARGUMENT && !out);
    in->kind = CLVOX_KIND_LABEL;
    assert_true(clvox_filter_median(ctx, in, (const int[3]){1, 1, 1}, &out) == CLVOX_ERROR_ARGUMENT && !out);
    clvox_volume_destroy(&in);
}

static const double fine[3] = {1, 1, 1};

static void widths_and_amounts_that_make_no_sense(void **state)
{
    (void)state;
    static const double bad[][3] = {{1, -1, 1}, {NAN, 1, 1}, {1, 1, INFINITY}, {1, 1, 5000}};
    clvox_grid grid = turned(4, 3, 2, 1, 1, 1);
    clvox_volume *in = volume(&grid, 1, 1), *out = in;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_true(clvox_filter_gaussian(ctx, in, bad[i], 0, &out) == CLVOX_ERROR_ARGUMENT && !out);
        assert_true(strstr(clvox_message(), "sigma"));
        assert_true(clvox_filter_unsharp(ctx, in, bad[i], 1, 1, &out) == CLVOX_ERROR_ARGUMENT && !out);
    }
    assert_true(clvox_filter_unsharp(ctx, in, fine, 0, NAN, &out) == CLVOX_ERROR_ARGUMENT && !out);
    assert_true(clvox_filter_unsharp(ctx, in, fine, 0, 1e300, &out) == CLVOX_ERROR_ARGUMENT && !out);
    assert_true(strstr(clvox_message(), "amount"));
    clvox_volume_destroy(&in);
}

static void labels_are_refused(void **state)
{
    (void)state;
    clvox_grid grid = turned(4, 3, 2, 1, 1, 1);
    clvox_volume *in = volume(&grid, 1, 1), *out = in;
    in->kind = CLVOX_KIND_LABEL;
    assert_true(clvox_filter_gaussian(ctx, in, fine, 0, &out) == CLVOX_ERROR_ARGUMENT && !out);
    assert_true(clvox_filter_sobel(ctx, in, &out) == CLVOX_ERROR_ARGUMENT && !out);
    assert_true(clvox_filter_unsharp(ctx, in, fine, 0, 1, &out) == CLVOX_ERROR_ARGUMENT && !out);
    assert_true(strstr(clvox_message(), "label"));
    clvox_volume_destroy(&in);
}

static void sobel_refuses_a_sheared_grid_the_gaussian(void **state)
{
    (void)state;
    clvox_grid grid = turned(4, 3, 2, 1, 1, 1);
    for (int r = 0; r < 3; r++)
        grid.to_ras[r][1] += 0.05 * grid.to_ras[r][0];
    clvox_volume *in = volume(&grid, 1, 1), *out = in;
    assert_true(clvox_filter_sobel(ctx, in, &out) == CLVOX_ERROR_ARGUMENT && !out);
    assert_true(strstr(clvox_message(), "right angles"));
    out = gaussian(in, 1, 1, 1, 0);
    assert_true(farthest(out, 1) < 1e-6);
    clvox_volume_destroy(&out);
    clvox_volume_destroy(&in);
}

static void test_refusals(void)
{
    test_case(widths_and_amounts_that_make_no_sense, "widths and amounts that make no sense are refused");
    test_case(labels_are_refused, "labels are refused");
    test_case(sobel_refuses_a_sheared_grid_the_gaussian,
              "Sobel refuses a sheared grid, the Gaussian takes it");
}

int main(void)
{
    ctx = harness_open();
    test_width();
    test_constant();
    test_slope();
    test_case(test_unsharp, "unsharp masking adds what the Gaussian took, and 0 of it changes nothing");
    test_frames();
    test_case(test_not_finite, "a NaN spreads as far as the weights reach");
    test_case(median_of_spikes_and_a_step, "the median takes spikes and NaN away, and leaves a step");
    test_case(median_radii_that_are_refused, "the median refuses radii out of range and labels");
    test_refusals();
    return test_run("filter", harness_close);
}
