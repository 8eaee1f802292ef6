/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "ref/image/reduce.h"

static clvox_context *ctx;
static clv_buffer *partial;

static float reduce(clv_reduce_kind kind, const clv_buffer *a, const clv_buffer *b,
                    const clv_buffer *weight, float k, int n)
{
    float got[3];
    clv_buffer *out = harness_output(ctx, sizeof got);
    int status = clv_reduce(ctx, kind, &(clv_terms){a, b, weight, k, n}, partial, out, 1);
    assert_that(status == CLVOX_OK, "%s", clvox_message());
    harness_download(ctx, out, got, sizeof got);
    assert_true(isnan(got[0]) && isnan(got[2]));
    clv_buffer_destroy(&out);
    return got[1];
}

/* Each build takes most of a second: of the variants, which share the terms,
 * one runs a kind with weights and the next without. */
static void kinds(int n, bool with_nan, int round, int step)
{
    size_t bytes = (size_t)n * sizeof(float);
    float *a = malloc(bytes), *b = malloc(bytes), *w = malloc(bytes);
    harness_random(a, (size_t)n, 11, -3, 5);
    harness_random(b, (size_t)n, 12, -3, 5);
    harness_random(w, (size_t)n, 13, -1, 1);
    for (int i = 0; i < n; i++)
        w[i] = w[i] > 0 ? w[i] : 0;
    if (with_nan)
        a[n / 2] = a[n - 1] = a[0] = NAN;
    clv_buffer *da = harness_upload(ctx, a, bytes), *db = harness_upload(ctx, b, bytes);
    clv_buffer *dw = harness_upload(ctx, w, bytes);
    for (int kind = 0; kind <= CLV_REDUCE_COUNT_NOT_ABOVE; kind += step)
        for (int weighted = 0; weighted < 2; weighted++) {
            if (weighted != (kind + round) % 2)
                continue;
            bool two = kind == CLV_REDUCE_DOT || kind == CLV_REDUCE_SQUARE_DIFFERENCE;
            if (with_nan && (kind < CLV_REDUCE_MIN || kind == CLV_REDUCE_COUNT_NOT_ABOVE) && weighted)
                continue;
            double want = ref_reduce((clv_reduce_kind)kind, a, two ? b : NULL, weighted ? w : NULL, 0.5f, n);
            float got = reduce((clv_reduce_kind)kind, da, two ? db : NULL, weighted ? dw : NULL, 0.5f, n);
            bool exact = kind >= CLV_REDUCE_MIN && (kind < CLV_REDUCE_COUNT_NOT_ABOVE || !weighted);
            double slack = 4e-6 * sqrt(n) + 1e-6 * fabs(want);
            bool right = exact ? got == (float)want || (isnan(got) && isnan(want))
                               : isnan(want) ? isnan(got) : fabs(got - want) <= slack;
            assert_that(right, "kind %d weighted %d n %d: %.9g, not %.9g", kind, weighted, n, got, want);
        }
    free(a);
    free(b);
    free(w);
    clv_buffer_destroy(&da);
    clv_buffer_destroy(&db);
    clv_buffer_destroy(&dw);
}

/* A sum of many equal or all positive terms: rounding errors must not pile up. */
static void large(int n)
{
    size_t bytes = (size_t)n * sizeof(float);
    float *a = malloc(bytes);
    for (int pass = 0; pass < 2; pass++) {
        if (pass)
            harness_random(a, (size_t)n, 5, 0, 1000);
        else
            for (int i = 0; i < n; i++)
                a[i] = 0.1f;
        clv_buffer *da = harness_upload(ctx, a, bytes);
        double want = ref_reduce(CLV_REDUCE_SUM, a, NULL, NULL, 0, n);
        float got = reduce(CLV_REDUCE_SUM, da, NULL, NULL, 0, n);
        assert_that(fabs(got / want - 1) < 1e-6, "sum %.9g, not %.9g: %g", got, want, got / want - 1);
        float again = reduce(CLV_REDUCE_SUM, da, NULL, NULL, 0, n);
        assert_memory_equal(&got, &again, sizeof got);
        clv_buffer_destroy(&da);
    }
    free(a);
}

