/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/image/unsharp.h"
#include "ref/image/unsharp.h"

/* The Gaussian has its own test; here is what is made of it. */
int main(void)
{
    enum { N = 13 * 11 * 9 };
    const int size[3] = {13, 11, 9};
    const float sigma[3] = {1, 0.7f, 0};
    static float in[N], smooth[N], got[N];
    static double want[N];
    clvox_context *ctx = harness_open();
    harness_random(in, N, 3, -1, 2);
    clv_buffer *a = harness_upload(ctx, in, sizeof in), *tmp = harness_output(ctx, sizeof in);
    clv_buffer *out = harness_output(ctx, sizeof in);
    CHECK_CASE("unsharp masking adds what the Gaussian takes away");
    CHECK(clv_gaussian(ctx, a, size, false, sigma, CLV_GAUSSIAN_AUTO, tmp, out) == CLVOX_OK);
    harness_download(ctx, out, smooth, sizeof in);
    CHECK(clv_unsharp(ctx, a, size, sigma, 1.5f, tmp, out) == CLVOX_OK);
    harness_download(ctx, out, got, sizeof in);
    ref_unsharp(in, smooth, N, 1.5, want);
    CHECK(harness_error(got, want, N, 2e-6, 1e-6) <= 1);
    CHECK_CASE("unsharp masking of amount 0 changes nothing");
    CHECK(clv_unsharp(ctx, a, size, sigma, 0, tmp, out) == CLVOX_OK);
    harness_download(ctx, out, got, sizeof in);
    CHECK(!memcmp(in, got, sizeof in));
    clv_buffer_destroy(&a);
    clv_buffer_destroy(&tmp);
    clv_buffer_destroy(&out);
    clvox_context_destroy(&ctx);
    return check_end();
}
