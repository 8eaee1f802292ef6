/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/velocity_sum.h"

#include <math.h>
#include <stdlib.h>

#include "op/harness.h"
#include "ref/field/velocity_sum.h"

static void fill(float *u, float *back, double *uu, double *bb, size_t n, unsigned seed)
{
    harness_random(u, n, seed, -30, 30);
    harness_random(back, n, seed + 1, -30, 30);
    for (size_t i = 0; i < n; i++) {
        if (i % 7 == 3) /* small ones, whose difference is exact */
            back[i] = u[i] * (1 + 0x1p-20f);
        if (i % 101 == 50)
            u[i] = i % 2 ? NAN : INFINITY;
        uu[i] = (double)u[i];
        bb[i] = (double)back[i];
    }
}

/* Two subjects: within rounding of the reference, and the same whole numbers as the host's. */
static void run(clvox_context *ctx, int n)
{
    const size_t count = (size_t)n;
    float *u = malloc(count * sizeof *u), *back = malloc(count * sizeof *back);
    double *uu = malloc(count * sizeof *uu), *bb = malloc(count * sizeof *bb),
           *want = calloc(count, sizeof *want);
    int32_t *got = malloc(count * sizeof *got), *same = calloc(count, sizeof *same);
    const float weights[2] = {1, .3f}, unit = clv_velocity_unit(2);
    clv_buffer *sum = harness_output(ctx, count * sizeof *got);
    assert_ok(clv_buffer_fill(ctx, sum, 0, 0, count * sizeof *got));
    for (unsigned s = 0; s < 2; s++) {
        fill(u, back, uu, bb, count, 3 * s + 1);
        clv_buffer *du = harness_upload(ctx, u, count * sizeof *u);
        clv_buffer *db = harness_upload(ctx, back, count * sizeof *back);
        assert_ok(clv_velocity_sum(ctx, HARNESS_LINE(du, n, 1), db, weights[s], unit, sum));
        ref_velocity_sum(uu, bb, (double)weights[s], (double)unit, count, want);
        for (size_t i = 0; i < count; i++)
            same[i] += clv_velocity_whole(u[i], back[i], weights[s], unit);
        clv_buffer_destroy(&du);
        clv_buffer_destroy(&db);
    }
    harness_download(ctx, sum, got, count * sizeof *got);
    for (size_t i = 0; i < count; i++) {
        assert_that(got[i] == same[i], "%d numbers, number %zu: %d, on the host %d", n, i, got[i], same[i]);
        const double error = fabs((double)got[i] - want[i]);
        assert_that(error <= 1 + 3e-7 * 60 * (double)unit, "%d numbers, number %zu: %g units off", n, i,
                    error);
    }
    clv_buffer_destroy(&sum);
    free(u);
    free(back);
    free(uu);
    free(bb);
    free(want);
    free(got);
    free(same);
}

static void sums(void **state)
{
    static const int sizes[] = {1, 3, 1021, 3 * 37 * 5 * 3, 16384 + 13};
    (void)state;
    for (int i = 0; i < harness_problems(3, 5); i++)
        run(harness_context(), sizes[i]);
}

/* Vast velocities are cut, so that no sum wraps around. */
static void vast(void **state)
{
    const float u[4] = {1e30f, -1e30f, 256, -900}, back[4] = {0, 0, -256, 900};
    const int32_t want[4] = {1 << 30, -(1 << 30), 1 << 30, -(1 << 30)};
    int32_t got[4];
    clvox_context *ctx = harness_context();
    (void)state;
    clv_buffer *du = harness_upload(ctx, u, sizeof u), *db = harness_upload(ctx, back, sizeof back);
    clv_buffer *sum = harness_output(ctx, sizeof got);
    assert_ok(clv_buffer_fill(ctx, sum, 0, 0, sizeof got));
    assert_ok(clv_velocity_sum(ctx, HARNESS_LINE(du, 4, 1), db, 1, clv_velocity_unit(1), sum));
    harness_download(ctx, sum, got, sizeof got);
    for (int i = 0; i < 4; i++)
        assert_that(got[i] == want[i], "%d, not %d", got[i], want[i]);
    clv_buffer_destroy(&du);
    clv_buffer_destroy(&db);
    clv_buffer_destroy(&sum);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_velocity_sum, sums, NULL, 0, "sums");
    harness_cases_first(&clv_entry_velocity_sum, vast, NULL, 0, "vast velocities");
    return test_run("velocity_sum", harness_close);
}
