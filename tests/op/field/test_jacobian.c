/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/field/jacobian.h"
#include "op/image/reduce.h"
#include "ref/field/jacobian.h"

static const int sizes[][3] = {{11, 7, 5}, {1, 1, 1}, {1, 6, 5},    {10, 1, 3},
                               {9, 2, 1},  {2, 2, 2}, {67, 13, 11}, {2049, 2, 3}};
static const float spacing[3] = {0.8f, 1.25f, 3};
static clvox_context *ctx;

static void compare(const int size[3], float amplitude, bool logarithm)
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    float *u = malloc(3 * n * sizeof(float)), *got = malloc(n * sizeof(float));
    double *want = malloc(n * sizeof(double));
    harness_random(u, 3 * n, 17, -amplitude, amplitude);
    if (n > 30)
        u[n / 2] = NAN;
    clv_buffer *field = harness_upload_field(ctx, u, n), *out = harness_output(ctx, n * sizeof(float));
    assert_int_equal(clv_jacobian(ctx, CLV_VECTORS_MM(field, size, spacing), logarithm, out), CLVOX_OK);
    harness_download(ctx, out, got, n * sizeof(float));
    ref_jacobian(u, size, spacing, logarithm, want);
    double error = harness_error(got, want, n, 2e-6, 1e-6);
    assert_that(error <= 1, "%dx%dx%d amplitude %g: error %g", size[0], size[1], size[2], amplitude, error);
    clv_buffer_destroy(&field);
    clv_buffer_destroy(&out);
    free(u);
    free(got);
    free(want);
}

/* The number of folded voxels and the smallest determinant, as callers ask for them. */
static void folds(void)
{
    const int size[3] = {31, 9, 8};
    size_t n = 31 * 9 * 8;
    float *u = malloc(3 * n * sizeof(float)), got[2], smallest = INFINITY;
    double *want = malloc(n * sizeof(double));
    clv_buffer *out, *partial, *scalars;
    harness_random(u, 3 * n, 17, -1.5f, 1.5f);
    clv_buffer *field = harness_upload_field(ctx, u, n);
    out = harness_output(ctx, n * sizeof(float));
    partial = harness_output(ctx, CLV_REDUCE_PARTIALS * sizeof(float));
    scalars = harness_output(ctx, sizeof got);
    assert_int_equal(clv_jacobian(ctx, CLV_VECTORS_MM(field, size, spacing), false, out), CLVOX_OK);
    assert_true(
        clv_reduce(ctx, CLV_REDUCE_COUNT_NOT_ABOVE, &(clv_terms){out, NULL, NULL, 0, (int)n}, partial,
                   scalars, 0) == 0);
    assert_true(clv_reduce(ctx, CLV_REDUCE_MIN, &(clv_terms){out, NULL, NULL, 0, (int)n}, partial, scalars,
                           1) == 0);
    harness_download(ctx, scalars, got, sizeof got);
    ref_jacobian(u, size, spacing, false, want);
    int count = 0;
    for (size_t i = 0; i < n; i++) {
        count += want[i] <= 0;
        smallest = want[i] < smallest ? (float)want[i] : smallest;
    }
    assert_that(count > 0 && got[0] == count, "%g folds, not %d", got[0], count);
    assert_that(fabsf(got[1] - smallest) < 1e-5f, "smallest %g, not %g", got[1], smallest);
    clv_buffer_destroy(&field);
    clv_buffer_destroy(&out);
    clv_buffer_destroy(&partial);
    clv_buffer_destroy(&scalars);
    free(u);
    free(want);
}

static void jacobian_determinant_and_logarithm(void **state)
{
    (void)state;
    int count = getenv("CLVOX_TEST_TINY") ? 6 : 8;
    for (int s = 0; s < count; s++) {
        compare(sizes[s], 0.1f, true);
        compare(sizes[s], 0.5f, false);
        compare(sizes[s], 0.1f, false);
    }
}

static void folded_voxels_are_counted(void **state)
{
    (void)state;
    folds();
}

int main(void)
{
    ctx = harness_open();
    harness_cases(&clv_entry_jacobian, jacobian_determinant_and_logarithm, NULL, 0,
                  "determinant and logarithm");
    test_case(folded_voxels_are_counted, "folded voxels are counted");
    return test_run("jacobian", harness_close);
}
