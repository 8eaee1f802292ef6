/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/copy.h"

#include "op/harness.h"
#include "bench/papers/ref/copy.h"

static const int lengths[] = {4, 52, 4 * 1031, 4 * 70001};

static void copy_copies_every_value(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    for (int k = 0; k < (getenv("CLVOX_TEST_TINY") ? 2 : 4); k++) {
        size_t n = (size_t)lengths[k];
        float *in = malloc(n * sizeof *in), *got = malloc(n * sizeof *got);
        double *want = malloc(n * sizeof *want);
        harness_random(in, n, (unsigned)k, -1, 1);
        clv_buffer *a = harness_upload(ctx, in, n * sizeof *in);
        clv_buffer *b = harness_output(ctx, n * sizeof *got);
        assert_int_equal(clv_copy(ctx, a, b, (int)n), CLVOX_OK);
        harness_download(ctx, b, got, n * sizeof *got);
        ref_copy(in, n, want);
        assert_true(harness_error(got, want, n, 1e-30, 0) == 0);
        clv_buffer_destroy(&a);
        clv_buffer_destroy(&b);
        free(in);
        free(got);
        free(want);
    }
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_copy, copy_copies_every_value, NULL, 0, "copies every value");
    return test_run("copy", harness_close);
}
