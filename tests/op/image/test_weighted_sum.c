/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/weighted_sum.h"

#include <math.h>
#include <stdlib.h>

#include "op/harness.h"
#include "ref/image/weighted_sum.h"

enum { IMAGES = 3 };
static const float weights[IMAGES] = {1, .3f, 1e-9f};

/* Within half a whole number an image of the reference; a weight below the least counts as that. */
static void run(clvox_context *ctx, int n, float largest)
{
    const size_t count = (size_t)n;
    const clv_weighted_units units = clv_weighted_units_of((double)largest, IMAGES);
    float *x = malloc(count * sizeof *x);
    double *xx = malloc(count * sizeof *xx), *want = calloc(2 * count, sizeof *want);
    int32_t *got = malloc(2 * count * sizeof *got);
    clv_buffer *sums = harness_output(ctx, 2 * count * sizeof *got);
    assert_ok(clv_buffer_fill(ctx, sums, 0, 0, 2 * count * sizeof *got));
    for (unsigned s = 0; s < IMAGES; s++) {
        harness_random(x, count, 5 * s + 1, -largest, largest);
        for (size_t i = 0; i < count; i++) {
            if (i % 101 == 50)
                x[i] = i % 2 ? NAN : -INFINITY;
            if (i % 103 == 7)
                x[i] = NAN;
            xx[i] = (double)x[i];
        }
        clv_buffer *dx = harness_upload(ctx, x, count * sizeof *x);
        assert_ok(clv_weighted_sum(ctx, HARNESS_LINE(dx, n, 1), weights[s], &units, sums));
        ref_weighted_sum(xx, fmax((double)weights[s], 1 / (double)units.weight), count, want);
        clv_buffer_destroy(&dx);
    }
    harness_download(ctx, sums, got, 2 * count * sizeof *got);
    for (size_t i = 0; i < count; i++) {
        const double value = (double)got[2 * i] / (double)units.value,
                     weight = (double)got[2 * i + 1] / (double)units.weight,
                     mean = want[2 * i + 1] > 0 ? want[2 * i] / want[2 * i + 1] : 0;
        assert_that(fabs(value - want[2 * i]) <= 3e-7 * (double)largest, "%d values, %zu: %g, not %g", n, i,
                    value, want[2 * i]);
        assert_that(fabs(weight - want[2 * i + 1]) <= 1.6 / (double)units.weight,
                    "%d values, weight %zu: %g, not %g", n, i, weight, want[2 * i + 1]);
        const double of = (double)clv_weighted_mean(got + 2 * i, &units);
        assert_that(want[2 * i + 1] < .1 || fabs(of - mean) <= 1e-6 * (double)largest, "mean %zu: %g, not %g",
                    i, of, mean);
    }
    clv_buffer_destroy(&sums);
    free(x);
    free(xx);
    free(want);
    free(got);
}

static void sums(void **state)
{
    static const int sizes[] = {1, 3, 1021, 3 * 37 * 5, 16384 + 13};
    (void)state;
    for (int i = 0; i < harness_problems(3, 5); i++) {
        run(harness_context(), sizes[i], 100);
        run(harness_context(), sizes[i], 3e-5f);
    }
}

/* Values beyond four times the largest are clipped, so that no sum wraps around. */
static void vast(void **state)
{
    const float x[5] = {1e30f, -1e30f, 3.9f, 4, NAN};
    const clv_weighted_units units = clv_weighted_units_of(.99, 2);
    const int32_t most = 1 << 30,
                  want[10] = {most,    1 << 25, -most,   1 << 25, (int32_t)(3.9 * (1 << 28) + .5),
                              1 << 25, most,    1 << 25, 0,       0};
    int32_t got[10];
    clvox_context *ctx = harness_context();
    (void)state;
    clv_buffer *dx = harness_upload(ctx, x, sizeof x), *sums = harness_output(ctx, sizeof got);
    assert_ok(clv_buffer_fill(ctx, sums, 0, 0, sizeof got));
    for (int i = 0; i < 2; i++)
        assert_ok(clv_weighted_sum(ctx, HARNESS_LINE(dx, 5, 1), 1, &units, sums));
    harness_download(ctx, sums, got, sizeof got);
    for (int i = 0; i < 10; i++)
        assert_that(abs(got[i] - want[i]) <= 64, "%d, not %d", got[i], want[i]);
    clv_buffer_destroy(&dx);
    clv_buffer_destroy(&sums);
}

static void units_fit_any_count(void **state)
{
    (void)state;
    for (int count = 1; count <= 65536; count = count * 3 / 2 + 1)
        for (int e = -120; e <= 120; e += 40) {
            const double largest = ldexp(.99, e);
            const clv_weighted_units u = clv_weighted_units_of(largest, count);
            assert_true(isfinite(u.value) && (double)u.value > 0);
            assert_true((double)u.most * count <= 0x1p30 && (double)u.weight * count <= 0x1p30);
            assert_true(fmin(4 * largest * (double)u.value, (double)u.most) * count <= 0x1p30);
            assert_true(e < -90 || 4 * largest * (double)u.value >= (double)u.most / 2);
        }
}

int main(void)
{
    harness_open();
    test_case(units_fit_any_count, "units fit any number of images");
    harness_cases(&clv_entry_weighted_sum, sums, NULL, 0, "sums");
    harness_cases_first(&clv_entry_weighted_sum, vast, NULL, 0, "vast values");
    return test_run("weighted_sum", harness_close);
}
