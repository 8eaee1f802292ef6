/* SPDX-License-Identifier: Apache-2.0 */
/* Steps before and after the work of a registration: channels on other grids, levels that end coarser than the
 * images, and what it refuses. */
#include "base/matrix.h"
#include "clvox/registration.h"
#include "op/harness.h"
#include "phantom/phantom.h"
#include "register/model.h"

static clvox_context *ctx;

typedef struct pair {
    clv_phantom phantom;
    clv_phantom_warp warp;
    clvox_volume *fixed, *moving, *fixed_mask, *moving_mask;
} pair;

static void make_pair(pair *p, const int size[3], const double spacing[3], double amplitude)
{
    clvox_grid grid;
    clvox_phantom_grid(size, spacing, true, &grid);
    assert_ok(clv_phantom_make(CLVOX_PHANTOM_TEXTURED, &grid, 3, 0, &p->phantom));
    assert_ok(clv_phantom_warp_make(&grid, amplitude, 3, &p->warp));
    assert_ok(clv_phantom_image(&p->phantom, &grid, NULL, &p->warp, 1, &p->fixed));
    assert_ok(clv_phantom_image(&p->phantom, &grid, NULL, NULL, 2, &p->moving));
    assert_ok(clv_phantom_labels(&p->phantom, &grid, NULL, &p->warp, &p->fixed_mask));
    assert_ok(clv_phantom_labels(&p->phantom, &grid, NULL, NULL, &p->moving_mask));
}

static void free_pair(pair *p)
{
    clv_phantom_free(&p->phantom);
    clvox_volume_destroy(&p->fixed);
    clvox_volume_destroy(&p->moving);
    clvox_volume_destroy(&p->fixed_mask);
    clvox_volume_destroy(&p->moving_mask);
}

static void start(clvox_register_options *o)
{
    clvox_register_defaults(o);
    o->deform = CLVOX_DEFORM_UNBIASED;
    clvox_register_preset(o, CLVOX_PRESET_DEFAULT);
    o->deform = CLVOX_DEFORM_UNBIASED;
    clvox_register_preset(o, CLVOX_PRESET_DEFAULT);
    o->init = CLVOX_INIT_HEADER;
    o->linear = CLVOX_LINEAR_NONE;
}

/* Mean distance inside the fixed mask of what the warp says from the truth, in mm. */
static double error_of(const pair *p, const clvox_volume *warp)
{
    const clvox_grid *g = &warp->grid;
    size_t n = clvox_grid_voxels(g), i = 0, count = 0;
    double sum = 0;
    for (int z = 0; z < g->size[2]; z++)
        for (int y = 0; y < g->size[1]; y++)
            for (int x = 0; x < g->size[0]; x++, i++) {
                double at[3], truth[3], square = 0;
                if (!(p->fixed_mask->data[i] > 0))
                    continue;
                clv_matrix_apply(g->to_ras, (const double[3]){x, y, z}, at);
                clv_phantom_warp_at(&p->warp, at, truth);
                for (int k = 0; k < 3; k++)
                    square += pow((double)warp->data[(size_t)k * n + i] - truth[k], 2);
                sum += sqrt(square);
                count++;
            }
    return sum / (double)count;
}

static struct {
    pair p;
    clvox_register_result r, fine;
    clvox_register_options o;
    clvox_volume *shifted;
    clvox_register_images images;
} shared;

static int coarse_set_up(void **state)
{
    (void)state;
    clvox_register_options o;
    make_pair(&shared.p, (int[3]){67, 60, 53}, (double[3]){1, 1.1, 1.2}, 2.5);
    const clvox_register_images images = {.fixed = {shared.p.fixed},
                                          .moving = {shared.p.moving},
                                          .channels = 1,
                                          .fixed_mask = shared.p.fixed_mask,
                                          .moving_mask = shared.p.moving_mask};
    start(&o);
    o.inverse = 1;
    assert_ok(clvox_register(ctx, &images, &o, &shared.fine));
    o.levels = 2;
    assert_ok(clvox_register(ctx, &images, &o, &shared.r));
    return 0;
}

static int coarse_tear_down(void **state)
{
    (void)state;
    clvox_register_result_destroy(&shared.r);
    clvox_register_result_destroy(&shared.fine);
    free_pair(&shared.p);
    return 0;
}

static void levels_that_end_coarser_give_results(void **state)
{
    (void)state;
    assert_true(clvox_grid_equal(&shared.r.warp->grid, &shared.p.fixed->grid) &&
                clvox_grid_equal(&shared.r.warped->grid, &shared.p.fixed->grid));
    assert_true(shared.r.inverse_warp &&
                clvox_grid_equal(&shared.r.inverse_warp->grid, &shared.p.fixed->grid));
    double error = error_of(&shared.p, shared.r.warp), best = error_of(&shared.p, shared.fine.warp);
    printf("# end-point error %.3f mm, %.3f mm with the finest level; %.1f and %.1f MiB\n", error, best,
           (double)shared.r.device_bytes / 1048576, (double)shared.fine.device_bytes / 1048576);
    assert_that(error < .45 && best < error, "%g and %g", error, best);
    assert_true(shared.r.jacobian.folded == 0 && shared.r.jacobian.voxels == shared.fine.jacobian.voxels);
    assert_true(shared.r.device_bytes < shared.fine.device_bytes / 2);
    assert_true(shared.r.metric_after < .3 * shared.r.metric_linear && shared.r.suspicions == 0);
}

