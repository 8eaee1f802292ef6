/* SPDX-License-Identifier: Apache-2.0 */
/* From a scan to maps in one go: the bits of the stages one by one. */
#include <string.h>

#include "check.h"
#include "clvox/tensor_all.h"
#include "op/harness.h"
#include "phantom/phantom.h"
#include "phantom/tensor.h"
#include "tensor/resident.h"

static clvox_context *ctx;

typedef struct scan {
    clvox_volume *truth, *fa, *mask, *dwi;
    clvox_gradients *gradients;
} scan;

static void scan_make(const int size[3], int directions, scan *s)
{
    clvox_grid grid;
    clv_tensor_phantom phantom;
    clvox_phantom_grid(size, (const double[3]){2, 2, 2.5}, true, &grid);
    assert_ok(clv_tensor_phantom_make(CLVOX_TENSOR_STEPS, &grid, 3, &phantom));
    assert_ok(clv_tensor_phantom_truth(&phantom, &grid, &s->truth, &s->fa, &s->mask));
    assert_ok(clv_tensor_phantom_gradients(directions, 1000, 1, &s->gradients));
    assert_ok(clv_tensor_phantom_dwi(&phantom, &grid, s->gradients, 20, true, 5, &s->dwi));
    size_t n = clvox_grid_voxels(&grid);
    /* Signals that cannot be fitted, within the mask. */
    s->dwi->data[n / 2] = NAN;
    for (int k = 0; k < s->dwi->frames; k++)
        s->dwi->data[(size_t)k * n + n / 2 + 3] = 0;
}

static void scan_free(scan *s)
{
    clvox_volume_destroy(&s->truth);
    clvox_volume_destroy(&s->fa);
    clvox_volume_destroy(&s->mask);
    clvox_volume_destroy(&s->dwi);
    clvox_gradients_destroy(&s->gradients);
}

static void same(const clvox_volume *a, const clvox_volume *b, const char *what)
{
    if (!a || !b) {
        assert_that(!a && !b, "%s is there in one way alone", what);
        return;
    }
    size_t count = clvox_grid_voxels(&a->grid) * (size_t)a->frames, other = 0;
    assert_true(a->frames == b->frames && a->kind == b->kind);
    for (size_t i = 0; i < count; i++)
        other += memcmp(&a->data[i], &b->data[i], sizeof(float)) != 0;
    assert_that(!other, "%s: %zu of %zu values differ", what, other, count);
}

static void one_by_one(const scan *s, const clvox_volume *mask, const clvox_tensor_all_options *o,
                       clvox_tensor_all_result *r)
{
    clvox_volume *clean = NULL, *noise = NULL;
    clvox_tensor_fit_options fit = o->fit;
    memset(r, 0, sizeof *r);
    if (!mask && !o->everywhere) {
        assert_ok(clvox_dwi_mask(s->dwi, &r->mask));
        mask = r->mask;
    }
    if (o->fit.denoise)
        assert_ok(clvox_dwi_denoise(ctx, s->dwi, mask, o->fit.window / 2, &clean, &noise));
    fit.denoise = CLVOX_SCAN_AS_IT_IS;
    assert_ok(clvox_tensor_fit(ctx, clean ? clean : s->dwi, s->gradients, mask, &fit, &r->fit));
    r->fit.scan_noise = noise;
    if (noise)
        assert_ok(clv_tensor_fit_denoised(&r->fit, noise));
    if (!o->plain)
        assert_ok(clvox_tensor_denoise(ctx, r->fit.tensor, r->fit.sigma, mask, &o->denoise, &r->denoised));
    assert_ok(clvox_tensor_measures(ctx, o->plain ? r->fit.tensor : r->denoised.tensor, mask, o->measures,
                                    r->maps));
    clvox_volume_destroy(&clean);
}

static void compare(const scan *s, const clvox_volume *mask, const clvox_tensor_all_options *o)
{
    clvox_tensor_all_result got, want;
    one_by_one(s, mask, o, &want);
    assert_that(clvox_tensor_all(ctx, s->dwi, s->gradients, mask, o, &got) == CLVOX_OK, "%s",
                clvox_message());
    same(got.fit.tensor, want.fit.tensor, "the fit's tensor");
    same(got.fit.s0, want.fit.s0, "S0");
    same(got.fit.sigma, want.fit.sigma, "the tensor's noise");
    same(got.fit.noise, want.fit.noise, "the signal's noise");
    same(got.fit.scan_noise, want.fit.scan_noise, "the scan's noise");
    same(got.mask, want.mask, "the mask");
    same(got.denoised.tensor, want.denoised.tensor, "the tensor");
    for (int m = 0; m < CLVOX_MEASURES; m++)
        same(got.maps[m], want.maps[m], "a measure");
    assert_true(got.fit.fitted == want.fit.fitted && got.fit.volumes == want.fit.volumes &&
                got.device_bytes > 0);
    assert_true(got.stage == CLVOX_TENSOR_STAGE_MEASURES);
    clvox_tensor_all_result_destroy(&got);
    clvox_tensor_all_result_destroy(&want);
}

