/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/solvers/stored_matrix.h"
#include "bench/papers/ref/stored_matrix.h"
#include "op/harness.h"

static const int sizes[][3] = {{11, 7, 5}, {1, 1, 1}, {1, 6, 5}, {10, 1, 3}, {9, 2, 1}, {67, 13, 11}};

static void multiplied_as_by_the_reference(void **state)
{
    const clv_matrix_form form = *(const clv_matrix_form *)*state;
    clvox_context *ctx = harness_context();
    for (int s = 0; s < harness_problems(4, 6); s++) {
        const int *size = sizes[s];
        const size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2], bytes = n * sizeof(float);
        float *v = malloc(bytes), *got = malloc(bytes);
        double *want = malloc(n * sizeof *want);
        harness_random(v, n, 5 + (unsigned)s, -2, 2);
        clv_buffer *in = harness_upload(ctx, v, bytes), *out = harness_output(ctx, bytes);
        const clv_stored_matrix m = {.size = {size[0], size[1], size[2]}, .alpha = .3f, .gamma = .07f,
                                     .values = harness_output(ctx, CLV_MATRIX_NUMBERS * bytes),
                                     .columns = harness_output(ctx, CLV_MATRIX_NUMBERS * bytes)};
        assert_ok(clv_stored_matrix_fill(ctx, &m));
        assert_ok(clv_stored_matrix_multiply(ctx, &m, form, in, out));
        harness_download(ctx, out, got, bytes);
        ref_matrix_multiply(v, size, (double).3f, (double).07f, want);
        const double error = harness_error(got, want, n, 2e-6, 1e-6);
        assert_that(error <= 1, "%dx%dx%d: error %g", size[0], size[1], size[2], error);
        clv_buffer *all[] = {in, out, m.values, m.columns};
        for (int i = 0; i < 4; i++)
            clv_buffer_destroy(&all[i]);
        free(v);
        free(got);
        free(want);
    }
}

int main(void)
{
    static const clv_matrix_form forms[] = {CLV_MATRIX_IMPLICIT, CLV_MATRIX_DIA, CLV_MATRIX_ELL};
    static const clv_entry *const entries[] = {&clv_entry_matrix_implicit, &clv_entry_matrix_dia,
                                               &clv_entry_matrix_ell};
    harness_open();
    for (int f = 0; f < CLV_MATRIX_FORMS; f++)
        harness_cases(entries[f], multiplied_as_by_the_reference, &forms[f], sizeof forms[f],
                      "against the reference");
    harness_cases(&clv_entry_matrix_fill, multiplied_as_by_the_reference, &forms[CLV_MATRIX_ELL],
                  sizeof forms[0], "columns lead to the neighbours");
    return test_run("stored_matrix", harness_close);
}
