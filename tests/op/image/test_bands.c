/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/bands.h"

#include "op/harness.h"
#include "ref/image/bands.h"

/* Sizes of the image, the rows and the width of the band. */
static const struct {
    int size[3], rows, width;
} setups[] = {
    {{1, 1, 1}, 3, 1}, {{5, 7, 4}, 4, 4}, {{13, 9, 11}, 2, 9}, {{17, 33, 19}, 23, 17}, {{40, 12, 9}, 61, 4},
};

static void bands_of_a_matrix_along_each_axis(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    for (int s = 0; s < (getenv("CLVOX_TEST_TINY") ? 3 : 5); s++)
        for (int axis = 0; axis < 3; axis++) {
            const int *size = setups[s].size;
            int rows = setups[s].rows, columns = size[axis], to[3] = {size[0], size[1], size[2]};
            int width = setups[s].width > columns ? columns : setups[s].width;
            to[axis] = rows;
            size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
            size_t m = (size_t)to[0] * (size_t)to[1] * (size_t)to[2];
            float *in = malloc(n * sizeof *in), *got = malloc(m * sizeof *got), *w = malloc((size_t)width * 4);
            double *want = malloc(m * sizeof *want), *matrix = calloc((size_t)(rows * columns), sizeof *matrix);
            harness_random(in, n, 1, -2, 2);
            /* Rows of several lengths, and one of nothing but zeros. */
            for (int i = 0; i < rows; i++) {
                int first = rows > 1 ? (columns - width) * i / (rows - 1) : 0;
                harness_random(w, (size_t)width, (unsigned)(2 + i), -1, 1);
                for (int k = 0; i != 1 && k < width - i % 3; k++)
                    matrix[i * columns + first + k] = (double)w[k];
            }
            clv_bands bands;
            clv_buffer *a = harness_upload(ctx, in, n * sizeof *in), *b = harness_output(ctx, m * sizeof *got);
            assert_ok(clv_bands_make(ctx, rows, columns, matrix, &bands));
            assert_int_equal(bands.width, width);
            assert_ok(clv_bands_apply(ctx, CLV_VOLUME(a, size), axis, &bands, CLV_VOLUME(b, to)));
            harness_download(ctx, b, got, m * sizeof *got);
            ref_bands(in, size, axis, rows, matrix, want);
            double error = harness_error(got, want, m, 2e-6 * (width + 1), 0);
            assert_that(error <= 1, "setup %d, axis %d: %g", s, axis, error);
            if (rows != columns)
                assert_int_equal(clv_bands_apply(ctx, CLV_VOLUME(a, size), axis, &bands, CLV_VOLUME(b, size)),
                                 CLVOX_ERROR_ARGUMENT);
            clv_bands_free(&bands);
            clv_buffer_destroy(&a);
            clv_buffer_destroy(&b);
            free(in);
            free(got);
            free(w);
            free(want);
            free(matrix);
        }
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_bands, bands_of_a_matrix_along_each_axis, NULL, 0, "a matrix along each axis");
    return test_run("bands", harness_close);
}