static void failures(void **state)
{
    (void)state;
    scan s;
    clvox_tensor_all_options o;
    clvox_tensor_all_result r;
    scan_make((const int[3]){9, 8, 7}, 6, &s);
    clvox_tensor_all_defaults(&o);
    assert_int_equal(clvox_tensor_all(ctx, s.dwi, s.gradients, s.mask, &o, &r), CLVOX_ERROR_DATA);
    assert_true(r.stage == CLVOX_TENSOR_STAGE_DENOISE && strstr(clvox_message(), "no residuals") &&
                !r.fit.tensor);
    o.denoise.lambda = 3;
    o.fit.bmax = 10;
    assert_int_equal(clvox_tensor_all(ctx, s.dwi, s.gradients, s.mask, &o, &r), CLVOX_ERROR_DATA);
    assert_true(r.stage == CLVOX_TENSOR_STAGE_FIT && !r.fit.tensor && !r.maps[0]);
    o.fit.bmax = 0;
    o.measures = 0;
    assert_int_equal(clvox_tensor_all(ctx, s.dwi, s.gradients, s.mask, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_true(r.stage == CLVOX_TENSOR_STAGE_MEASURES && !r.denoised.tensor);
    s.mask->frames = 2;
    assert_int_equal(clvox_tensor_all(ctx, s.dwi, s.gradients, s.mask, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_true(r.stage == CLVOX_TENSOR_STAGE_SCAN && strstr(clvox_message(), "mask"));
    s.mask->frames = 1;
    s.mask->grid.size[2]--;
    assert_int_equal(clvox_tensor_all(ctx, s.dwi, s.gradients, s.mask, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_true(r.stage == CLVOX_TENSOR_STAGE_SCAN && strstr(clvox_message(), "mask"));
    s.mask->grid.size[2]++;
    scan_free(&s);
}

static struct {
    scan s;
    clvox_tensor_all_options o, few;
} shared;

static int each_set_up(void **state)
{
    (void)state;
    const bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    scan_make((const int[3]){tiny ? 9 : 23, tiny ? 8 : 19, tiny ? 7 : 13}, 12, &shared.s);
    clvox_tensor_all_defaults(&shared.o);
    if (tiny)
        shared.o.denoise.iterations = 3;
    shared.few = shared.o;
    shared.few.fit.denoise = CLVOX_SCAN_MPPCA;
    shared.few.fit.window = tiny ? 3 : 5;
    shared.few.everywhere = 1;
    shared.few.measures = 1u << CLVOX_MEASURE_FA | 1u << CLVOX_MEASURE_V1;
    return 0;
}

static int each_tear_down(void **state)
{
    (void)state;
    scan_free(&shared.s);
    return 0;
}

static void the_defaults(void **state)
{
    (void)state;
    compare(&shared.s, shared.s.mask, &shared.o);
}

static void the_scans_own_mask(void **state)
{
    (void)state;
    compare(&shared.s, NULL, &shared.o);
}

static void pca_first_without_a_mask_few_measures(void **state)
{
    (void)state;
    compare(&shared.s, NULL, &shared.few);
}

static void volumes_left_out_logarithms(void **state)
{
    (void)state;
    for (int k = 1; k < shared.s.gradients->count; k += 5)
        shared.s.gradients->b[k] = 2000;
    shared.few.fit.bmax = 1000;
    shared.few.denoise.model = CLVOX_TENSOR_MODEL_LOG;
    compare(&shared.s, shared.s.mask, &shared.few);
}

static void tensors_as_they_were_fitted(void **state)
{
    (void)state;
    shared.few.plain = 1;
    compare(&shared.s, shared.s.mask, &shared.few);
}

static void a_device_that_does_not_hold_the_scan(void **state)
{
    (void)state;
    clvox_device_limits *limits = (clvox_device_limits *)(uintptr_t)clvox_context_limits(ctx), real = *limits;
    limits->max_allocation = 7 * sizeof(float) * clvox_grid_voxels(&shared.s.dwi->grid);
    shared.few.fit.denoise = CLVOX_SCAN_AS_IT_IS;
    shared.few.plain = 1;
    compare(&shared.s, shared.s.mask, &shared.few);
    *limits = real;
}

int main(void)
{
    ctx = harness_open();
    test_case(failures, "what fails says at which stage");
    test_each(each_set_up, each_tear_down);
    test_case(the_defaults, "one command has the bits of its three parts, by default");
    test_case(the_scans_own_mask, "the scan's own mask");
    test_case(pca_first_without_a_mask_few_measures, "PCA first, without a mask, few measures");
    test_case(volumes_left_out_logarithms, "volumes left out, logarithms");
    test_case(tensors_as_they_were_fitted, "tensors as they were fitted");
    test_case(a_device_that_does_not_hold_the_scan, "a device that does not hold the scan");
    return test_run("all", harness_close);
}
