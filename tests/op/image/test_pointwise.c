/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "ref/image/pointwise.h"

static const struct {
    clv_pointwise_kind kind;
    int inputs; /* 1: a; 2: a, b; 3: a, b, c; 4: a, c */
    float k[4];
} cases[] = {
    {CLV_POINTWISE_LINEAR, 3, {0.5f, -2, 3, 0.25f}},
    {CLV_POINTWISE_LINEAR, 1, {2, 0, 0, 1}},
    {CLV_POINTWISE_LINEAR, 2, {1, 1, 0, 0}},
    {CLV_POINTWISE_LINEAR, 4, {1, 0, -1, 0}},
    {CLV_POINTWISE_MULTIPLY, 2, {2, 0, 0, 0}},
    {CLV_POINTWISE_MULTIPLY, 3, {2, 0.5f, 0, 0}},
    {CLV_POINTWISE_DIVIDE, 2, {3, 0.5f, 0, 0}},
    {CLV_POINTWISE_CLAMP, 1, {2, 0.25f, -1, 1.5f}},
    {CLV_POINTWISE_LOG, 1, {0.125f, 0, 0, 0}},
    {CLV_POINTWISE_ABS, 1, {0, 0, 0, 0}},
    {CLV_POINTWISE_SQUARE_DIFFERENCE, 2, {0.5f, 0, 0, 0}},
    {CLV_POINTWISE_THRESHOLD, 1, {0.25f, 7, -3, 0}},
    {CLV_POINTWISE_FINITE, 1, {-9, 0, 0, 0}},
    {CLV_POINTWISE_EXP, 1, {-0.75f, 0.5f, 0, 0}},
    {CLV_POINTWISE_ROOT, 1, {0, 0, 0, 0}},
    {CLV_POINTWISE_TUKEY, 1, {1.5f, 0, 0, 0}},
};
enum { CASES = sizeof cases / sizeof *cases, MOST = 16384 + 13 };

static float a[MOST], b[MOST], c[MOST], got[MOST];
static double want[MOST];

static void run(clvox_context *ctx, int which, int n, bool in_place)
{
    size_t bytes = (size_t)n * sizeof(float);
    int inputs = cases[which].inputs;
    bool has_b = inputs == 2 || inputs == 3, has_c = inputs >= 3;
    clv_buffer *da = harness_upload(ctx, a, bytes), *db = harness_upload(ctx, b, bytes);
    clv_buffer *dc = harness_upload(ctx, c, bytes), *out = harness_output(ctx, bytes);
    int status = clv_pointwise(ctx, cases[which].kind, HARNESS_LINE(in_place ? da : out, n, 1), da,
                               has_b ? db : NULL, has_c ? dc : NULL, cases[which].k);
    assert_that(status == CLVOX_OK, "%s", clvox_message());
    harness_download(ctx, in_place ? da : out, got, bytes);
    ref_pointwise(cases[which].kind, want, n, a, has_b ? b : NULL, has_c ? c : NULL, cases[which].k);
    double error = harness_error(got, want, (size_t)n, 2e-6, 5e-7);
    assert_that(error <= 1, "kind %d inputs %d n %d: error %g", cases[which].kind, inputs, n, error);
    clv_buffer_destroy(&da);
    clv_buffer_destroy(&db);
    clv_buffer_destroy(&dc);
    clv_buffer_destroy(&out);
}

static void table(clvox_context *ctx, int n)
{
    const float from[] = {-2, -1, -1, 0.5f, 3}, to[] = {5, 1, 2, 2.5f, -1};
    size_t bytes = (size_t)n * sizeof(float);
    clv_buffer *da = harness_upload(ctx, a, bytes), *out = harness_output(ctx, bytes);
    for (int knots = 1; knots <= 5; knots += 4) {
        assert_int_equal(clv_pointwise_table(ctx, HARNESS_LINE(out, n, 1), da, from, to, knots), CLVOX_OK);
        harness_download(ctx, out, got, bytes);
        ref_pointwise_table(want, n, a, from, to, knots);
        double error = harness_error(got, want, (size_t)n, 2e-6, 5e-7);
        assert_that(error <= 1, "%d knots: error %g", knots, error);
    }
    clv_buffer_destroy(&da);
    clv_buffer_destroy(&out);
}

static void pointwise_kinds_odd_lengths(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    /* Each build takes most of a second, so that the kinds, which the kernels share, are spread over the
     * tiles; the first runs them all. */
    const int round = harness_case_index();
    for (int which = 0; which < CASES; which++) {
        if (round > 0 && which > 0 && which % 4 != round)
            continue;
        run(ctx, which, 7, false);
        run(ctx, which, 1031, true);
    }
    run(ctx, 0, 1, false);
    run(ctx, 0, 4, false);
    run(ctx, 0, tiny ? 2048 : MOST, false);
}

static void pointwise_table_piecewise_linear_map(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    table(ctx, tiny ? 301 : MOST);
}

static void pointwise_refuses_wrong_inputs(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    clv_buffer *x = harness_upload(ctx, a, 64);
    const float k[4] = {1, 1, 1, 1}, knots[2] = {1, 0};
    assert_int_equal(clv_pointwise(ctx, CLV_POINTWISE_ABS, HARNESS_LINE(x, 16, 1), x, x, NULL, k),
                     CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clv_pointwise(ctx, CLV_POINTWISE_MULTIPLY, HARNESS_LINE(x, 16, 1), x, NULL, NULL, k),
                     CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clv_pointwise_table(ctx, HARNESS_LINE(x, 16, 1), x, knots, knots, 2),
                     CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clv_pointwise_table(ctx, HARNESS_LINE(x, 16, 1), x, knots, knots, 257),
                     CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clv_pointwise(ctx, CLV_POINTWISE_ABS, HARNESS_LINE(x, 0, 1), x, NULL, NULL, k),
                     CLVOX_OK);
    clv_buffer_destroy(&x);
}

int main(void)
{
    harness_open();
    harness_random(a, MOST, 1, -4, 4);
    harness_random(b, MOST, 2, -4, 4);
    harness_random(c, MOST, 3, -4, 4);
    a[5] = NAN;
    a[0] = INFINITY;
    a[3] = 0.25f;
    b[2] = 0;
    b[6] = NAN;
    harness_cases(&clv_entry_pointwise, pointwise_kinds_odd_lengths, NULL, 0, "kinds, odd lengths");
    harness_cases(&clv_entry_pointwise_table, pointwise_table_piecewise_linear_map, NULL, 0,
                  "piecewise-linear map");
    test_case(pointwise_refuses_wrong_inputs, "pointwise refuses wrong inputs");
    return test_run("pointwise", harness_close);
}
