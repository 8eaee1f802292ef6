/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/cauchy.h"
#include "bench/papers/ref/cauchy.h"
#include "op/harness.h"

#include <math.h>

static const int counts[][2] = {{37, 300}, {1, 1}, {5, 1}, {700, 263}};
static const double WIDTH = 3;

static void elements(int count, unsigned seed, float *e)
{
    harness_random(e, 8 * (size_t)count, seed, -4, 4);
    for (int i = 0; i < count; i++) {
        float *n = e + 8 * (size_t)i + 4, length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int k = 0; k < 3; k++)
            n[k] /= length;
        n[3] = .2f + fabsf(n[3]);
        n[-1] = 0;
    }
}

/* The reference's slope along one coordinate of element i. */
static double slope(float *target, int targets, const float *source, int sources, int i, int k)
{
    const float step = .0078125f, at = target[8 * i + k];
    target[8 * i + k] = at + step;
    const double high = ref_cauchy(target, targets, source, sources, WIDTH, NULL);
    target[8 * i + k] = at - step;
    const double low = ref_cauchy(target, targets, source, sources, WIDTH, NULL);
    target[8 * i + k] = at;
    return (high - low) / (2 * (double)step);
}

static void products_and_gradients(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    for (int s = 0; s < harness_problems(3, 4); s++) {
        const int m = counts[s][0], n = counts[s][1];
        float *a = malloc(32 * (size_t)m), *b = malloc(32 * (size_t)n), *got = malloc(32 * (size_t)m);
        double *want = malloc(8 * (size_t)m);
        elements(m, 3 + (unsigned)s, a);
        elements(n, 13 + (unsigned)s, b);
        clv_buffer *target = harness_upload(ctx, a, 32 * (size_t)m),
                   *source = harness_upload(ctx, b, 32 * (size_t)n);
        clv_buffer *out = harness_output(ctx, 32 * (size_t)m);
        const clv_elements from = {source, NULL, n}, to = {target, NULL, m};
        assert_ok(clv_cauchy(ctx, &to, &from, (float)WIDTH, out));
        harness_download(ctx, out, got, 32 * (size_t)m);
        ref_cauchy(a, m, b, n, WIDTH, want);
        for (int i = 0; i < m; i++)
            assert_that(fabs((double)got[8 * i + 3] - want[i]) <= 2e-5 * (1 + fabs(want[i])) * n,
                        "%d of %d: %g, not %g", i, m, (double)got[8 * i + 3], want[i]);
        for (int k = 0; k < 3; k++) {
            const int i = m / 2;
            const double by_centre = slope(a, m, b, n, i, k), by_normal = slope(a, m, b, n, i, 4 + k);
            assert_that(fabs((double)got[8 * i + k] - by_centre) <= 1e-3 * (1 + fabs(by_centre)),
                        "%g, not %g", (double)got[8 * i + k], by_centre);
            assert_that(fabs((double)(a[8 * i + 7] * got[8 * i + 4 + k]) - by_normal) <=
                            1e-3 * (1 + fabs(by_normal)),
                        "%g, not %g", (double)(a[8 * i + 7] * got[8 * i + 4 + k]), by_normal);
        }
        clv_buffer *all[] = {target, source, out};
        for (int i = 0; i < 3; i++)
            clv_buffer_destroy(&all[i]);
        free(a);
        free(b);
        free(got);
        free(want);
    }
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_cauchy, products_and_gradients, NULL, 0, "products and finite differences");
    return test_run("cauchy", harness_close);
}
