/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/compose.h"
#include "op/harness.h"
#include "ref/field/compose.h"

typedef struct setup {
    int in[3], out[3];
} setup;

static const setup setups[] = {
    {{1, 1, 1}, {3, 2, 2}},  {{2, 1, 5}, {5, 3, 1}},    {{1, 7, 4}, {35, 3, 2}},
    {{9, 8, 1}, {34, 2, 3}}, {{11, 7, 12}, {33, 5, 9}}, {{37, 23, 19}, {67, 13, 29}},
};

static const float reorient[3][3] = {{0.9f, 0.3f, -0.2f}, {-0.4f, 1.1f, 0.15f}, {0.1f, 0.2f, -0.8f}};

static size_t voxels(const int n[3])
{
    return (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
}

static void run_form(clvox_context *ctx, const float *u, float own, const float *w, const int w_size[3],
                     const clv_map *map, bool extend, double slack, const int out_size[3])
{
    size_t n = voxels(out_size);
    double *want = malloc(3 * n * sizeof *want);
    float *got = malloc(3 * n * sizeof *got);
    int *unsure = malloc(n * sizeof *unsure);
    clv_buffer *a = harness_upload_field(ctx, w, voxels(w_size));
    clv_buffer *b = u ? harness_upload_field(ctx, u, n) : NULL;
    clv_buffer *out = harness_output(ctx, 3 * n * sizeof(float));
    int status =
        clv_compose(ctx, &(clv_compose_args){b, own, *CLV_VECTORS(a, w_size), map, reorient, extend,
                                             *CLV_VECTORS(out, out_size)});
    assert_that(status == CLVOX_OK, "%s", clvox_message());
    harness_download_field(ctx, out, got, n);
    ref_compose(u, (double)own, w, w_size, map, reorient, extend, slack, want, unsure, out_size);
    size_t passed_over = 0;
    for (size_t i = 0; i < n; i++)
        if (unsure[i]) {
            passed_over++;
            for (size_t c = 0; c < 3; c++)
                want[c * n + i] = (double)got[c * n + i];
        }
    double error = harness_error(got, want, 3 * n, 2e-4, 1e-6);
    assert_that(error <= 1, "%dx%dx%d from %dx%dx%d: %g", out_size[0], out_size[1], out_size[2], w_size[0],
                w_size[1], w_size[2], error);
    assert_that(passed_over <= 3 + n / 100, "%zu of %zu", passed_over, n);
    clv_buffer_destroy(&a);
    clv_buffer_destroy(&b);
    clv_buffer_destroy(&out);
    free(want);
    free(got);
    free(unsure);
}

static void run(clvox_context *ctx, const float *u, float own, const float *w, const int w_size[3],
                const clv_map *map, double slack, const int out_size[3])
{
    run_form(ctx, u, own, w, w_size, map, false, slack, out_size);
    run_form(ctx, u, own, w, w_size, map, true, slack, out_size);
}

static void random_case(clvox_context *ctx, const setup *s, bool with_field, bool with_nan)
{
    size_t n = voxels(s->in), m = voxels(s->out);
    float *w = malloc(3 * n * sizeof *w), *u = malloc(3 * m * sizeof *u);
    clv_map map;
    for (int i = 0; i < 3; i++) {
        float center = 0.5f * (float)(s->in[i] - 1) + 0.0137f * (float)(i + 1);
        for (int j = 0; j < 3; j++) {
            map.linear[i][j] = (i == j ? 1.25f : 0.2f * (float)(i - j)) * (float)s->in[i] / (float)s->out[j];
            map.shift[i][j] = i == j ? 0.8f : 0.1f * (float)(i - j);
            center -= map.linear[i][j] * 0.5f * (float)(s->out[j] - 1);
        }
        map.linear[i][3] = center;
    }
    harness_random(w, 3 * n, 5, -1, 1);
    harness_random(u, 3 * m, 9, -1.5f, 1.5f);
    if (with_nan) {
        for (size_t i = 0; i < 3 * n; i += 41)
            w[i] = NAN;
        u[m / 2] = NAN;
        u[m + m / 3] = 1e30f;
    }
    run(ctx, with_field ? u : NULL, -0.75f, w, s->in, &map, 1e-4, s->out);
    free(w);
    free(u);
}

/* Exact positions, borders among them; a NaN must not reach whole voxels. */
static void exact_case(clvox_context *ctx)
{
    int in_size[3] = {5, 4, 1}, out_size[3] = {64, 11, 3};
    clv_map map = {{{0.125f, 0, 0, -1.5f}, {0, 0.5f, 0, -1}, {0, 0, 0.5f, -0.5f}}, {{0}}};
    float w[60];
    harness_random(w, 60, 3, 0, 3);
    w[29] = NAN;
    run(ctx, NULL, 1, w, in_size, &map, 0, out_size);
}

static void compose_with_and_without_a_field_nan(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    int count = getenv("CLVOX_TEST_TINY") ? 5 : (int)(sizeof setups / sizeof *setups);
    for (int s = 0; s < count; s++) {
        random_case(ctx, &setups[s], true, false);
        random_case(ctx, &setups[s], true, true);
    }
    random_case(ctx, &setups[count - 1], false, true);
    exact_case(ctx);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_compose, compose_with_and_without_a_field_nan, NULL, 0,
                  "with and without a field, NaN");
    return test_run("compose", harness_close);
}
