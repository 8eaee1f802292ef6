/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/compose_adjoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/field/compose.h"
#include "op/harness.h"
#include "ref/field/compose_adjoint.h"

enum { SLOT = 3 };

static const int sizes[][3] = {{1, 1, 1}, {1, 7, 5}, {5, 1, 3}, {2, 11, 1}, {37, 5, 3}, {67, 13, 7}};
static const float uneven[3] = {0.8f, 1.5f, 2.25f};

static double *wide(const float *values, size_t count)
{
    double *out = malloc(count * sizeof *out);
    for (size_t i = 0; i < count; i++)
        out[i] = (double)values[i];
    return out;
}

static void run(clvox_context *ctx, const int size[3], float reach, float s, float strength)
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    const double spacing[3] = {(double)uneven[0], (double)uneven[1], (double)uneven[2]};
    float *d = malloc(3 * n * sizeof *d), *w = malloc(3 * n * sizeof *w), *g = malloc(3 * n * sizeof *g);
    float *got = malloc(3 * n * sizeof *got), state[SLOT + 1] = {0};
    double *want = calloc(3 * n, sizeof *want);
    harness_random(d, 3 * n, 5, -reach, reach);
    harness_random(w, 3 * n, 6, -2, 2);
    harness_random(g, 3 * n, 7, -strength, strength);
    for (size_t i = 0; i < n; i++)
        state[SLOT] = fmaxf(state[SLOT], sqrtf(g[i] * g[i] + g[n + i] * g[n + i] + g[2 * n + i] * g[2 * n + i]));
    int *zeros = calloc(3 * n, sizeof *zeros);
    clv_buffer *sums = harness_upload(ctx, zeros, 3 * n * sizeof *zeros);
    clv_buffer *out = harness_output(ctx, 3 * n * sizeof(float)), *numbers = harness_upload(ctx, state, sizeof state);
    const clv_compose_adjoint_args args = {
        .d = clv_image_of(harness_upload_field(ctx, d, n), size, uneven, 3),
        .w = harness_upload_field(ctx, w, n), .s = s, .g = harness_upload_field(ctx, g, n),
        .sums = sums, .rows = harness_output(ctx, (size_t)(size[1] * size[2]) * sizeof(int)),
        .state = numbers, .slot = SLOT,
    };
    double *dd = wide(d, 3 * n), *ww = wide(w, 3 * n), *gg = wide(g, 3 * n), *first = wide(g, 3 * n);
    ref_compose_adjoint(dd, ww, size, spacing, (double)s, gg, want);
    for (int turn = 0; turn < 2; turn++) { /* the second finds sums as the first left them */
        clv_buffer *again = args.g;
        if (turn) {
            clv_buffer *fresh = harness_upload_field(ctx, g, n);
            assert_ok(clv_buffer_copy(ctx, fresh, 0, again, 0, 3 * n * sizeof(float)));
            clv_buffer_destroy(&fresh);
        }
        assert_ok(clv_compose_adjoint(ctx, &args));
        assert_ok(clv_compose_adjoint_total(ctx, &args, s, out));
        harness_download_field(ctx, args.g, got, n);
        double longest = (double)state[SLOT], error = harness_error(got, gg, 3 * n, 2e-5 * longest, 1e-5);
        assert_that(error <= 1, "by d, %dx%dx%d: %g", size[0], size[1], size[2], error);
        harness_download_field(ctx, out, got, n);
        error = harness_error(got, want, 3 * n, (5e-5 + 1e-6 * (double)n) * longest * fabs((double)s), 1e-5);
        assert_that(error <= 1, "by w, %dx%dx%d: %g", size[0], size[1], size[2], error);
    }
    /* <next', g> = <w', dS/dw>: the adjoint of what clv_compose with extend does, for another w. */
    double *next = malloc(3 * n * sizeof *next), *nothing = calloc(3 * n, sizeof *nothing), left = 0, right = 0;
    ref_flow_step(dd, ww, size, spacing, (double)s, next);
    for (size_t i = 0; i < 3 * n; i++) {
        left += (next[i] - dd[i]) * first[i];
        right += ww[i] * want[i];
    }
    assert_that(fabs(left - right) <= 1e-9 * (fabs(left) + fabs(right) + 1), "%g and %g", left, right);
    free(next);
    free(nothing);
    clv_buffer *all[] = {args.d.buffer, (clv_buffer *)args.w, args.g, sums, args.rows, out, numbers};
    for (int i = 0; i < 7; i++)
        clv_buffer_destroy(&all[i]);
    free(d);
    free(w);
    free(g);
    free(got);
    free(want);
    free(zeros);
    free(dd);
    free(ww);
    free(gg);
    free(first);
}

static void the_adjoint_of_a_step(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    int count = (int)(sizeof sizes / sizeof *sizes) - (getenv("CLVOX_TEST_TINY") != NULL);
    for (int k = 0; k < count; k++) {
        run(ctx, sizes[k], 1.5f, .3f, 2);
        run(ctx, sizes[k], .05f, -1, 1e-5f);
    }
    run(ctx, sizes[4], 30, .1f, 1); /* most of it outside */
    run(ctx, sizes[4], 1, .1f, 0);  /* nothing */
}

/* The same numbers from the device's own step: by finite differences in d and w. */
static void the_reference_against_finite_differences(void **state)
{
    (void)state;
    const int size[3] = {5, 4, 3};
    const double spacing[3] = {1, 1.5, .7}, h = 1e-6;
    enum { N = 60 };
    float values[3 * 3 * N];
    double d[3 * N], w[3 * N], g[3 * N], back[3 * N], by_w[3 * N] = {0}, next[3 * N];
    harness_random(values, 9 * N, 11, -1, 1);
    for (int i = 0; i < 3 * N; i++) {
        d[i] = (double)values[i];
        w[i] = (double)values[3 * N + i];
        back[i] = g[i] = (double)values[6 * N + i];
    }
    ref_compose_adjoint(d, w, size, spacing, .4, back, by_w);
    for (int i = 0; i < 3 * N; i += 7)
        for (int which = 0; which < 2; which++) {
            double *x = which ? w : d, kept = x[i], sum[2] = {0};
            for (int side = 0; side < 2; side++) {
                x[i] = kept + (side ? h : -h);
                ref_flow_step(d, w, size, spacing, .4, next);
                for (int k = 0; k < 3 * N; k++)
                    sum[side] += next[k] * g[k];
            }
            x[i] = kept;
            double found = (sum[1] - sum[0]) / (2 * h), want = which ? by_w[i] : back[i];
            assert_that(fabs(found - want) < 1e-6 * (1 + fabs(want)), "%d %d: %g, %g", which, i, found, want);
        }
}

int main(void)
{
    harness_open();
    test_case(the_reference_against_finite_differences, "the reference against finite differences");
    harness_cases_first(&clv_entry_compose_adjoint, the_adjoint_of_a_step, NULL, 0, "by d and by w");
    return test_run("compose adjoint", harness_close);
}
