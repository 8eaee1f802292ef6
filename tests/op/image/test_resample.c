/* SPDX-License-Identifier: Apache-2.0 */
#include "base/matrix.h"
#include "op/harness.h"
#include "op/image/resample.h"
#include "ref/image/resample.h"

/* Oblique, anisotropic, slightly sheared, left-handed. */
static const clvox_grid oblique = {{37, 23, 11},
                                   {{-0.8, 0.31, 0.2, 14.5},
                                    {0.25, 1.1, -0.4, -31},
                                    {0.1, 0.27, 2.9, 7.25},
                                    {0, 0, 0, 1}}};

static void grid_point(const clvox_grid *grid, double x, double y, double z, double out[3])
{
    clv_matrix_apply(CLV_MATRIX(grid->to_ras), (double[3]){x, y, z}, out);
}

static double distance(const double a[3], const double b[3])
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

static const double factors[][3] = {{1, 1, 1}, {2, 2, 2}, {4, 2, 1}, {1.37, 3.3, 100}, {0.5, 1, 1}};
static const int sizes[][3] = {{37, 23, 11}, {19, 12, 6}, {9, 12, 11}, {27, 7, 1}, {37, 23, 11}};

static void level_of_factors(void **state)
{
    const int *given = *state;
    int i = given[0];
    clvox_grid level;
    double a[3], b[3];
    clv_pyramid_grid(&oblique, factors[i], &level);
    assert_that(!memcmp(level.size, sizes[i], sizeof level.size), "%d %d %d", level.size[0], level.size[1],
                level.size[2]);
    for (int corner = 0; corner < 8; corner++) {
        const clvox_grid *grids[] = {&oblique, &level};
        double *points[] = {a, b};
        for (int g = 0; g < 2; g++)
            grid_point(grids[g], corner & 1 ? grids[g]->size[0] - 0.5 : -0.5,
                       corner & 2 ? grids[g]->size[1] - 0.5 : -0.5,
                       corner & 4 ? grids[g]->size[2] - 0.5 : -0.5, points[g]);
        assert_true(distance(a, b) < 1e-9);
    }
    assert_true(i != 0 || !memcmp(&level, &oblique, sizeof level));
    clv_pyramid_grid(&level, factors[0], &level); /* in place */
    assert_memory_equal(level.size, sizes[i], sizeof level.size);
}

static void levels(void)
{
    for (int i = 0; i < 5; i++)
        test_case_at(level_of_factors, TEST_AT(i), "level of factors %g %g %g", factors[i][0], factors[i][1],
                     factors[i][2]);
}

/* The map of a voxel with a displacement against the same way on paper. */
static const double world[4][4] = {{0.9, 0.2, -0.1, 3}, {-0.3, 1.2, 0.1, -5}, {0.1, 0, 0.8, 2}, {0, 0, 0, 1}};
static const clvox_grid maps_from = {{50, 40, 30},
                                     {{0, 0, 1.5, -20}, {2, 0.1, 0, -41}, {0, -1.2, 0.3, 30}, {0, 0, 0, 1}}};

static void map_between_oblique_grids(void **state)
{
    const int *given = *state;
    int with = given[0];
    clv_map map;
    double worst = 0;
    float sign = with ? -1 : 1;
    clv_map_between(&oblique, &maps_from, with ? world : NULL, sign, &map);
    for (int i = 0; i < 200; i++) {
        double at[3] = {i % 37, (7 * i) % 23, (5 * i) % 11}, u[3] = {i % 5 - 2, i % 7 - 3.5, i % 3};
        double p[3], ras[3], back[3];
        for (int a = 0; a < 3; a++) {
            const double(*m)[4] = oblique.to_ras;
            double spacing = sqrt(m[0][a] * m[0][a] + m[1][a] * m[1][a] + m[2][a] * m[2][a]);
            p[a] = at[a] + (double)sign * u[a] / spacing;
        }
        grid_point(&oblique, p[0], p[1], p[2], ras);
        if (with)
            clv_matrix_apply(world, ras, ras);
        for (int a = 0; a < 3; a++) {
            const float *l = map.linear[a], *s = map.shift[a];
            p[a] = (double)l[0] * at[0] + (double)l[1] * at[1] + (double)l[2] * at[2] + (double)l[3] +
                   (double)s[0] * u[0] + (double)s[1] * u[1] + (double)s[2] * u[2];
        }
        grid_point(&maps_from, p[0], p[1], p[2], back);
        worst = fmax(worst, distance(ras, back));
    }
    assert_that(worst < 1e-4, "%g mm", worst);
}

