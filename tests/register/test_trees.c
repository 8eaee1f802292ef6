/* SPDX-License-Identifier: Apache-2.0 */
/* Trees fitted one after another, and what they look at around each voxel: known answers. */
#include <math.h>
#include <string.h>

#include "clvox/threads.h"
#include "op/harness.h"
#include "register/contrast/around.h"

enum { ROWS = 40000, KNOWN = 20000, F = CLV_TREE_FEATURES };

static clvox_context *ctx;
static uint8_t bins[ROWS * F];
static float random_bins[ROWS * F], value[KNOWN], out[ROWS], again[ROWS], noise[KNOWN];
static uint32_t at[KNOWN];

/* Every second row is known. */
static clv_trees trees_of(void)
{
    harness_random(random_bins, ROWS * F, 11, 0, CLV_TREE_BINS - .001f);
    harness_random(noise, KNOWN, 12, -1, 1);
    for (int i = 0; i < ROWS * F; i++)
        bins[i] = (uint8_t)random_bins[i];
    for (uint32_t i = 0; i < KNOWN; i++)
        at[i] = 2 * i;
    return (clv_trees){
        .rows = ROWS, .bins = bins, .samples = KNOWN, .at = at, .value = value, .count = 60, .rate = .1};
}

/* Truth of one feature; of two of which neither tells anything alone; of a smooth function of three. */
static double truth(int which, const uint8_t *row)
{
    const bool a = row[3] > 20, b = row[F - 1] > 40;
    if (which == 0)
        return a ? 2 : -1;
    return which == 1 ? (a == b) - .5 : (row[0] + .5 * row[4] - row[7]) / CLV_TREE_BINS;
}

static void values_are_learned(void **state)
{
    static const double LEAST[] = {.01, .03, .1};
    const int which = *(const int *)*state;
    double error = 0, deviation = 0;
    const clv_trees t = trees_of();
    for (int i = 0; i < KNOWN; i++)
        value[i] = (float)truth(which, bins + F * (size_t)at[i]) + .2f * noise[i];
    assert_ok(clv_trees_say(&t, out));
    for (size_t i = 1; i < ROWS; i += 2) { /* that were not shown */
        const double v = truth(which, bins + F * i);
        error += pow((double)out[i] - v, 2);
        deviation += v * v;
    }
    assert_that(error < LEAST[which] * deviation, "%g of %g", error, deviation);
}

/* Noise that no feature tells is not learned. */
static void noise_is_left(void **state)
{
    (void)state;
    double said = 0, deviation = 0;
    const clv_trees t = trees_of();
    memcpy(value, noise, sizeof value);
    assert_ok(clv_trees_say(&t, out));
    for (size_t i = 0; i < ROWS; i++)
        said += pow((double)out[i], 2) / ROWS;
    for (int i = 0; i < KNOWN; i++)
        deviation += pow((double)noise[i], 2) / KNOWN;
    assert_that(said < .04 * deviation, "%g of %g", said, deviation);
}

static void threads_do_not_count(void **state)
{
    (void)state;
    const clv_trees t = trees_of();
    for (int i = 0; i < KNOWN; i++)
        value[i] = (float)truth(2, bins + F * (size_t)at[i]) + noise[i];
    clvox_threads_set(1);
    assert_ok(clv_trees_say(&t, out));
    clvox_threads_set(3);
    assert_ok(clv_trees_say(&t, again));
    clvox_threads_set(0);
    assert_memory_equal(out, again, sizeof out);
}

static void nothing_known_says_nothing(void **state)
{
    (void)state;
    clv_trees t = trees_of();
    t.samples = 0;
    assert_ok(clv_trees_say(&t, out));
    for (int i = 0; i < ROWS; i++)
        assert_true(out[i] == 0);
}

enum { X = 48, Y = 20, Z = 16, N = X * Y * Z };
static float image[N];

static void look_around(const clvox_grid *grid, clv_around *around)
{
    const size_t bytes = N * sizeof(float);
    clv_buffer *buffers[4] = {harness_upload(ctx, image, bytes)};
    for (int i = 1; i < 4; i++)
        buffers[i] = harness_output(ctx, bytes);
    assert_ok(clv_around_make(ctx, grid, buffers[0], image, 1, image, buffers + 1, around));
    for (int i = 0; i < 4; i++)
        clv_buffer_destroy(&buffers[i]);
}

/* Beside a plane where an image rises from 0 to 1, deviations within s mm are those of a Gaussian cut in two:
 * above .03 up to 3.12 s, 18.7 mm of the widest. */
static void edges_are_seen(void **state)
{
    const double edge = *(const int *)*state;
    const clvox_grid grid = {{X, Y, Z}, {{edge, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 2, 0}, {0, 0, 0, 1}}};
    clv_around around;
    int mirrored = 0;
    for (int i = 0; i < N; i++)
        image[i] = i % X >= X / 2;
    look_around(&grid, &around);
    for (int i = 0; i < N; i++) {
        const double mm = fabs(i % X + .5 - X / 2) * edge;
        const uint8_t *row = around.bins + F * (size_t)around.row[i];
        if (fabs(mm - 18.7) > 1.5 * edge)
            assert_int_equal(around.row[i] != CLV_NO_ROW, mm < 18.7);
        if (around.row[i] == CLV_NO_ROW)
            continue;
        assert_true(row[F - 5] == row[F - 4]);
        assert_int_equal(row[F - 5] >= 32, image[i] > .5f);
        assert_int_equal(row[F - 3], i % X * 64 / X);
        assert_int_equal(row[F - 2], i / X % Y * 64 / Y);
        assert_int_equal(row[F - 1], i / X / Y * 64 / Z);
        /* Means rise along x, those within 12 mm even far away, and deviations fall from the plane. */
        const uint8_t *next = row + F;
        if (i % X + 1 < X && around.row[i + 1] != CLV_NO_ROW) {
            assert_true(next[1] >= row[1] && next[3] >= row[3] && next[5] >= row[5] && next[6] >= row[6]);
            assert_true(i % X + 1 < X / 2 ? next[0] >= row[0] : i % X >= X / 2 ? next[0] <= row[0] : true);
            if (fabs(mm - 15) < edge)
                assert_true(next[6] > row[6] && next[5] == row[5]);
            mirrored++;
        }
    }
    assert_true(mirrored > 100);
    clv_around_free(&around);
}

static void constants_have_no_rows(void **state)
{
    (void)state;
    const clvox_grid grid = {{X, Y, Z}, {{2, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 2, 0}, {0, 0, 0, 1}}};
    clv_around around;
    for (int i = 0; i < N; i++)
        image[i] = .7f;
    look_around(&grid, &around);
    assert_int_equal(around.rows, 0);
    clv_around_free(&around);
}

int main(void)
{
    ctx = harness_open();
    test_case_at(values_are_learned, TEST_AT(0), "what one feature tells is learned");
    test_case_at(values_are_learned, TEST_AT(1), "what two features tell together is learned");
    test_case_at(values_are_learned, TEST_AT(2), "a smooth function of three features is learned");
    test_case(noise_is_left, "what no feature tells is not learned");
    test_case(threads_do_not_count, "the same bits with any number of threads");
    test_case(nothing_known_says_nothing, "without samples the estimate is 0");
    test_case_at(edges_are_seen, TEST_AT(2), "deviations and means beside a plane, voxels of 2 mm");
    test_case_at(edges_are_seen, TEST_AT(1), "deviations and means beside a plane, voxels of 1 mm");
    test_case(constants_have_no_rows, "where nothing varies there is nothing to learn from");
    return test_run("trees", harness_close);
}
