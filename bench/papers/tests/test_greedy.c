/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/greedy.h"
#include "bench/papers/ref/matching.h"
#include "op/harness.h"

#include <math.h>

static const int size[3] = {13, 10, 9};
enum { N = 13 * 10 * 9 };

/* A blob in the middle, moved. */
static void blob(float shift, float *out)
{
    for (int i = 0; i < N; i++) {
        const float x = (float)(i % 13) - 6 - shift, y = (float)(i / 13 % 10) - 4.5f,
                    z = (float)(i / 130) - 4;
        out[i] = expf(-(x * x + y * y + z * z) / 8);
    }
}

static const clv_fluid_operator op = {.size = {13, 10, 9}, .spacing = {1, 1, 1}, .alpha = .02f, .beta = .01f,
                                      .gamma = .05f, .periodic = true};

static double apart(const float *a, const float *b)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sum;
}

static void a_step_against_the_reference(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    clv_greedy g;
    static float image[N], target[N], weight[N], u[3 * N], v[3 * N], got[3 * N], want[3 * N];
    static double k[3 * N];
    blob(0, image);
    blob(1.3f, target);
    harness_random(weight, N, 5, .5f, 1.5f);
    harness_random(u, 3 * N, 7, -.7f, .7f);
    clv_buffer *a = harness_upload(ctx, image, 4 * N), *t = harness_upload(ctx, target, 4 * N);
    clv_buffer *w = harness_upload(ctx, weight, 4 * N), *from = harness_upload_field(ctx, u, N);
    clv_buffer *out = harness_output(ctx, 12 * N), *deformed = harness_output(ctx, 4 * N);
    assert_ok(clv_greedy_create(ctx, &op, &g));
    assert_ok(clv_greedy_velocity(ctx, &g, a, t, w));
    ref_greedy_velocity(&op, image, target, weight, k);
    assert_ok(clv_buffer_copy(ctx, g.velocity, 0, out, 0, 12 * N));
    harness_download_field(ctx, out, got, N);
    assert_that(harness_error(got, k, 3 * N, 1e-4, 1e-4) <= 1, "velocity: %g",
                harness_error(got, k, 3 * N, 1e-4, 1e-4));
    float longest = 0, truth = 0;
    for (int i = 0; i < N; i++)
        truth =
            fmaxf(truth, sqrtf(got[i] * got[i] + got[N + i] * got[N + i] + got[2 * N + i] * got[2 * N + i]));
    assert_ok(clv_greedy_longest(ctx, &g, &longest));
    assert_that(fabsf(longest - truth) < 1e-5f * truth, "%g, not %g", (double)longest, (double)truth);
    for (int i = 0; i < 3 * N; i++)
        v[i] = got[i] / longest;
    assert_ok(clv_greedy_move(ctx, &g, 1 / longest, from, out));
    ref_greedy_move(size, v, 1, u, want);
    harness_download_field(ctx, out, got, N);
    for (int i = 0; i < 3 * N; i++)
        k[i] = (double)want[i];
    assert_that(harness_error(got, k, 3 * N, 2e-5, 1e-5) <= 1, "move: %g",
                harness_error(got, k, 3 * N, 2e-5, 1e-5));
    /* The step makes the images more alike. */
    assert_ok(clv_buffer_fill(ctx, from, 0, 0, 12 * N));
    assert_ok(clv_greedy_velocity(ctx, &g, a, t, NULL));
    assert_ok(clv_greedy_longest(ctx, &g, &longest));
    assert_ok(clv_greedy_move(ctx, &g, .5f / longest, from, out));
    assert_ok(clv_greedy_deform(ctx, &g, a, out, deformed));
    harness_download(ctx, deformed, got, 4 * N);
    assert_that(apart(got, target) < .8 * apart(image, target), "%g of %g", apart(got, target),
                apart(image, target));
    clv_greedy_destroy(&g);
    clv_buffer *all[] = {a, t, w, from, out, deformed};
    for (int i = 0; i < 6; i++)
        clv_buffer_destroy(&all[i]);
}

int main(void)
{
    harness_open();
    test_case(a_step_against_the_reference, "a step against the reference");
    return test_run("greedy", harness_close);
}
