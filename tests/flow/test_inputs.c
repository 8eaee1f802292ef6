/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of LDDMM and shooting beside a pair: channels, masks, presets. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "op/harness.h"
#include "register/pair.h"

static struct {
    pair p;
    clvox_volume *flat, *hurt, *mask; /* no contrast; the fixed image with a bright block; all but that block */
} shared;

static clvox_volume *copy_of(const clvox_volume *v)
{
    clvox_volume *copy = NULL;
    assert_ok(clvox_volume_create(&v->grid, 1, v->kind, &copy));
    memcpy(copy->data, v->data, clvox_grid_voxels(&v->grid) * sizeof(float));
    return copy;
}

static int set_up(void **state)
{
    (void)state;
    pair *p = &shared.p;
    pair_make(p, (int[3]){27, 25, 23}, (double[3]){1, 1, 1.3}, true, 1.8, 61);
    shared.flat = copy_of(p->fixed);
    shared.hurt = copy_of(p->fixed);
    shared.mask = copy_of(p->fixed);
    const int *size = p->fixed->grid.size;
    float most = 0;
    size_t n = clvox_grid_voxels(&p->fixed->grid);
    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, p->fixed->data[i]);
    for (size_t i = 0; i < n; i++) {
        const int x[3] = {(int)(i % (size_t)size[0]), (int)(i / (size_t)size[0] % (size_t)size[1]),
                          (int)(i / (size_t)size[0] / (size_t)size[1])};
        bool block = true, near = true;
        for (int a = 0; a < 3; a++) {
            block = block && abs(x[a] - size[a] / 2 - 2) <= 2;
            near = near && abs(x[a] - size[a] / 2 - 2) <= 4;
        }
        shared.flat->data[i] = 1;
        shared.mask->data[i] = near ? 0 : 1;
        if (block)
            shared.hurt->data[i] = most;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&shared.flat);
    clvox_volume_destroy(&shared.hurt);
    clvox_volume_destroy(&shared.mask);
    pair_free(&shared.p);
    return 0;
}

static void options_of(clvox_register_options *o, clvox_deform deform)
{
    pair_options(o, deform, CLVOX_METRIC_LNCC);
    o->iterations[0] = 20;
    o->iterations[1] = 5;
    o->lambda = .005;
}

static void every_channel_counts(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result one, r;
    double largest;
    options_of(&o, (clvox_deform)given[0]);
    assert_ok(pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &o, &one));
    clvox_register_images images = {.fixed = {shared.p.fixed, shared.p.fixed},
                                    .moving = {shared.p.moving, shared.p.moving},
                                    .weight = {3, 1}, .channels = 2};
    assert_ok(clvox_register(harness_context(), &images, &o, &r));
    double same = pair_distance(one.warp, r.warp, shared.p.labels, &largest);
    /* Sums in another order decide otherwise between two steps now and then. */
    assert_that(same < .05, "the image twice: %g voxels from once", same);
    clvox_register_result_destroy(&r);
    images.fixed[0] = images.moving[0] = shared.flat;
    assert_ok(clvox_register(harness_context(), &images, &o, &r));
    double second = pair_error(&shared.p, &r, NULL, &largest), start = pair_start(&shared.p, NULL);
    printf("# twice: %.4f voxels from once; by the second channel alone: error %.3f of %.3f\n", same, second, start);
    assert_that(second < .75 * start, "%g of %g", second, start);
    clvox_register_result_destroy(&r);
    clvox_register_result_destroy(&one);
}

static void a_mask_leaves_out_a_lesion(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result plain, masked;
    double largest;
    options_of(&o, (clvox_deform)given[0]);
    assert_ok(pair_register(harness_context(), shared.hurt, shared.p.moving, NULL, NULL, &o, &plain));
    assert_ok(pair_register(harness_context(), shared.hurt, shared.p.moving, shared.mask, NULL, &o, &masked));
    double with = pair_error(&shared.p, &masked, NULL, &largest), without = pair_error(&shared.p, &plain, NULL, &largest);
    printf("# error %.3f with the mask, %.3f without\n", with, without);
    assert_that(with < .95 * without, "%g, %g", with, without);
    clvox_register_result_destroy(&plain);
    clvox_register_result_destroy(&masked);
}

static void presets_go_further_by_effort(void **state)
{
    const int *given = *state;
    double error[2], largest;
    for (int i = 0; i < 2; i++) {
        clvox_register_options o;
        clvox_register_result r;
        pair_options(&o, (clvox_deform)given[0], CLVOX_METRIC_LNCC);
        clvox_register_preset(&o, i ? CLVOX_PRESET_BEST : CLVOX_PRESET_QUICK);
        assert_ok(pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r));
        error[i] = pair_error(&shared.p, &r, NULL, &largest);
        assert_true(r.jacobian.folded == 0);
        clvox_register_result_destroy(&r);
    }
    printf("# error %.3f quick, %.3f best, of %.3f\n", error[0], error[1], pair_start(&shared.p, NULL));
    assert_that(error[0] < pair_start(&shared.p, NULL) && error[1] < error[0], "%g, %g", error[0], error[1]);
}

int main(void)
{
    static const clvox_deform flows[] = {CLVOX_DEFORM_LDDMM, CLVOX_DEFORM_SHOOTING};
    static const char *const names[] = {"lddmm", "shooting"};
    harness_open();
    test_set_up(set_up);
    for (int i = 0; i < 2; i++) {
        test_case_at(every_channel_counts, TEST_AT((int)flows[i]), "%s: every channel counts", names[i]);
        test_case_at(a_mask_leaves_out_a_lesion, TEST_AT((int)flows[i]), "%s: a mask leaves out a lesion", names[i]);
        test_case_at(presets_go_further_by_effort, TEST_AT((int)flows[i]), "%s: --best goes further than --quick",
                     names[i]);
    }
    test_tear_down(tear_down);
    return test_run("inputs", harness_close);
}
