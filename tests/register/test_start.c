/* SPDX-License-Identifier: Apache-2.0 */
/* Deformations that start from a warp. */
#include "op/harness.h"
#include "register/pair.h"

static clvox_context *ctx;

static const clvox_deform models[] = {CLVOX_DEFORM_GREEDY, CLVOX_DEFORM_SYN, CLVOX_DEFORM_UNBIASED};

/* The truth, sampled on a grid of its own: without iterations it is the result, and with some it stays near. */
static void the_truth_as_a_start_is_kept(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result r;
    clvox_register_images images = {.channels = 1};
    clvox_grid grid;
    clvox_volume *warp;
    pair p;
    double largest;
    pair_make(&p, (const int[3]){37, 33, 29}, (const double[3]){2, 2, 2.5}, true, 3, 5);
    clvox_phantom_grid((const int[3]){41, 45, 43}, (const double[3]){2, 2, 2}, false, &grid);
    assert_ok(clv_phantom_warp_sample(&p.warp, &grid, false, &warp));
    pair_options(&o, models[given[0]], CLVOX_METRIC_SSD);
    images.fixed[0] = p.fixed;
    images.moving[0] = p.moving;
    images.initial_warp = warp;
    int iterations[2] = {o.iterations[0], o.iterations[1]};
    o.iterations[0] = o.iterations[1] = 0;
    assert_ok(clvox_register(ctx, &images, &o, &r));
    double start = pair_start(&p, NULL), kept = pair_error(&p, &r, NULL, &largest);
    clvox_register_result_destroy(&r);
    o.iterations[0] = iterations[0];
    o.iterations[1] = iterations[1];
    assert_ok(clvox_register(ctx, &images, &o, &r));
    double then = pair_error(&p, &r, NULL, &largest);
    printf("# %.3f voxels from 0, %.3f kept, %.3f after iterations\n", start, kept, then);
    assert_that(start > .3 && kept < .06 && then < .7 * start, "%.3f, %.3f, %.3f", start, kept, then);
    assert_true(!r.exchanged && r.device_bytes <= clvox_register_bytes(&images, &o));
    clvox_register_result_destroy(&r);
    o.deform = CLVOX_DEFORM_NONE;
    assert_int_equal(clvox_register(ctx, &images, &o, &r), CLVOX_ERROR_ARGUMENT);
    clvox_volume_destroy(&warp);
    pair_free(&p);
}

int main(void)
{
    ctx = harness_open();
    test_case_at(the_truth_as_a_start_is_kept, TEST_AT(0), "the truth as a start is kept: greedy");
    test_case_at(the_truth_as_a_start_is_kept, TEST_AT(1), "the truth as a start is kept: syn");
    test_case_at(the_truth_as_a_start_is_kept, TEST_AT(2), "the truth as a start is kept: unbiased");
    return test_run("start", harness_close);
}
