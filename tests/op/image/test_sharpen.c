/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/sharpen.h"

#include "op/harness.h"
#include "ref/image/sharpen.h"

static void residual(clvox_context *ctx, int n, int bins, float low, float high)
{
    float *u = malloc((size_t)n * 4), *mask = malloc((size_t)n * 4), *got = malloc((size_t)n * 4);
    float *table = malloc((size_t)bins * 4);
    double *want = malloc((size_t)n * sizeof *want);
    harness_random(u, (size_t)n, 1, -1, 4); /* also beyond both ends */
    harness_random(mask, (size_t)n, 2, -1, 1);
    harness_random(table, (size_t)bins, 3, 0, 3);
    u[0] = NAN;
    mask[0] = 0; /* what is not a number outside of the mask stays out */
    mask[n - 1] = NAN;
    clv_buffer *a = harness_upload(ctx, u, (size_t)n * 4), *b = harness_upload(ctx, mask, (size_t)n * 4);
    clv_buffer *t = harness_upload(ctx, table, (size_t)bins * 4), *r = harness_output(ctx, (size_t)n * 4);
    assert_ok(clv_sharpen(ctx, HARNESS_LINE(a, n, 1), b, &(clv_bins){low, high, bins}, t, r));
    harness_download(ctx, r, got, (size_t)n * 4);
    ref_sharpen(u, mask, table, (double)low, (double)high, bins, want, n);
    double error = harness_error(got, want, (size_t)n, 3e-6 * bins, 0);
    assert_that(error <= 1, "%d voxels, %d bins: %g", n, bins, error);
    clv_buffer_destroy(&a);
    clv_buffer_destroy(&b);
    clv_buffer_destroy(&t);
    clv_buffer_destroy(&r);
    free(u);
    free(mask);
    free(got);
    free(table);
    free(want);
}

static void sharpen_residuals(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    residual(ctx, 1, 2, 0, 3);
    residual(ctx, 977, 200, 0, 3);
    residual(ctx, 977, 5, 2, 2);
    if (!getenv("CLVOX_TEST_TINY"))
        residual(ctx, 50021, 64, -.5f, 3.5f);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_sharpen, sharpen_residuals, NULL, 0, "residuals");
    return test_run("sharpen", harness_close);
}
