/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/image/dct.h"
#include "ref/image/dct.h"

static const int sizes[][3] = {
    {9, 2, 3},
    {1, 5, 1},
    /* The rest is left out under the simulator. */
    {1, 1, 1},
    {4, 4, 4},
    {31, 13, 5},
    {12, 1, 7},
    {3, 67, 2},  /* more rows than an item of rows has */
    {5, 3, 37},  /* more planes */
    {67, 14, 3}, /* more columns than a group */
};

static void dct_is_the_reference_s(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    int count = harness_problems(2, 9);
    for (int k = 0; k < count; k++) {
        const int *s = sizes[k];
        size_t n = (size_t)s[0] * (size_t)s[1] * (size_t)s[2], bytes = n * sizeof(float);
        float *value = malloc(bytes), *sigma = malloc(bytes), *got = malloc(bytes);
        double *want = malloc(n * sizeof *want);
        harness_random(value, n, 3 + (unsigned)k, 0, 10);
        harness_random(sigma, n, 23 + (unsigned)k, 0.5f, 2);
        for (size_t i = 0; i < n; i += 7)
            sigma[i] = 0;
        clv_buffer *in = harness_upload(ctx, value, bytes), *in_sigma = harness_upload(ctx, sigma, bytes);
        clv_buffer *out = harness_output(ctx, bytes);
        assert_int_equal(clv_dct_denoise(ctx, CLV_VOLUME(in, s), in_sigma, 1.75f, out), CLVOX_OK);
        harness_download(ctx, out, got, bytes);
        /* A value so near its threshold that rounding decides would change the result. */
        const double nearest = ref_dct_denoise(value, s, sigma, 1.75, want);
        assert_that(nearest > 3e-6, "%dx%dx%d: take another seed, %g", s[0], s[1], s[2], nearest);
        double error = harness_error(got, want, n, 1e-5, 1e-5);
        assert_that(error <= 1, "%dx%dx%d: error %g of what is allowed", s[0], s[1], s[2], error);
        clv_buffer_destroy(&in);
        clv_buffer_destroy(&in_sigma);
        clv_buffer_destroy(&out);
        free(value);
        free(sigma);
        free(got);
        free(want);
    }
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_dct_denoise, dct_is_the_reference_s, NULL, 0, "against the reference");
    return test_run("dct", harness_close);
}
