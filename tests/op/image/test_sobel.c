/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/image/sobel.h"
#include "ref/image/sobel.h"

static const int sizes[][3] = {{11, 7, 5}, {1, 1, 1},  {1, 6, 5},  {10, 1, 3},   {9, 2, 1},
                               {2, 2, 2},  {34, 3, 2}, {33, 2, 3}, {67, 13, 11}, {66, 5, 9}};
static const float spacing[3] = {0.8f, 1.25f, 3};

static void sobel_against_the_reference(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    int count = getenv("CLVOX_TEST_TINY") ? 8 : 10;
    for (int s = 0; s < count; s++) {
        size_t n = (size_t)sizes[s][0] * (size_t)sizes[s][1] * (size_t)sizes[s][2];
        float *a = malloc(n * sizeof(float)), *got = malloc(n * sizeof(float));
        double *want = malloc(n * sizeof(double));
        harness_random(a, n, 7 + (unsigned)s, -100, 100);
        clv_buffer *in = harness_upload(ctx, a, n * sizeof(float));
        clv_buffer *out = harness_output(ctx, n * sizeof(float));
        assert_int_equal(clv_sobel(ctx, CLV_VOLUME_MM(in, sizes[s], spacing), out), CLVOX_OK);
        harness_download(ctx, out, got, n * sizeof(float));
        ref_sobel(a, sizes[s], spacing, want);
        double error = harness_error(got, want, n, 3e-5, 1e-6);
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
    harness_cases(&clv_entry_sobel, sobel_against_the_reference, NULL, 0, "against the reference");
    return test_run("sobel", harness_close);
}