static void its_inverse_inverts_on_the_full_grid(void **state)
{
    (void)state;
    clvox_transform warp = {.is_warp = 1, .warp = shared.r.warp},
                    back = {.is_warp = 1, .warp = shared.r.inverse_warp};
    const clvox_link both[2] = {{&back, 0}, {&warp, 0}}, one = {&warp, 0};
    clvox_volume *identity = NULL, *again = NULL;
    assert_ok(clvox_compose(ctx, &shared.p.fixed->grid, both, 2, &identity));
    assert_ok(clvox_apply(ctx, shared.p.moving, &shared.p.fixed->grid, &one, 1, CLVOX_INTERPOLATE_LINEAR, 0,
                          &again));
    size_t n = clvox_grid_voxels(&shared.p.fixed->grid);
    double left = 0, off = 0;
    for (size_t i = 0; i < 3 * n; i++)
        left += fabs((double)identity->data[i]);
    for (size_t i = 0; i < n; i++)
        off = fmax(off, fabs((double)again->data[i] - shared.r.warped->data[i]));
    assert_that(left / (double)n < .05, "%g mm", left / (double)n);
    assert_that(off < 1e-3 * 100, "%g", off);
    clvox_volume_destroy(&identity);
    clvox_volume_destroy(&again);
}

static void coarse(void)
{
    test_set_up(coarse_set_up);
    test_case(levels_that_end_coarser_give_results, "levels that end coarser give results on the full grid");
    test_case(its_inverse_inverts_on_the_full_grid,
              "its inverse inverts on the full grid, and its image is what the warp gives");
    test_tear_down(coarse_tear_down);
}

static int channels_set_up(void **state)
{
    (void)state;
    clvox_grid other;
    make_pair(&shared.p, (int[3]){37, 41, 33}, (double[3]){1, 1, 1}, 1.5);
    start(&shared.o);
    shared.o.deform = CLVOX_DEFORM_NONE;
    clvox_phantom_grid((int[3]){45, 47, 40}, (double[3]){1.1, 1.1, 1.1}, false, &other);
    assert_ok(clv_phantom_image(&shared.p.phantom, &other, NULL, NULL, 2, &shared.shifted));
    shared.images = (clvox_register_images){.fixed = {shared.p.fixed, shared.p.fixed},
                                            .moving = {shared.p.moving, shared.shifted},
                                            .channels = 1};
    return 0;
}

static int channels_tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&shared.shifted);
    free_pair(&shared.p);
    return 0;
}

static void a_channel_on_another_grid_counts_as_if(void **state)
{
    (void)state;
    clvox_register_result one, both;
    assert_ok(clvox_register(ctx, &shared.images, &shared.o, &one));
    shared.images.channels = 2;
    assert_ok(clvox_register(ctx, &shared.images, &shared.o, &both));
    assert_that(fabs(one.ncc_after - both.ncc_after) < .02, "%g and %g", one.ncc_after, both.ncc_after);
    assert_true(one.ncc_after != both.ncc_after);
    clvox_register_result_destroy(&both);
    shared.images.weight[0] = 5;
    assert_ok(clvox_register(ctx, &shared.images, &shared.o, &both));
    assert_true(both.ncc_after == one.ncc_after);
    clvox_register_result_destroy(&both);
    clvox_register_result_destroy(&one);
}

static void wrong_channels_are_one_sentence_each(void **state)
{
    (void)state;
    clvox_register_result one;
    shared.images.channels = 2;
    shared.images.weight[0] = 5;
    shared.images.weight[1] = -1;
    assert_true(clvox_register(ctx, &shared.images, &shared.o, &one) == CLVOX_ERROR_ARGUMENT &&
                strstr(clvox_message(), "weight"));
    shared.images.weight[1] = 0;
    shared.images.channels = 9;
    assert_true(clvox_register(ctx, &shared.images, &shared.o, &one) == CLVOX_ERROR_ARGUMENT &&
                strstr(clvox_message(), "channels"));
    shared.images.channels = 0;
    assert_int_equal(clvox_register(ctx, &shared.images, &shared.o, &one), CLVOX_ERROR_ARGUMENT);
    shared.images.channels = 3;
    assert_true(clvox_register(ctx, &shared.images, &shared.o, &one) == CLVOX_ERROR_ARGUMENT &&
                strstr(clvox_message(), "fixed image 3"));
    shared.images.channels = 2;
    shared.o.deform = CLVOX_DEFORM_UNBIASED;
    assert_true(clvox_register(ctx, &shared.images, &shared.o, &one) == CLVOX_ERROR_ARGUMENT &&
                strstr(clvox_message(), "one channel"));
}

