/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/convolve.h"
#include "op/harness.h"
#include "bench/papers/ref/convolve.h"

enum { TAPS = (2 * CLV_CONVOLVE_MAX_RADIUS + 1) * (2 * CLV_CONVOLVE_MAX_RADIUS + 1) };

static void compare(clvox_context *ctx, const int size[3], int radius, unsigned seed)
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    float mask[TAPS], *a = malloc(n * sizeof(float)), *got = malloc(n * sizeof(float));
    double *want = malloc(n * sizeof(double));
    harness_random(a, n, seed, -10, 10);
    harness_random(mask, TAPS, seed + 99, -0.2f, 0.3f);
    if (n > 200)
        a[n / 2] = NAN;
    clv_buffer *in = harness_upload(ctx, a, n * sizeof(float));
    clv_buffer *weights = harness_upload(ctx, mask, sizeof mask);
    clv_buffer *out = harness_output(ctx, n * sizeof(float));
    assert_int_equal(clv_convolve(ctx, in, size, radius, weights, out), CLVOX_OK);
    harness_download(ctx, out, got, n * sizeof(float));
    ref_convolve(a, size, radius, mask, want);
    double error = harness_error(got, want, n, 2e-4, 1e-6);
    assert_that(error <= 1, "%dx%dx%d, radius %d: error %g", size[0], size[1], size[2], radius, error);
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&weights);
    clv_buffer_destroy(&out);
    free(a);
    free(got);
    free(want);
}

static const int sizes[][3] = {{11, 7, 5}, {1, 1, 1},  {1, 6, 5},   {10, 1, 3},
                               {9, 2, 1},  {44, 5, 1}, {67, 37, 3}, {173, 25, 2}};

static void convolve_against_the_reference(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    int count = getenv("CLVOX_TEST_TINY") ? 6 : 8;
    for (int s = 0; s < count; s++)
        for (int radius = 1; radius <= CLV_CONVOLVE_MAX_RADIUS; radius += 4)
            compare(ctx, sizes[s], radius, 7 + (unsigned)s);
}

static void a_mask_that_is_too_wide_is_refused(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    assert_int_equal(clv_convolve(ctx, NULL, sizes[0], CLV_CONVOLVE_MAX_RADIUS + 1, NULL, NULL),
                     CLVOX_ERROR_ARGUMENT);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_convolve, convolve_against_the_reference, NULL, 0, "against the reference");
    test_case(a_mask_that_is_too_wide_is_refused, "a mask that is too wide is refused");
    return test_run("convolve", harness_close);
}
