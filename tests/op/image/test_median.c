/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "op/harness.h"
#include "op/image/median.h"
#include "ref/image/median.h"

typedef struct trial {
    int size[3], radius[3];
} trial;

static const trial trials[] = {
    {{9, 3, 2}, {1, 1, 1}},  {{1, 1, 1}, {1, 1, 1}},  {{9, 2, 2}, {2, 0, 1}},
    /* The rest is left out under the simulator. */
    {{11, 7, 5}, {1, 1, 1}}, {{9, 5, 3}, {2, 0, 1}},
    {{1, 6, 5}, {1, 1, 1}},  {{10, 1, 3}, {1, 1, 1}}, {{19, 13, 2}, {1, 1, 1}}, {{7, 3, 2}, {0, 0, 0}},
    {{13, 11, 7}, {2, 2, 2}}, {{17, 3, 5}, {0, 3, 1}}, {{8, 1, 9}, {7, 7, 7}},
};

static void median_is_the_reference_s(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    /* oclgrind 21.10 takes minutes for the bisection of eight voxels at once. */
    bool eight = harness_simulated() && !strcmp(harness_variant()->name, "row");
    int count = harness_problems(eight ? 2 : 3, 12);
    for (int s = 0; s < count; s++) {
        const trial *t = &trials[s];
        size_t n = (size_t)t->size[0] * (size_t)t->size[1] * (size_t)t->size[2];
        float *a = malloc(n * sizeof(float)), *got = malloc(n * sizeof(float));
        double *want = malloc(n * sizeof(double));
        harness_random(a, n, 7 + (unsigned)s, -100, 100);
        /* Ties, both infinities, and NaN of either sign, in places more than half of a box. */
        for (size_t i = 0; i < n; i++) {
            if (i % 5 == 0)
                a[i] = 3;
            if (i % 7 == 6)
                a[i] = i % 2 ? INFINITY : -INFINITY;
            if (i % 3 == 1 && i > n / 2)
                a[i] = i % 2 ? NAN : -NAN;
            if (i > n - n / 6)
                a[i] = NAN;
        }
        clv_buffer *in = harness_upload(ctx, a, n * sizeof(float));
        clv_buffer *out = harness_output(ctx, n * sizeof(float));
        assert_int_equal(clv_median_filter(ctx, CLV_VOLUME(in, t->size), t->radius, out), CLVOX_OK);
        harness_download(ctx, out, got, n * sizeof(float));
        ref_median(a, t->size, t->radius, want);
        for (size_t i = 0; i < n; i++)
            assert_that(isnan(want[i]) ? isnan(got[i]) != 0 : !((double)got[i] < want[i]) && !((double)got[i] > want[i]),
                        "%dx%dx%d, radius %d %d %d: voxel %zu is %g, not %g", t->size[0], t->size[1], t->size[2],
                        t->radius[0], t->radius[1], t->radius[2], i, (double)got[i], want[i]);
        clv_buffer_destroy(&in);
        clv_buffer_destroy(&out);
        free(a);
        free(got);
        free(want);
    }
}

static void a_radius_too_large_is_refused(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    const int size[3] = {2, 2, 2};
    clv_buffer *out = harness_output(ctx, 32), *in = harness_output(ctx, 32);
    assert_int_equal(clv_median_filter(ctx, CLV_VOLUME(in, size), (const int[3]){1, 8, 1}, out), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clv_median_filter(ctx, CLV_VOLUME(in, size), (const int[3]){-1, 1, 1}, out), CLVOX_ERROR_ARGUMENT);
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&out);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_median, median_is_the_reference_s, NULL, 0, "as sorted");
    test_case(a_radius_too_large_is_refused, "a radius too large is refused");
    return test_run("median", harness_close);
}
