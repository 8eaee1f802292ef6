/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/lddmm.h"
#include "bench/papers/ref/matching.h"
#include "op/harness.h"

#include <math.h>

enum { N = 13 * 10 * 9, STEPS = 3, ITERATIONS = 4 };
static const clv_fluid_operator op = {.size = {13, 10, 9}, .spacing = {1, 1, 1}, .alpha = .02f, .gamma = .05f,
                                      .periodic = true};

static void blob(float shift, float *out)
{
    for (int i = 0; i < N; i++) {
        const float x = (float)(i % 13) - 6 - shift, y = (float)(i / 13 % 10) - 4.5f,
                    z = (float)(i / 130) - 4;
        out[i] = expf(-(x * x + y * y + z * z) / 8);
    }
}

static void iterations_against_the_reference(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    clv_lddmm l;
    static float i0[N], i1[N], v[3 * STEPS * N], got[3 * N], u[3 * N], deformed[N];
    static double want[3 * N];
    blob(0, i0);
    blob(1.3f, i1);
    clv_buffer *a = harness_upload(ctx, i0, 4 * N), *b = harness_upload(ctx, i1, 4 * N);
    clv_buffer *map = harness_output(ctx, 12 * N);
    assert_ok(clv_lddmm_create(ctx, &op, STEPS, &l));
    l.sigma = .2f;
    for (int k = 0; k < ITERATIONS; k++) {
        assert_ok(clv_lddmm_iterate(ctx, &l, a, b));
        assert_true(l.epsilon > 0);
        ref_lddmm_iterate(&op, STEPS, l.sigma, l.epsilon, i0, i1, v);
    }
    for (int j = 0; j < STEPS; j++) {
        assert_ok(clv_buffer_copy(ctx, l.v[j], 0, map, 0, 12 * N));
        harness_download_field(ctx, map, got, N);
        for (int i = 0; i < 3 * N; i++)
            want[i] = (double)v[3 * N * j + i];
        const double error = harness_error(got, want, 3 * N, 2e-5, 2e-4);
        assert_that(error <= 1, "step %d: error %g", j, error);
    }
    /* The map takes the first image onto the second. */
    assert_ok(clv_lddmm_map(ctx, &l, map));
    harness_download_field(ctx, map, u, N);
    ref_greedy_deform(op.size, i0, u, deformed);
    double before = 0, after = 0;
    for (int i = 0; i < N; i++) {
        before += pow((double)i0[i] - (double)i1[i], 2);
        after += pow((double)deformed[i] - (double)i1[i], 2);
    }
    assert_that(after < .6 * before, "%g of %g", after, before);
    clv_lddmm_destroy(&l);
    clv_buffer *all[] = {a, b, map};
    for (int i = 0; i < 3; i++)
        clv_buffer_destroy(&all[i]);
}

static void too_many_steps_are_refused(void **state)
{
    (void)state;
    clv_lddmm l;
    assert_int_equal(clv_lddmm_create(harness_context(), &op, CLV_LDDMM_MOST + 1, &l), CLVOX_ERROR_ARGUMENT);
    clv_lddmm_destroy(&l);
}

int main(void)
{
    harness_open();
    test_case(iterations_against_the_reference, "iterations against the reference");
    test_case(too_many_steps_are_refused, "too many steps are refused");
    return test_run("lddmm", harness_close);
}
