/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/gradient.h"
#include "op/harness.h"
#include "bench/papers/ref/gradient.h"

static const int sizes[][3] = {{11, 7, 5}, {1, 1, 1}, {1, 6, 5},    {10, 1, 3},
                               {9, 2, 1},  {2, 2, 2}, {67, 13, 11}, {2049, 2, 3}};
static const float spacing[3] = {0.8f, 1.25f, 3};

static void gradient_against_the_reference(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    int count = getenv("CLVOX_TEST_TINY") ? 6 : 8;
    if (harness_variant()->image) /* which may be 2048 voxels wide at most */
        count--;
    for (int s = 0; s < count; s++) {
        size_t n = (size_t)sizes[s][0] * (size_t)sizes[s][1] * (size_t)sizes[s][2];
        float *a = malloc(n * sizeof(float)), *got = malloc(3 * n * sizeof(float));
        double *want = malloc(3 * n * sizeof(double));
        harness_random(a, n, 7 + (unsigned)s, -100, 100);
        if (n > 30)
            a[n / 2] = NAN;
        clv_buffer *in = harness_upload(ctx, a, n * sizeof(float));
        clv_buffer *out = harness_output(ctx, 3 * n * sizeof(float));
        assert_ok(clv_gradient(ctx, CLV_VOLUME_MM(in, sizes[s], spacing), out));
        harness_download_field(ctx, out, got, n);
        ref_gradient(a, sizes[s], spacing, want);
        double error = harness_error(got, want, 3 * n, 2e-5, 5e-7);
        assert_that(error <= 1, "%dx%dx%d: error %g", sizes[s][0], sizes[s][1], sizes[s][2], error);
        clv_buffer_destroy(&in);
        clv_buffer_destroy(&out);
        free(a);
        free(got);
        free(want);
    }
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_gradient, gradient_against_the_reference, NULL, 0, "against the reference");
    return test_run("gradient", harness_close);
}