static void longest(int n)
{
    size_t bytes = 3 * (size_t)n * sizeof(float);
    const float scale[3] = {1, 0.5f, 2};
    float *field = malloc(bytes), got[2];
    harness_random(field, 3 * (size_t)n, 9, -2, 2);
    if (n > 2)
        field[1] = NAN;
    clv_buffer *device = harness_upload_field(ctx, field, (size_t)n), *out = harness_output(ctx, 8);
    assert_int_equal(clv_reduce_longest(ctx, HARNESS_LINE(device, n, 3), scale, false, partial, out, 0),
                     CLVOX_OK);
    harness_download(ctx, out, got, 8);
    double want = ref_reduce_longest(field, scale, n);
    assert_that(fabs(got[0] - want) <= 1e-6 * want, "n %d: %g, not %g", n, got[0], want);
    assert_true(isnan(got[1]));
    /* A longer vector that is already there is kept. */
    for (int longer = 0; longer < 2; longer++) {
        float there = longer ? 2 * got[0] : 0.5f * got[0], most;
        assert_int_equal(clv_buffer_write(ctx, out, 4, &there, 4), CLVOX_OK);
        assert_int_equal(clv_reduce_longest(ctx, HARNESS_LINE(device, n, 3), scale, true, partial, out, 1),
                         CLVOX_OK);
        assert_int_equal(clv_buffer_read(ctx, out, 4, &most, 4), CLVOX_OK);
        assert_that(most == fmaxf(there, got[0]), "%g after %g", (double)most, (double)there);
    }
    clv_buffer_destroy(&device);
    clv_buffer_destroy(&out);
    free(field);
}

static const clv_entry *const entries[] = {&clv_entry_reduce, &clv_entry_reduce_last};

static void all_kinds_odd_lengths_nan(void **state)
{
    const int *given = *state;
    int e = given[0], round = harness_case_index();
    bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    int step = e || round == 1 ? 3 : 1;
    kinds(1, false, round, step);
    kinds(tiny ? 1999 : 70001, false, round, step);
    kinds(1031, true, round, step);
}

static void reduce_longest_lengths(void **state)
{
    (void)state;
    bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    longest(1);
    longest(19);
    longest(tiny ? 1999 : 70001);
}

static void reduce_accuracy_and_equal_bits(void **state)
{
    (void)state;
    large(20000003);
}

static void reductions_of_nothing_and_wrong_inputs(void **state)
{
    (void)state;
    float zero[4] = {0};
    clv_buffer *x = harness_upload(ctx, zero, sizeof zero);
    assert_true(reduce(CLV_REDUCE_SUM, x, NULL, NULL, 0, 0) == 0);
    assert_true(reduce(CLV_REDUCE_MIN, x, NULL, NULL, 0, 0) == INFINITY);
    assert_int_equal(clv_reduce(ctx, CLV_REDUCE_DOT, &(clv_terms){x, NULL, NULL, 0, 4}, partial, x, 0),
                     CLVOX_ERROR_ARGUMENT);
    clv_buffer_destroy(&x);
}

static int tear_down(void **state)
{
    clv_buffer_destroy(&partial);
    return harness_close(state);
}

int main(void)
{
    ctx = harness_open();
    bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    if (clv_buffer_create(ctx, CLV_REDUCE_PARTIALS * sizeof(float), "partials", &partial) < 0)
        return 1;
    for (int e = 0; e < 2; e++)
        harness_cases(entries[e], all_kinds_odd_lengths_nan, TEST_AT(e), "all kinds, odd lengths, NaN");
    harness_cases(&clv_entry_reduce_longest, reduce_longest_lengths, NULL, 0, "lengths");
    if (!tiny)
        harness_cases(&clv_entry_reduce, reduce_accuracy_and_equal_bits, NULL, 0, "accuracy and equal bits");
    test_case(reductions_of_nothing_and_wrong_inputs, "reductions of nothing, and wrong inputs");
    return test_run("reduce", tear_down);
}
