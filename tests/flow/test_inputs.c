/* SPDX-License-Identifier: Apache-2.0 */
/* What LDDMM and shooting are given beside a pair: channels, presets. */
#include "check.h"
#include "op/harness.h"
#include "register/pair.h"

static struct {
    pair p;
    clvox_volume *flat; /* no contrast */
} shared;

static int set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){27, 25, 23}, (double[3]){1, 1, 1.3}, true, 1.8, 61);
    assert_ok(clvox_volume_create(&shared.p.fixed->grid, 1, shared.p.fixed->kind, &shared.flat));
    for (size_t i = 0; i < clvox_grid_voxels(&shared.flat->grid); i++)
        shared.flat->data[i] = 1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&shared.flat);
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
    clvox_register_result_free(&r);
    images.fixed[0] = images.moving[0] = shared.flat;
    assert_ok(clvox_register(harness_context(), &images, &o, &r));
    double second = pair_error(&shared.p, &r, NULL, &largest);
    double start = pair_start(&shared.p, NULL);
    printf("# twice: %.4f voxels from once; by the second channel alone: error %.3f of %.3f\n", same, second,
           start);
    assert_that(second < .75 * start, "%g of %g", second, start);
    clvox_register_result_free(&r);
    clvox_register_result_free(&one);
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
        clvox_register_result_free(&r);
    }
    printf("# error %.3f quick, %.3f best, of %.3f\n", error[0], error[1], pair_start(&shared.p, NULL));
    assert_that(error[0] < pair_start(&shared.p, NULL) && error[1] < error[0], "%g, %g", error[0],
                error[1]);
}

int main(void)
{
    static const clvox_deform flows[] = {CLVOX_DEFORM_LDDMM, CLVOX_DEFORM_SHOOTING};
    static const char *const names[] = {"lddmm", "shooting"};
    harness_open();
    test_set_up(set_up);
    for (int i = 0; i < 2; i++) {
        test_case_at(every_channel_counts, TEST_AT((int)flows[i]), "%s: every channel counts", names[i]);
        test_case_at(presets_go_further_by_effort, TEST_AT((int)flows[i]),
                     "%s: --best goes further than --quick", names[i]);
    }
    test_tear_down(tear_down);
    return test_run("inputs", harness_close);
}
