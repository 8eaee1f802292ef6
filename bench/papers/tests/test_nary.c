/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/nary.h"
#include "bench/papers/ref/nary.h"
#include "op/harness.h"

static const int lengths[] = {37, 1, 16384, 70001};

static void run(int n, bool most, int count)
{
    clvox_context *ctx = harness_context();
    const size_t bytes = (size_t)n * sizeof(float);
    float *values = malloc((size_t)count * bytes), *got = malloc(bytes);
    double *want = malloc((size_t)n * sizeof *want);
    clv_buffer *in[CLV_NARY_MOST] = {NULL}, *out = harness_output(ctx, bytes);
    harness_random(values, (size_t)count * (size_t)n, (unsigned)(n + count), -3, 3);
    for (int k = 0; k < count; k++)
        in[k] = harness_upload(ctx, values + (size_t)k * (size_t)n, bytes);
    assert_ok(most ? clv_largest(ctx, in[0], in[1], n, out)
                   : clv_mean(ctx, (const clv_buffer *const *)in, count, n, out));
    harness_download(ctx, out, got, bytes);
    ref_nary(most, values, count, n, want);
    const double error = harness_error(got, want, (size_t)n, 1e-6, 2e-6);
    assert_that(error <= 1, "%d of %d: error %g", count, n, error);
    for (int k = 0; k < count; k++)
        clv_buffer_destroy(&in[k]);
    clv_buffer_destroy(&out);
    free(values);
    free(got);
    free(want);
}

static void of_one_to_eight(void **state)
{
    static const int counts[] = {1, 2, 5, 8};
    (void)state;
    for (int s = 0; s < harness_problems(2, 4); s++)
        for (int c = 0; c < 4; c++) {
            run(lengths[s], false, counts[c]);
            if (counts[c] == 2)
                run(lengths[s], true, 2);
        }
}

static void nine_are_refused(void **state)
{
    (void)state;
    assert_int_equal(clv_mean(harness_context(), NULL, CLV_NARY_MOST + 1, 1, NULL), CLVOX_ERROR_ARGUMENT);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_nary, of_one_to_eight, NULL, 0, "of one to eight volumes");
    test_case(nine_are_refused, "nine volumes are refused");
    return test_run("nary", harness_close);
}
