/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/divergence.h"

#include <math.h>
#include <stdlib.h>

#include "op/harness.h"
#include "ref/field/divergence.h"

static const int sizes[][3] = {{1, 1, 1}, {1, 7, 5},  {5, 1, 3},  {2, 11, 1},
                               {9, 2, 2}, {37, 5, 3}, {17, 13, 7}};
static const float uneven[3] = {0.8f, 1.5f, 2.25f};

static void run(clvox_context *ctx, const int size[3])
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    const double one[3] = {1, 1, 1}, spacing[3] = {(double)uneven[0], (double)uneven[1], (double)uneven[2]};
    float *v = malloc(3 * n * sizeof *v), *s = malloc(n * sizeof *s), *got = malloc(3 * n * sizeof *got);
    double *vv = malloc(3 * n * sizeof *vv), *ss = malloc(n * sizeof *ss), *want = malloc(n * sizeof *want);
    double *gradient = calloc(3 * n, sizeof *gradient), left = 0, right = 0, all = 1e-30;
    harness_random(v, 3 * n, 3, -2, 2);
    harness_random(s, n, 4, -1, 1);
    for (size_t i = 0; i < 3 * n; i++)
        vv[i] = (double)v[i];
    for (size_t i = 0; i < n; i++)
        ss[i] = (double)s[i];
    clv_buffer *field = harness_upload_field(ctx, v, n), *scalar = harness_upload(ctx, s, n * sizeof *s);
    clv_buffer *out = harness_output(ctx, n * sizeof(float));
    const clv_image image = clv_image_of(field, size, uneven, 3);
    ref_divergence(vv, size, spacing, want);
    assert_ok(clv_divergence(ctx, &image, out));
    assert_ok(clv_buffer_read(ctx, out, 0, got, n * sizeof *got));
    double error = harness_error(got, want, n, 1e-5, 1e-5);
    assert_that(error <= 1, "div, %dx%dx%d: %g", size[0], size[1], size[2], error);
    /* <grad s, v> = -<s, div v> */
    ref_add_gradient(ss, one, size, spacing, gradient);
    for (size_t i = 0; i < n; i++)
        right -= ss[i] * want[i];
    for (size_t i = 0; i < 3 * n; i++) {
        left += gradient[i] * vv[i];
        all += fabs(gradient[i] * vv[i]);
    }
    assert_that(fabs(left - right) <= 1e-12 * all, "%g and %g", left, right);
    ref_add_gradient(ss, (const double[3]){-.7, .5, 0}, size, spacing, vv);
    assert_ok(clv_add_gradient(ctx, scalar, (const float[3]){-.7f, .5f, 0}, &image));
    harness_download_field(ctx, field, got, n);
    error = harness_error(got, vv, 3 * n, 1e-5, 1e-5);
    assert_that(error <= 1, "grad, %dx%dx%d: %g", size[0], size[1], size[2], error);
    clv_buffer_destroy(&field);
    clv_buffer_destroy(&scalar);
    clv_buffer_destroy(&out);
    free(v);
    free(s);
    free(got);
    free(vv);
    free(ss);
    free(want);
    free(gradient);
}

static void both(void **state)
{
    (void)state;
    int count = (int)(sizeof sizes / sizeof *sizes) - (getenv("CLVOX_TEST_TINY") != NULL);
    for (int k = 0; k < count; k++)
        run(harness_context(), sizes[k]);
}

int main(void)
{
    harness_open();
    harness_cases_first(&clv_entry_divergence, both, NULL, 0, "div and grad");
    return test_run("divergence", harness_close);
}
