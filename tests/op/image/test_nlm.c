/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/image/nlm.h"
#include "ref/image/nlm.h"

typedef struct trial {
    int size[3], patch, search; /* patch 0: guided */
    bool rician;
} trial;

static const trial trials[] = {
    {{9, 5, 3}, 0, 2, true}, {{5, 6, 3}, 2, 1, true}, {{11, 7, 5}, 1, 2, false},
    /* The rest is left out under the simulator. */
    {{1, 1, 1}, 1, 3, true},   {{67, 5, 3}, 1, 2, false}, {{1, 13, 1}, 2, 3, false}, {{61, 2, 1}, 0, 3, false},
    {{131, 3, 2}, 2, 1, false},
};

static void compare(clvox_context *ctx, const trial *t, unsigned seed)
{
    const int *s = t->size;
    size_t n = (size_t)s[0] * (size_t)s[1] * (size_t)s[2], bytes = n * sizeof(float);
    float *value = malloc(bytes), *guide = malloc(bytes), *sigma = malloc(bytes), *got = malloc(bytes);
    double *want = malloc(n * sizeof *want);
    harness_random(value, n, seed, 0, 10);
    harness_random(guide, n, seed + 1, 0, 10);
    harness_random(sigma, n, seed + 2, 2, 5);
    for (size_t i = 0; i < n; i += 7)
        sigma[i] = 0;
    const clv_nlm_padding padding = clv_nlm_padding_of(s, t->search);
    const size_t padded = clv_nlm_padded_bytes(&padding);
    clv_buffer *in = harness_upload(ctx, value, bytes), *in_guide = harness_upload(ctx, guide, bytes);
    clv_buffer *in_sigma = harness_upload(ctx, sigma, bytes), *out = harness_output(ctx, bytes);
    clv_buffer *wide[3];
    for (int k = 0; k < 3; k++)
        wide[k] = harness_output(ctx, padded);
    assert_int_equal(clv_nlm_pad(ctx, CLV_VOLUME(in, s), &padding, false, wide[0]), CLVOX_OK);
    assert_int_equal(clv_nlm_pad(ctx, CLV_VOLUME(in_guide, s), &padding, false, wide[1]), CLVOX_OK);
    assert_int_equal(clv_nlm_pad(ctx, CLV_VOLUME(in_guide, s), &padding, true, wide[2]), CLVOX_OK);
    const clv_nlm_means_args args = {.padding = padding, .value = wide[0], .guide = t->patch ? NULL : wide[1],
                                     .mean = t->patch ? NULL : wide[2], .patch = t->patch, .search = t->search,
                                     .strength = 0.7f, .rician = t->rician, .sigma = in_sigma};
    assert_int_equal(clv_nlm_means(ctx, CLV_VOLUME(out, s), &args, out), CLVOX_OK);
    harness_download(ctx, out, got, bytes);
    const ref_nlm ref = {.value = value, .guide = t->patch ? NULL : guide, .sigma = sigma,
                         .size = {s[0], s[1], s[2]}, .patch = t->patch, .search = t->search,
                         .strength = (double)0.7f, .rician = t->rician};
    ref_nlm_means(&ref, want);
    double error = harness_error(got, want, n, 2e-4, 1e-5);
    assert_that(error <= 1, "%dx%dx%d, patch %d: error %g of what is allowed", s[0], s[1], s[2], t->patch, error);
    for (int k = 0; k < 3; k++)
        clv_buffer_destroy(&wide[k]);
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&in_guide);
    clv_buffer_destroy(&in_sigma);
    clv_buffer_destroy(&out);
    free(value);
    free(guide);
    free(sigma);
    free(got);
    free(want);
}

static void nlm_is_the_reference_s(void **state)
{
    (void)state;
    int count = harness_problems(3, 8);
    for (int k = 0; k < count; k++)
        compare(harness_context(), &trials[k], 11 + (unsigned)k);
}

static void parameters_out_of_range(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    const int size[3] = {2, 2, 2};
    clv_nlm_means_args args = {.padding = clv_nlm_padding_of(size, 2), .patch = 3, .search = 2, .strength = 1};
    clv_buffer *out = harness_output(ctx, 32);
    assert_int_equal(clv_nlm_means(ctx, CLV_VOLUME(out, size), &args, out), CLVOX_ERROR_ARGUMENT);
    args.patch = 1;
    args.search = 3;
    assert_int_equal(clv_nlm_means(ctx, CLV_VOLUME(out, size), &args, out), CLVOX_ERROR_ARGUMENT);
    clv_buffer_destroy(&out);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_nlm_means, nlm_is_the_reference_s, NULL, 0, "against the reference");
    harness_cases(&clv_entry_nlm_pad, nlm_is_the_reference_s, NULL, 0, "against the reference");
    test_case(parameters_out_of_range, "parameters out of range are refused");
    return test_run("nlm", harness_close);
}