static void a_grid_maps_onto_itself_exactly(void **state)
{
    (void)state;
    clv_map map;
    clv_map_between(&oblique, &oblique, NULL, 1, &map);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            assert_true(map.linear[i][j] == (i == j ? 1.0f : 0.0f));
}

static void maps(void)
{
    for (int with = 0; with < 2; with++)
        test_case_at(map_between_oblique_grids, TEST_AT(with), "map between oblique grids, %s",
                     with ? "affine and minus u" : "header and plus u");
    test_case(a_grid_maps_onto_itself_exactly, "a grid maps onto itself exactly");
}

typedef struct downsample_given {
    int size[3];
    double factor[3];
    bool smooth_input;
} downsample_given;

static void downsampled(void **state)
{
    const downsample_given *given = *state;
    const int *size = given->size;
    const double *factor = given->factor;
    bool smooth_input = given->smooth_input;
    clvox_context *ctx = harness_context();
    clvox_grid from = oblique, to;
    memcpy(from.size, size, sizeof from.size);
    clv_pyramid_grid(&from, factor, &to);
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    size_t m = (size_t)to.size[0] * (size_t)to.size[1] * (size_t)to.size[2];
    float *in = malloc(n * sizeof *in), *got = malloc(m * sizeof *got);
    double *want = malloc(m * sizeof *want);
    harness_random(in, n, 21, -1, 1);
    for (size_t i = 0; smooth_input && i < n; i++)
        in[i] = 0.75f;
    clv_buffer *a = harness_upload(ctx, in, n * sizeof(float)), *out = harness_output(ctx, m * sizeof(float));
    clv_buffer *tmp = harness_output(ctx, n * sizeof(float)), *tmp2 = harness_output(ctx, n * sizeof(float));
    assert_that(clv_downsample(ctx, a, &from, (clv_buffer *[2]){tmp, tmp2}, out, &to) == CLVOX_OK, "%s",
                clvox_message());
    harness_download(ctx, out, got, m * sizeof(float));
    ref_downsample(in, size, want, to.size);
    /* The recursive Gaussian, where it is chosen, is an approximation. */
    double error = harness_error(got, want, m, smooth_input ? 1e-5 : 3e-3, 0);
    assert_that(error <= 1, "%g", error);
    clv_buffer_destroy(&a);
    clv_buffer_destroy(&out);
    clv_buffer_destroy(&tmp);
    clv_buffer_destroy(&tmp2);
    free(in);
    free(got);
    free(want);
}

static void downsample(const int size[3], const double factor[3], bool smooth_input)
{
    downsample_given given = {{size[0], size[1], size[2]}, {factor[0], factor[1], factor[2]}, smooth_input};
    clvox_grid from = oblique, to;
    memcpy(from.size, size, sizeof from.size);
    clv_pyramid_grid(&from, factor, &to);
    test_case_at(downsampled, TEST_OF(given), "%s %dx%dx%d to %dx%dx%d", smooth_input ? "constant" : "random",
                 size[0], size[1], size[2], to.size[0], to.size[1], to.size[2]);
}

int main(void)
{
    harness_open();
    levels();
    maps();
    downsample((int[3]){1, 1, 1}, (double[3]){2, 2, 2}, false);
    downsample((int[3]){1, 7, 5}, (double[3]){2, 2, 2}, false);
    downsample((int[3]){12, 9, 7}, (double[3]){2, 1.5, 1}, false);
    downsample((int[3]){12, 9, 7}, (double[3]){4, 2, 3}, true);
    if (!getenv("CLVOX_TEST_TINY")) {
        downsample((int[3]){67, 41, 13}, (double[3]){2, 2, 2}, false);
        downsample((int[3]){67, 41, 13}, (double[3]){4, 3.3, 1}, false);
        downsample((int[3]){67, 41, 13}, (double[3]){4, 3.3, 1}, true);
        downsample((int[3]){67, 41, 13}, (double[3]){1, 1, 1}, false);
    }
    return test_run("resample", harness_close);
}