static void what_a_model_cannot_do_is_one_sentence(void **state)
{
    (void)state;
    clvox_register_result one;
    shared.o.deform = CLVOX_DEFORM_UNBIASED;
    shared.o.metric = CLVOX_METRIC_MI;
    assert_true(clvox_register(ctx, &shared.images, &shared.o, &one) == CLVOX_ERROR_ARGUMENT &&
                strstr(clvox_message(), "metric"));
    shared.o.metric = CLVOX_METRIC_SSD;
    shared.o.radius = 0;
    assert_true(clvox_register(ctx, &shared.images, &shared.o, &one) == CLVOX_ERROR_ARGUMENT &&
                strstr(clvox_message(), "radius"));
    shared.o.radius = 2;
    shared.o.bins = 4;
    assert_true(clvox_register(ctx, &shared.images, &shared.o, &one) == CLVOX_ERROR_ARGUMENT &&
                strstr(clvox_message(), "bins"));
    shared.o.bins = 32;
    shared.o.momentum = 1;
    assert_true(clvox_register(ctx, &shared.images, &shared.o, &one) == CLVOX_ERROR_ARGUMENT &&
                strstr(clvox_message(), "momentum"));
    shared.o.momentum = 0;
    shared.o.finest_step = 0;
    assert_true(clvox_register(ctx, &shared.images, &shared.o, &one) == CLVOX_ERROR_ARGUMENT &&
                strstr(clvox_message(), "step"));
    shared.o.finest_step = 1;
    shared.o.deform = (clvox_deform)17;
    assert_int_equal(clvox_register(ctx, &shared.images, &shared.o, &one), CLVOX_ERROR_ARGUMENT);
}

static void channels(void)
{
    test_each(channels_set_up, channels_tear_down);
    test_case(a_channel_on_another_grid_counts_as_if,
              "a channel on another grid counts as if it lay on the first one's");
    test_case(wrong_channels_are_one_sentence_each, "wrong channels are one sentence each");
    test_case(what_a_model_cannot_do_is_one_sentence, "what a model cannot do is one sentence");
    test_each(NULL, NULL);
}

/* One constant image, for every model that this version has. */
static int constant_set_up(void **state)
{
    (void)state;
    make_pair(&shared.p, (int[3]){29, 27, 25}, (double[3]){1, 1, 1}, 1);
    for (size_t i = 0; i < clvox_grid_voxels(&shared.p.fixed->grid); i++)
        shared.p.fixed->data[i] = 5;
    return 0;
}

static void a_constant_image_is_not_deformed(void **state)
{
    const int *given = *state;
    int deform = given[0];
    clvox_register_options o;
    clvox_register_result r;
    if (!clv_model_name((clvox_deform)deform))
        return;
    start(&o);
    o.deform = (clvox_deform)deform;
    clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
    const clvox_register_images images = {
        .fixed = {shared.p.fixed}, .moving = {shared.p.moving}, .channels = 1};
    assert_ok(clvox_register(ctx, &images, &o, &r));
    assert_that(r.largest_mm < 1e-3, "%g mm", r.largest_mm);
    assert_true(r.suspicions == CLVOX_SUSPECT_CONSTANT);
    clvox_register_result_destroy(&r);
}

static int constant_tear_down(void **state)
{
    (void)state;
    free_pair(&shared.p);
    return 0;
}

static void constant(void)
{
    test_set_up(constant_set_up);
    for (int deform = CLVOX_DEFORM_NONE; deform <= CLVOX_DEFORM_SYN; deform++)
        test_case_at(a_constant_image_is_not_deformed, TEST_AT(deform),
                     "a constant image is not deformed (%s)", clv_model_name((clvox_deform)deform));
    test_tear_down(constant_tear_down);
}

/* Nothing of the images is touched before the refusal. */
static void memory(void **state)
{
    (void)state;
    float nothing = 0;
    clvox_volume huge = {.frames = 1, .data = &nothing};
    clvox_register_options o;
    clvox_register_result r;
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    clvox_phantom_grid((int[3]){512, 512, 512}, (double[3]){.5, .5, .5}, false, &huge.grid);
    start(&o);
    const clvox_register_images images = {.fixed = {&huge}, .moving = {&huge}, .channels = 1};
    if (!limits->global_bytes || limits->global_bytes > clvox_register_bytes(&images, &o) ||
        limits->global_bytes < (size_t)6 << 30 || limits->max_allocation < (size_t)2 << 30) {
        test_skip("made for a device of 6 to %.0f GiB",
                  (double)clvox_register_bytes(&images, &o) / (double)((size_t)1 << 30));
        return;
    }
    assert_int_equal(clvox_register(ctx, &images, &o, &r), CLVOX_ERROR_MEMORY);
    assert_that(strstr(clvox_message(), "--shrink 8x4x2 would fit") != NULL, "%s", clvox_message());
    printf("# %s\n", clvox_message());
}

int main(void)
{
    ctx = harness_open();
    coarse();
    channels();
    constant();
    test_case(memory, "what does not fit is refused with the levels that would");
    return test_run("work", harness_close);
}
