/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/compositive_step.h"
#include "op/harness.h"
#include "ref/field/compositive_step.h"

enum { SLOT = 5 };

static const int sizes[][3] = {{1, 1, 1}, {1, 7, 5}, {5, 1, 3}, {2, 11, 1}, {37, 5, 3}, {67, 23, 13}};

static const float uneven[3] = {0.8f, 1.5f, 2.25f}, unit[3] = {1, 1, 1};

static void run(clvox_context *ctx, const float *u, const float *v, const int size[3], const float spacing[3],
                float step, float longest, float rim, double slack, bool in_part)
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    double *want = malloc(3 * n * sizeof *want);
    float *got = malloc(3 * n * sizeof *got), state[SLOT + 2];
    int *unsure = malloc(n * sizeof *unsure);
    for (int i = 0; i < SLOT + 2; i++)
        state[i] = i == SLOT ? longest : 1e-3f;
    clv_buffer *a = harness_upload_field(ctx, u, n), *b = harness_upload_field(ctx, v, n);
    clv_buffer *numbers = harness_upload(ctx, state, sizeof state);
    clv_buffer *out = harness_output(ctx, 3 * n * sizeof(float));
    int *part = in_part ? harness_within(size, 31) : NULL;
    clv_buffer *within = part ? harness_upload(ctx, part, clv_within_bytes(size)) : NULL;
    assert_that(clv_compositive_step(ctx, CLV_VECTORS_MM(a, size, spacing), b,
                                     &(clv_step_length){step, rim, numbers, SLOT}, (clv_within){within, 0},
                                     out) == CLVOX_OK,
                "%s", clvox_message());
    harness_download_field(ctx, out, got, n);
    ref_compositive_step(u, v, size, spacing, (double)step, (double)longest, (double)rim, slack, want, unsure);
    size_t passed_over = 0;
    for (size_t i = 0; i < n; i++)
        if (part && !harness_is_within(part, size, i)) {
            const int at[3] = {(int)i % size[0], (int)i / size[0] % size[1], (int)i / size[0] / size[1]};
            bool border = false;
            for (int k = 0; k < 3 && rim > 0; k++)
                border = border || (size[k] > 1 && (at[k] == 0 || at[k] == size[k] - 1));
            for (size_t c = 0; c < 3; c++)
                want[c * n + i] = border ? 0 : (double)u[c * n + i];
        } else if (unsure[i]) {
            passed_over++;
            for (size_t c = 0; c < 3; c++)
                want[c * n + i] = (double)got[c * n + i];
        }
    double error = harness_error(got, want, 3 * n, 5e-5, 2e-6);
    assert_that(error <= 1, "%dx%dx%d, step %g of %g: %g", size[0], size[1], size[2], (double)step,
                (double)longest, error);
    assert_that(passed_over <= 3 + n / 200, "%zu of %zu", passed_over, n);
    clv_buffer_destroy(&a);
    clv_buffer_destroy(&b);
    clv_buffer_destroy(&numbers);
    clv_buffer_destroy(&out);
    clv_buffer_destroy(&within);
    free(part);
    free(want);
    free(got);
    free(unsure);
}

static void trials(clvox_context *ctx, const int size[3])
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    float *u = malloc(3 * n * sizeof *u), *v = malloc(3 * n * sizeof *v);
    harness_random(u, 3 * n, 5, -2, 2);
    harness_random(v, 3 * n, 9, -1.5f, 1.5f);
    run(ctx, u, v, size, uneven, 0.4f, 2.5f, 0, 2e-5, false);
    run(ctx, u, v, size, uneven, 7, 2.5f, 0, 2e-5, false); /* far outside */
    run(ctx, u, v, size, uneven, 0.4f, 0, 0, 2e-5, false);
    run(ctx, u, v, size, uneven, 1.4f, 2.5f, 1, 2e-5, false);
    run(ctx, u, v, size, uneven, 0.9f, 2.5f, 3.5f, 2e-5, false);
    run(ctx, u, v, size, uneven, 0.9f, 2.5f, 3.5f, 2e-5, true);
    run(ctx, u, v, size, uneven, 1.4f, 0, 0, 2e-5, true);
    run(ctx, u, v, size, uneven, 0.4f, 0, 2, 2e-5, false);
    v[n / 2] = NAN;
    v[n + n / 3] = 1e30f;
    v[2 * n + n / 4] = INFINITY;
    run(ctx, u, v, size, uneven, 0.4f, 2.5f, 0, 2e-5, false);
    /* No step at all: what is not finite in v must not show. */
    run(ctx, u, v, size, uneven, 0.4f, NAN, 0, 2e-5, false);
    run(ctx, u, v, size, uneven, 0.4f, INFINITY, 0, 2e-5, false);
    run(ctx, u, v, size, uneven, 0.4f, -1, 0, 2e-5, false);
    harness_random(v, 3 * n, 9, -1.5f, 1.5f);
    for (size_t i = 0; i < 3 * n; i += 41)
        u[i] = NAN;
    run(ctx, u, v, size, uneven, 0.4f, 2.5f, 0, 2e-5, false);
    run(ctx, u, v, size, uneven, 0.4f, 0, 0, 2e-5, false);
    for (size_t i = 0; i < 3 * n; i++)
        v[i] *= 1e-31f;
    run(ctx, u, v, size, uneven, 0.4f, 1e-31f, 0, 2e-5, false);
    free(u);
    free(v);
}

/* All v point outside, where the border's vectors go on. */
static void outward(clvox_context *ctx)
{
    enum { X = 35, Y = 3, Z = 2, N = X * Y * Z };
    const int size[3] = {X, Y, Z};
    float u[3 * N], v[3 * N] = {0};
    harness_random(u, 3 * N, 5, -2, 2);
    for (int i = 0; i < N; i++)
        v[i] = -1;
    run(ctx, u, v, size, unit, 0.5f, 1, 0, 0, false);
    for (int i = 0; i < N; i++)
        v[i] = 40;
    run(ctx, u, v, size, unit, 40, 40, 0, 0, false);
    for (int i = 0; i < N; i++)
        v[N + i] = -1;
    run(ctx, u, v, size, unit, 0.75f, 1, 0, 0, false);
}

static void compositive_step_steps_none_nan_outside(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    int count = (int)(sizeof sizes / sizeof *sizes) - (getenv("CLVOX_TEST_TINY") != NULL);
    for (int s = 0; s < count; s++)
        trials(ctx, sizes[s]);
    outward(ctx);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_compositive_step, compositive_step_steps_none_nan_outside, NULL, 0,
                  "steps, none, NaN, outside");
    return test_run("compositive step", harness_close);
}
