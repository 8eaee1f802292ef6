/* SPDX-License-Identifier: Apache-2.0 */
/* One of two images given the other one's contrast: tables and agreement with known answers. */
#include <math.h>

#include "op/harness.h"
#include "register/pair.h"
#include "register/recast.h"

enum { X = 40, Y = 36, Z = 32, N = X * Y * Z };

static clvox_context *ctx;
static float fixed[N], moving[N];

/* Smooth waves from 0 to 1, more than two of them along each axis. */
static void waves(float *out)
{
    for (int i = 0; i < N; i++) {
        const double x = i % X, y = i / X % Y, z = i / X / Y;
        out[i] = (float)(.5 + .5 * sin(.45 * x + .2 * z) * cos(.4 * y - .3 * z));
    }
}

/* Up to a half and down again: the other way no function. */
static float tent(float v)
{
    return v < .5f ? 4 * v : 4 - 4 * v;
}

static float at(const clv_recast *r, float x)
{
    int k = 0;
    while (k < r->knots - 2 && r->from[k + 1] < x)
        k++;
    return r->to[k] + (r->to[k + 1] - r->to[k]) * (x - r->from[k]) / (r->from[k + 1] - r->from[k]);
}

static void an_inverted_contrast_is_turned_round(void **state)
{
    (void)state;
    clv_recast r;
    waves(fixed);
    for (int i = 0; i < N; i++)
        moving[i] = 3 - 2 * fixed[i];
    clv_recast_find(fixed, moving, N, 1, &r);
    assert_int_equal(r.knots, CLV_RECAST_BINS);
    for (int i = 1; i < r.knots; i++)
        assert_true(r.from[i] > r.from[i - 1]);
    for (float v = .1f; v < .95f; v += .1f) /* bins are .016 or .03 wide; their means take neighbours in */
        assert_that(fabsf(r.moving ? at(&r, 3 - 2 * v) - v : at(&r, v) - (3 - 2 * v)) < .02f, "at %g",
                    (double)v);
}

static void the_plainer_of_two_contrasts_is_kept(void **state)
{
    const bool swapped = *(const int *)*state;
    clv_recast r;
    float *plain = swapped ? moving : fixed, *tented = swapped ? fixed : moving;
    waves(plain);
    for (int i = 0; i < N; i++)
        tented[i] = tent(plain[i]);
    clv_recast_find(fixed, moving, N, 1, &r);
    assert_int_equal(r.moving, !swapped);
    /* Either half is as likely as the other. */
    for (float v = .3f; v < 1.8f; v += .1f)
        assert_that(fabsf(at(&r, v) - .5f) < .05f, "%g becomes %g", (double)v, (double)at(&r, v));
}

static void what_is_no_number_does_not_count(void **state)
{
    (void)state;
    clv_recast with, without;
    waves(fixed);
    for (int i = 0; i < N; i++)
        moving[i] = 1 - fixed[i];
    for (int i = 0; i < N; i += 5)
        moving[i] = NAN;
    clv_recast_find(fixed, moving, N, 1, &with);
    for (int i = 0; i < N; i += 5)
        fixed[i] = NAN;
    clv_recast_find(fixed, moving, N, 1, &without);
    assert_int_equal(with.knots, without.knots);
    assert_memory_equal(with.to, without.to, sizeof with.to);
    for (int i = 0; i < N; i++)
        moving[i] = NAN;
    clv_recast_find(fixed, moving, N, 1, &with);
    assert_int_equal(with.knots, 0);
    for (int i = 0; i < N; i++)
        moving[i] = 7;
    clv_recast_find(fixed, moving, N, 1, &with);
    assert_int_equal(with.knots, 0);
}

static void agreement_is_of_one_sign_in_one_contrast(void **state)
{
    (void)state;
    const int size[3] = {X, Y, Z};
    clv_recast r;
    waves(fixed);
    for (int i = 0; i < N; i++)
        moving[i] = 20 + 5 * fixed[i];
    assert_float_equal(clv_recast_agreement(fixed, moving, size, NULL), 1, 1e-6);
    for (int i = 0; i < N; i++)
        moving[i] = -moving[i];
    assert_float_equal(clv_recast_agreement(fixed, moving, size, NULL), -1, 1e-6);
    clv_recast_find(fixed, moving, N, 1, &r);
    assert_true(clv_recast_agreement(fixed, moving, size, &r) > .999);
    for (int i = 0; i < N; i++)
        moving[i] = tent(fixed[i]);
    assert_true(fabs(clv_recast_agreement(fixed, moving, size, NULL)) < .5);
    assert_true(isnan(clv_recast_agreement(fixed, memset(moving, 0, sizeof moving), size, NULL)));
}

static void the_device_and_the_host_recast_alike(void **state)
{
    const bool which = *(const int *)*state;
    clvox_volume *copy = NULL;
    clvox_register_options o;
    clv_recast r = {.knots = 3, .moving = which, .from = {0, 50, 100}, .to = {100, 20, 60}};
    pair p;
    pair_make(&p, (const int[3]){20, 18, 16}, (const double[3]){2, 2, 2}, false, 1, 3);
    const clvox_volume *of = which ? p.moving : p.fixed;
    const size_t n = clvox_grid_voxels(&of->grid);
    pair_options(&o, CLVOX_DEFORM_NONE, CLVOX_METRIC_LNCC);
    clv_registration run = {
        .ctx = ctx, .options = &o, .fixed_grid = p.fixed->grid, .moving_grid = p.moving->grid};
    clv_buffer **image = which ? &run.channels[0].moving : &run.channels[0].fixed;
    float *found = malloc(n * sizeof *found);
    assert_non_null(found);
    assert_ok(clv_buffer_create(ctx, n * sizeof *found, "image", image));
    assert_ok(clv_buffer_write(ctx, *image, 0, of->data, n * sizeof *found));
    assert_ok(clv_recast_apply(&run, &r));
    assert_ok(clv_buffer_read(ctx, *image, 0, found, n * sizeof *found));
    assert_ok(clv_recast_copy(&r, of, &copy));
    for (size_t i = 0; i < n; i++)
        assert_that(fabsf(found[i] - copy->data[i]) < 1e-3f, "voxel %zu: %g and %g", i, (double)found[i],
                    (double)copy->data[i]);
    clv_buffer_destroy(image);
    clvox_volume_destroy(&copy);
    free(found);
    pair_free(&p);
}

int main(void)
{
    ctx = harness_open();
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "moving" : "fixed";
        test_case_at(the_plainer_of_two_contrasts_is_kept, TEST_AT(i),
                     "the plainer of two contrasts is kept, %s", name);
        test_case_at(the_device_and_the_host_recast_alike, TEST_AT(i),
                     "device and host recast the %s image alike", name);
    }
    test_case(an_inverted_contrast_is_turned_round, "an inverted contrast is turned round");
    test_case(what_is_no_number_does_not_count, "what is no number does not count");
    test_case(agreement_is_of_one_sign_in_one_contrast,
              "agreement is 1 in one contrast, -1 where it is inverted");
    return test_run("recast", harness_close);
}
