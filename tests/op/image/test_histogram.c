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
    CHECK(clv_histogram(ctx, da, dm, n, low, high, bins, counts) == CLVOX_OK);
    harness_download(ctx, counts, got, (size_t)bins * 4);
    ref_histogram(a, mask, n, low, high, bins, want);
    for (int b = 0; b < bins; b++)
        CHECK_THAT(got[b] == want[b], "n %d, bin %d of %d: %d, not %d", n, b, bins, got[b], want[b]);
    clv_buffer_destroy(&da);
    clv_buffer_destroy(&dm);
    clv_buffer_destroy(&counts);
    free(got);
    free(want);
}

int main(void)
{
    ctx = harness_open();
    int most = getenv("CLVOX_TEST_TINY") ? 2003 : 200003, state = 0;
    float *a = malloc((size_t)most * 4), *mask = malloc((size_t)most * 4), *same = malloc((size_t)most * 4);
    harness_random(a, (size_t)most, 21, -1.5f, 2.5f);
    harness_random(mask, (size_t)most, 22, -1, 1);
    for (int i = 0; i < most; i++) {
        same[i] = 3;
        if (i % 7 < 3)
            a[i] = 0;
    }
    a[2] = NAN;
    a[3] = INFINITY;
    a[4] = -INFINITY;
    mask[5] = NAN;
    while (harness_next(ctx, &clv_entry_histogram, &state, "exact counts")) {
        compare(a, NULL, most, -1, 2, 256);
        compare(a, mask, most, -1, 2, 1000);
        compare(a, NULL, 1, -1, 2, 3);
        compare(a, mask, 11, -1, 2, 1);
        compare(a, NULL, 977, -1, 2, 1024);
        compare(same, NULL, most, 3, 3, 64);
    }
    CHECK_CASE("a histogram of too many bins is refused");
    clv_buffer *x = harness_upload(ctx, a, 64);
    CHECK(clv_histogram(ctx, x, NULL, 16, 0, 1, 1025, x) == CLVOX_ERROR_ARGUMENT);
    CHECK(clv_histogram(ctx, x, NULL, 16, 0, 1, 0, x) == CLVOX_ERROR_ARGUMENT);
    clv_buffer_destroy(&x);
    free(a);
    free(mask);
    free(same);
    clvox_context_destroy(&ctx);
    return check_end();
}
