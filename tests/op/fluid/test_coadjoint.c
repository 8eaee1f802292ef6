/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/coadjoint.h"

#include <math.h>
#include <stdlib.h>

#include "op/harness.h"
#include "ref/fluid/coadjoint.h"

static const int sizes[][3] = {{1, 1, 1}, {1, 7, 5}, {5, 1, 3}, {2, 11, 1}, {3, 2, 2}, {37, 5, 3}, {17, 13, 7}};
static const float uneven[3] = {0.8f, 1.5f, 2.25f};

static void run(clvox_context *ctx, const int size[3])
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    const double spacing[3] = {(double)uneven[0], (double)uneven[1], (double)uneven[2]};
    float *v = malloc(3 * n * sizeof *v), *m = malloc(3 * n * sizeof *m), *got = malloc(3 * n * sizeof *got);
    double *vv = malloc(3 * n * sizeof *vv), *mm = malloc(3 * n * sizeof *mm);
    double *ad = malloc(3 * n * sizeof *ad), *co = malloc(3 * n * sizeof *co), left = 0, right = 0, all = 1e-30;
    harness_random(v, 3 * n, 3, -2, 2);
    harness_random(m, 3 * n, 4, -1, 1);
    for (size_t i = 0; i < 3 * n; i++) {
        vv[i] = (double)v[i];
        mm[i] = (double)m[i];
    }
    clv_buffer *a = harness_upload_field(ctx, v, n), *b = harness_upload_field(ctx, m, n);
    clv_buffer *out = harness_output(ctx, 3 * n * sizeof(float));
    const clv_image field = clv_image_of(a, size, uneven, 3);
    ref_adjoint_action(vv, mm, size, spacing, ad);
    assert_ok(clv_adjoint_action(ctx, &field, b, out));
    harness_download_field(ctx, out, got, n);
    double error = harness_error(got, ad, 3 * n, 1e-5, 1e-5);
    assert_that(error <= 1, "ad, %dx%dx%d: %g", size[0], size[1], size[2], error);
    ref_coadjoint_action(vv, mm, size, spacing, co);
    assert_ok(clv_coadjoint_action(ctx, &field, b, out));
    harness_download_field(ctx, out, got, n);
    error = harness_error(got, co, 3 * n, 1e-5, 1e-5);
    assert_that(error <= 1, "ad*, %dx%dx%d: %g", size[0], size[1], size[2], error);
    /* <ad*_v m, w> = <m, ad_v w>, here of w = m turned round; and ad_v v = 0. */
    double *w = malloc(3 * n * sizeof *w);
    for (size_t i = 0; i < 3 * n; i++)
        w[i] = mm[3 * n - 1 - i];
    ref_adjoint_action(vv, w, size, spacing, ad);
    for (size_t i = 0; i < 3 * n; i++) {
        left += co[i] * w[i];
        right += mm[i] * ad[i];
        all += fabs(co[i] * w[i]);
    }
    assert_that(fabs(left - right) <= 1e-12 * all, "%g and %g", left, right);
    ref_adjoint_action(vv, vv, size, spacing, ad);
    for (size_t i = 0; i < 3 * n; i++)
        assert_that(fabs(ad[i]) < 1e-12, "%g", ad[i]);
    clv_buffer_destroy(&a);
    clv_buffer_destroy(&b);
    clv_buffer_destroy(&out);
    free(v);
    free(m);
    free(got);
    free(vv);
    free(mm);
    free(ad);
    free(co);
    free(w);
}

static void both_actions(void **state)
{
    (void)state;
    int count = (int)(sizeof sizes / sizeof *sizes) - (getenv("CLVOX_TEST_TINY") != NULL);
    for (int k = 0; k < count; k++)
        run(harness_context(), sizes[k]);
}

int main(void)
{
    harness_open();
    harness_cases_first(&clv_entry_coadjoint, both_actions, NULL, 0, "ad and ad*");
    return test_run("coadjoint", harness_close);
}
