/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/image/histogram.h"
#include "ref/image/histogram.h"

static clvox_context *ctx;

static void compare(const float *a, const float *mask, int n, float low, float high, int bins)
{
    int32_t *got = malloc((size_t)bins * 4), *want = malloc((size_t)bins * 4);
    size_t bytes = (size_t)n * sizeof(float);
    clv_buffer *da = harness_upload(ctx, a, bytes), *dm = mask ? harness_upload(ctx, mask, bytes) : NULL;
    clv_buffer *counts = harness_output(ctx, (size_t)bins * 4);
    assert_int_equal(clv_histogram(ctx, HARNESS_LINE(da, n, 1), dm, &(clv_bins){low, high, bins}, counts),
                     CLVOX_OK);
    harness_download(ctx, counts, got, (size_t)bins * 4);
    ref_histogram(a, mask, n, low, high, bins, want);
    for (int b = 0; b < bins; b++)
        assert_that(got[b] == want[b], "n %d, bin %d of %d: %d, not %d", n, b, bins, got[b], want[b]);
    clv_buffer_destroy(&da);
    clv_buffer_destroy(&dm);
    clv_buffer_destroy(&counts);
    free(got);
    free(want);
}

static struct {
    int most;
    float *a, *mask, *same;
} shared;

static void histogram_exact_counts(void **state)
{
    (void)state;
    compare(shared.a, NULL, shared.most, -1, 2, 256);
    compare(shared.a, shared.mask, shared.most, -1, 2, 1000);
    compare(shared.a, NULL, 1, -1, 2, 3);
    compare(shared.a, shared.mask, 11, -1, 2, 1);
    compare(shared.a, NULL, 977, -1, 2, 1024);
    compare(shared.same, NULL, shared.most, 3, 3, 64);
}

static void a_histogram_of_too_many_bins_is_refused(void **state)
{
    (void)state;
    clv_buffer *x = harness_upload(ctx, shared.a, 64);
    assert_int_equal(clv_histogram(ctx, HARNESS_LINE(x, 16, 1), NULL, &(clv_bins){0, 1, 1025}, x),
                     CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clv_histogram(ctx, HARNESS_LINE(x, 16, 1), NULL, &(clv_bins){0, 1, 0}, x),
                     CLVOX_ERROR_ARGUMENT);
    clv_buffer_destroy(&x);
}

static int tear_down(void **state)
{
    free(shared.a);
    free(shared.mask);
    free(shared.same);
    return harness_close(state);
}

int main(void)
{
    ctx = harness_open();
    shared.most = getenv("CLVOX_TEST_TINY") ? 2003 : 200003;
    shared.a = malloc((size_t)shared.most * 4);
    shared.mask = malloc((size_t)shared.most * 4);
    shared.same = malloc((size_t)shared.most * 4);
    harness_random(shared.a, (size_t)shared.most, 21, -1.5f, 2.5f);
    harness_random(shared.mask, (size_t)shared.most, 22, -1, 1);
    for (int i = 0; i < shared.most; i++) {
        shared.same[i] = 3;
        if (i % 7 < 3)
            shared.a[i] = 0;
    }
    shared.a[2] = NAN;
    shared.a[3] = INFINITY;
    shared.a[4] = -INFINITY;
    shared.mask[5] = NAN;
    harness_cases(&clv_entry_histogram, histogram_exact_counts, NULL, 0, "exact counts");
    test_case(a_histogram_of_too_many_bins_is_refused, "a histogram of too many bins is refused");
    return test_run("histogram", tear_down);
}
