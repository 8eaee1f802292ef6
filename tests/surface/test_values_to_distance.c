/* SPDX-License-Identifier: Apache-2.0 */
/* Distances from masks and grey values on turned, mirrored and oblong grids. */
#include "op/harness.h"
#include "mesh/mesh.h"

static clvox_context *ctx;

/* A turned grid of 40 x 36 x 24 voxels of 1 x 1.1 x 1.6 mm around the origin. */
static clvox_grid grid_of(bool mirrored)
{
    static const double turn[3][3] = {{0.8, -0.48, 0.36}, {0.6, 0.64, -0.48}, {0, 0.6, 0.8}};
    const double edge[3] = {mirrored ? -1 : 1, 1.1, 1.6};
    clvox_grid grid = {{40, 36, 24}, {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 1}}};
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            grid.to_ras[r][c] = turn[r][c] * edge[c];
            grid.to_ras[r][3] -= grid.to_ras[r][c] * (grid.size[c] - 1.3) / 2;
        }
    return grid;
}

/* The signed distance in mm to a ball of 11 mm around the origin. */
static double ball(const clvox_grid *grid, size_t i)
{
    size_t nx = (size_t)grid->size[0], ny = (size_t)grid->size[1];
    const double at[3] = {(double)(i % nx), (double)(i / nx % ny), (double)(i / nx / ny)};
    double square = 0;
    for (int r = 0; r < 3; r++) {
        double x = grid->to_ras[r][3];
        for (int c = 0; c < 3; c++)
            x += grid->to_ras[r][c] * at[c];
        square += x * x;
    }
    return sqrt(square) - 11;
}

static clvox_volume *make(const clvox_grid *grid, bool mask)
{
    clvox_volume *v;
    assert_ok(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &v));
    for (size_t i = 0; i < clvox_grid_voxels(grid); i++) {
        double d = ball(grid, i);
        v->data[i] = mask ? d < 0 : (float)(100 / (1 + exp(d / 2)));
    }
    return v;
}

static void a_ball(void **state)
{
    const int *given = *state;
    bool mask = given[0];
    bool mirrored = given[1];
    clvox_grid grid = grid_of(mirrored);
    clvox_volume *in = make(&grid, mask), *out = NULL;
    double mean = 0, square = 0, count = 0, largest = 0;
    assert_int_equal(clvox_distance_from_values(ctx, in, mask ? 0.5 : 50, &out), CLVOX_OK);
    for (size_t i = 0; out && i < clvox_grid_voxels(&grid); i++) {
        double off = (double)out->data[i] - ball(&grid, i);
        mean += off;
        square += off * off;
        count++;
        largest = fmax(largest, isnan(off) ? INFINITY : fabs(off));
    }
    mean /= count;
    square = sqrt(square / count);
    /* Far from a mask its staircase looks as far as its steps stick out. */
    assert_that(out && fabs(mean) < (mask ? 0.25 : 0.06) && square < (mask ? 0.35 : 0.08) &&
                    largest < (mask ? 1 : 0.25),
                "mean %g, rms %g, largest %g mm", mean, square, largest);
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&out);
}

static void accuracy(bool mask, bool mirrored)
{
    test_case_at(a_ball, TEST_AT(mask, mirrored), "a ball from %s%s", mask ? "a mask" : "grey values",
                 mirrored ? ", mirrored grid" : "");
}

static void faces(void **state)
{
    (void)state;
    static const clvox_grid grid = {{12, 11, 10}, {{2, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 3, 0}, {0, 0, 0, 1}}};
    clvox_volume *in, *out = NULL;
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &in));
    for (int axis = 0; axis < 3; axis++) {
        const double edge[3] = {2, 1, 3};
        double worst = 0;
        for (int i = 0; i < 12 * 11 * 10; i++) {
            const int at[3] = {i % 12, i / 12 % 11, i / 132};
            in->data[i] = at[axis] >= 5;
        }
        assert_int_equal(clvox_distance_from_values(ctx, in, 0.5, &out), CLVOX_OK);
        for (int i = 0; out && i < 12 * 11 * 10; i++) {
            const int at[3] = {i % 12, i / 12 % 11, i / 132};
            worst = fmax(worst, fabs((double)out->data[i] - (4.5 - at[axis]) * edge[axis]));
        }
        assert_that(worst < 2e-3, "axis %d: %g mm off", axis, worst);
        clvox_volume_destroy(&out);
    }
    clvox_volume_destroy(&in);
}

static void refused(void **state)
{
    (void)state;
    clvox_grid grid = grid_of(false);
    clvox_volume *in = make(&grid, true), *out = NULL;
    assert_true(clvox_distance_from_values(ctx, in, 1, &out) == CLVOX_ERROR_ARGUMENT && !out);
    assert_true(strstr(clvox_message(), "no value is above 1"));
    assert_true(clvox_distance_from_values(ctx, in, -1, &out) == CLVOX_ERROR_ARGUMENT && !out);
    assert_true(strstr(clvox_message(), "every value is above -1"));
    in->grid.to_ras[0][1] += 0.1;
    assert_true(clvox_distance_from_values(ctx, in, 0.5, &out) == CLVOX_ERROR_ARGUMENT && !out);
    assert_true(strstr(clvox_message(), "right angles"));
    clvox_volume_destroy(&in);
    assert_ok(clvox_volume_create(&grid, 2, CLVOX_KIND_SCALAR, &in));
    assert_true(clvox_distance_from_values(ctx, in, 0.5, &out) == CLVOX_ERROR_ARGUMENT && !out);
    clvox_volume_destroy(&in);
}

int main(void)
{
    ctx = harness_open();
    for (int i = 0; i < 4; i++)
        accuracy(i & 1, i & 2);
    test_case(faces, "flat faces of a mask lie half-way between voxels");
    test_case(refused, "no surface, several volumes and sheared grids are refused");
    return test_run("values to distance", harness_close);
}
