/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/blend.h"

#include "op/harness.h"
#include "ref/image/blend.h"

static const size_t lengths[] = {1, 7, 8, 13, 1031, 50021};

static void blend_mixes_two_fields_by_a_weight(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    for (int k = 0; k < (getenv("CLVOX_TEST_TINY") ? 4 : 6); k++) {
        size_t n = lengths[k];
        float *u = malloc(3 * n * sizeof *u), *v = malloc(3 * n * sizeof *v), *w = malloc(n * sizeof *w);
        double *want = malloc(3 * n * sizeof *want);
        harness_random(u, 3 * n, 1, -9, 9);
        harness_random(v, 3 * n, 2, -9, 9);
        harness_random(w, n, 3, 0, 1);
        w[0] = 0;
        w[n - 1] = 1;
        ref_blend(u, v, w, n, want);
        clv_buffer *a = harness_upload_field(ctx, u, n), *b = harness_upload_field(ctx, v, n);
        clv_buffer *c = harness_upload(ctx, w, n * sizeof *w);
        assert_int_equal(clv_blend(ctx, HARNESS_LINE(a, (int)n, 3), b, c), CLVOX_OK);
        harness_download_field(ctx, a, u, n);
        assert_true(harness_error(u, want, 3 * n, 4e-6, 0) <= 1);
        clv_buffer_destroy(&a);
        clv_buffer_destroy(&b);
        clv_buffer_destroy(&c);
        free(u);
        free(v);
        free(w);
        free(want);
    }
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_blend, blend_mixes_two_fields_by_a_weight, NULL, 0,
                  "mixes two fields by a weight");
    return test_run("blend", harness_close);
}
