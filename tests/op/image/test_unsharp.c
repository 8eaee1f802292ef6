/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/image/unsharp.h"
#include "ref/image/unsharp.h"

enum { N = 13 * 11 * 9 };
static const int size[3] = {13, 11, 9};
static const float sigma[3] = {1, 0.7f, 0};

static struct {
    float in[N], smooth[N], got[N];
    double want[N];
    clv_buffer *a, *tmp, *out;
} shared;

static void unsharp_masking_adds_what_the_gaussian(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    assert_int_equal(
        clv_gaussian(ctx, CLV_VOLUME(shared.a, size), sigma, CLV_GAUSSIAN_AUTO, shared.tmp, shared.out),
        CLVOX_OK);
    harness_download(ctx, shared.out, shared.smooth, sizeof shared.in);
    assert_int_equal(clv_unsharp(ctx, CLV_VOLUME(shared.a, size), sigma, 1.5f, shared.tmp, shared.out),
                     CLVOX_OK);
    harness_download(ctx, shared.out, shared.got, sizeof shared.in);
    ref_unsharp(shared.in, shared.smooth, N, 1.5, shared.want);
    assert_true(harness_error(shared.got, shared.want, N, 2e-6, 1e-6) <= 1);
}

static void unsharp_masking_of_amount_0_changes_nothing(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    assert_int_equal(clv_unsharp(ctx, CLV_VOLUME(shared.a, size), sigma, 0, shared.tmp, shared.out),
                     CLVOX_OK);
    harness_download(ctx, shared.out, shared.got, sizeof shared.in);
    assert_memory_equal(shared.in, shared.got, sizeof shared.in);
}

static int tear_down(void **state)
{
    clv_buffer_destroy(&shared.a);
    clv_buffer_destroy(&shared.tmp);
    clv_buffer_destroy(&shared.out);
    return harness_close(state);
}

/* The Gaussian has its own test; here is what is made of it. */
int main(void)
{
    clvox_context *ctx = harness_open();
    harness_random(shared.in, N, 3, -1, 2);
    shared.a = harness_upload(ctx, shared.in, sizeof shared.in);
    shared.tmp = harness_output(ctx, sizeof shared.in);
    shared.out = harness_output(ctx, sizeof shared.in);
    test_case(unsharp_masking_adds_what_the_gaussian, "unsharp masking adds what the Gaussian takes away");
    test_case(unsharp_masking_of_amount_0_changes_nothing, "unsharp masking of amount 0 changes nothing");
    return test_run("unsharp", tear_down);
}
