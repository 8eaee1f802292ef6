/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanging fixed and moving gives the inverse: the same computation is done in
 * either order, and all that is reported is of the order asked for. */
#include <stdint.h>

#include "base/matrix.h"
#include "clvox/registration.h"
#include "op/harness.h"
#include "register/pair.h"
#include "register/problem.h"
#include "transform/field.h"

static clvox_context *ctx;

typedef struct setting {
    const char *name;
    clvox_deform deform;
    clvox_metric metric;
    clvox_linear linear;
    int channels;
    bool fixed_mask, moving_mask, given, coarse;
} setting;

/* Labels of the moving image, as its mask. */
static clvox_volume *moving_labels(const pair *p)
{
    clvox_volume *labels;
    assert_ok(clv_phantom_labels(&p->phantom, &p->moving_grid, NULL, NULL, &labels));
    return labels;
}

static void options_of(const setting *s, const double start[4][4], clvox_register_options *o)
{
    pair_options(o, s->deform == CLVOX_DEFORM_NONE ? CLVOX_DEFORM_SYN : s->deform, s->metric);
    o->deform = s->deform;
    o->linear = s->linear;
    o->iterations[0] = 15;
    o->iterations[1] = 8;
    o->inverse = 1;
    o->init = s->given ? CLVOX_INIT_MATRIX : CLVOX_INIT_AUTO;
    clv_matrix_copy(start, o->matrix);
    if (s->coarse) {
        o->shrink[0] = 3;
        o->shrink[1] = 1.5;
        o->smooth_voxels[0] = 2;
    }
}

/* Both orders of a pair on grids that differ in everything, an affine between. */
static const setting settings[] = {
    {"LNCC, from a given affine", CLVOX_DEFORM_SYN, CLVOX_METRIC_LNCC, CLVOX_LINEAR_NONE, .channels = 1,
     .given = true},
    {"SSD, from a given affine", CLVOX_DEFORM_SYN, CLVOX_METRIC_SSD, CLVOX_LINEAR_NONE, .channels = 1,
     .given = true},
    {"MI, affine found", CLVOX_DEFORM_SYN, CLVOX_METRIC_MI, CLVOX_LINEAR_AFFINE, .channels = 1},
    {"a mask of the fixed image", CLVOX_DEFORM_SYN, CLVOX_METRIC_LNCC, CLVOX_LINEAR_AFFINE, .channels = 1,
     .fixed_mask = true},
    {"a mask of the moving image", CLVOX_DEFORM_SYN, CLVOX_METRIC_LNCC, CLVOX_LINEAR_RIGID, .channels = 1,
     .moving_mask = true, .given = true},
    {"two masks, two channels", CLVOX_DEFORM_SYN, CLVOX_METRIC_LNCC, CLVOX_LINEAR_SIMILARITY, .channels = 2,
     .fixed_mask = true, .moving_mask = true},
    {"levels that end coarser", CLVOX_DEFORM_SYN, CLVOX_METRIC_LNCC, CLVOX_LINEAR_NONE, .channels = 1,
     .given = true, .coarse = true},
    {"the affine alone", CLVOX_DEFORM_NONE, CLVOX_METRIC_MI, CLVOX_LINEAR_AFFINE, .channels = 1},
    {"greedy's affine", CLVOX_DEFORM_GREEDY, CLVOX_METRIC_LNCC, CLVOX_LINEAR_AFFINE, .channels = 1},
};

static struct {
    pair p;
    double inverse[4][4];
    clvox_volume *other, *mask;
    clvox_register_options o;
    clvox_register_result a;
} shared;

static int both_orders_set_up(void **state)
{
    (void)state;
    pair_apart(&shared.p, 3, 31);
    shared.other = moving_labels(&shared.p);
    assert_ok(clv_matrix_invert(CLV_MATRIX(shared.p.matrix), shared.inverse));
    return 0;
}

/* The same map in less memory, and how well it is inverted is measured at every other voxel. */
static void without_the_inverse(const clvox_register_images *images, const clvox_register_options *with,
                                const double start[4][4], const clvox_register_result *full)
{
    clvox_register_options o = *with;
    clvox_register_result r;
    o.inverse = 0;
    clv_matrix_copy(start, o.matrix);
    assert_ok(clvox_register(ctx, images, &o, &r));
    assert_true(pair_same(r.warp, full->warp) && r.inverse_warp == NULL &&
                r.metric_after == full->metric_after);
    const size_t bytes = clvox_register_bytes(images, &o), more = clvox_register_bytes(images, with);
    const bool coarse =
        with->shrink[with->levels - 1] > 1; /* then bringing the map to the full grid takes most */
    assert_true(r.device_bytes <= bytes && (bytes < more || (coarse && bytes == more)));
    assert_that(r.inverse_error_voxels[1] < .05, "%g", r.inverse_error_voxels[1]);
    clvox_register_result_destroy(&r);
}

static void exchanged_2(void **state)
{
    const int *given = *state;
    size_t i = (size_t)given[0];
    const setting *s = &settings[i];
    const clvox_register_images images = {.fixed = {shared.p.fixed, shared.p.fixed},
                                          .moving = {shared.p.moving, shared.p.moving},
                                          .weight = {1, .5},
                                          .channels = s->channels,
                                          .fixed_mask = s->fixed_mask ? shared.p.labels : NULL,
                                          .moving_mask = s->moving_mask ? shared.other : NULL};
    const clvox_register_images exchanged = {.fixed = {shared.p.moving, shared.p.moving},
                                             .moving = {shared.p.fixed, shared.p.fixed},
                                             .weight = {1, .5},
                                             .channels = s->channels,
                                             .fixed_mask = images.moving_mask,
                                             .moving_mask = images.fixed_mask};
    clvox_register_options o;
    clvox_register_result there, back;
    double largest[4] = {0}, affine[2];
    options_of(s, CLV_MATRIX(shared.p.matrix), &o);
    assert_ok(clvox_register(ctx, &images, &o, &there));
    size_t predicted[2] = {clvox_register_bytes(&images, &o), clvox_register_bytes(&exchanged, &o)};
    options_of(s, CLV_MATRIX(shared.inverse), &o);
    assert_ok(clvox_register(ctx, &exchanged, &o, &back));
    bool syn = s->deform == CLVOX_DEFORM_SYN;
    double first = pair_there_and_back(&there, &back, shared.p.labels, &largest[0]);
    double second = pair_there_and_back(&back, &there, shared.other, &largest[1]);
    clvox_register_result only[2] = {there, back};
    only[0].warp = only[1].warp = NULL;
    affine[0] = pair_there_and_back(&only[0], &only[1], shared.p.labels, &largest[2]);
    affine[1] = pair_there_and_back(&only[1], &only[0], shared.other, &largest[3]);
    printf("# there and back %.4f, %.4f voxels (%.3f, %.3f at most); affine %.5f, %.5f\n", first, second,
           largest[0], largest[1], affine[0], affine[1]);
    printf("# moved %.3f, %.3f mm; inverse %.4f, %.4f; metric %.4g %.4g %.4g, %.4g %.4g %.4g\n",
           there.mean_mm, back.mean_mm, there.inverse_error_voxels[1], back.inverse_error_voxels[1],
           there.metric_before, there.metric_linear, there.metric_after, back.metric_before,
           back.metric_linear, back.metric_after);
    assert_that(affine[0] <= 1e-4 && affine[1] <= 1e-4, "%.5f, %.5f", affine[0], affine[1]);
    assert_true(there.device_bytes <= predicted[0] && back.device_bytes <= predicted[1]);
    assert_true(there.exchanged + back.exchanged == syn);
    /* A mask alone comes first, else fewer voxels do: those of the fixed image. */
    assert_true(there.exchanged == (syn && s->moving_mask && !s->fixed_mask));
    if (s->given && s->linear == CLVOX_LINEAR_NONE)
        assert_true(!memcmp(there.matrix, shared.p.matrix, sizeof shared.inverse) &&
                    !memcmp(back.matrix, shared.inverse, sizeof shared.inverse));
    assert_true(clvox_grid_equal(&there.warped->grid, &shared.p.fixed_grid) &&
                clvox_grid_equal(&back.warped->grid, &shared.p.moving_grid));
    assert_true(there.ncc_after > there.ncc_before && back.ncc_after > back.ncc_before);
    if (syn) {
        assert_that(first <= .1 && second <= .1, "%.4f, %.4f", first, second);
        assert_true(there.inverse_error_voxels[1] < .05 && back.inverse_error_voxels[1] < .05);
        assert_true(there.jacobian.folded == 0 && back.jacobian.folded == 0 && back.jacobian.smallest > 0);
        assert_true(clvox_grid_equal(&there.warp->grid, &shared.p.fixed_grid) &&
                    clvox_grid_equal(&back.warp->grid, &shared.p.moving_grid) &&
                    clvox_grid_equal(&back.inverse_warp->grid, &shared.p.moving_grid));
        assert_true(there.mean_mm > .1 && back.mean_mm > .1);
        without_the_inverse(&images, &o, CLV_MATRIX(shared.p.matrix), &there);
        without_the_inverse(&exchanged, &o, CLV_MATRIX(shared.inverse), &back);
    }
    clvox_register_result_destroy(&there);
    clvox_register_result_destroy(&back);
}

static int both_orders_tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&shared.other);
    pair_free(&shared.p);
    return 0;
}

static void both_orders(void)
{
    test_set_up(both_orders_set_up);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const setting *s = &settings[i];
        test_case_at(exchanged_2, TEST_AT((int)i), "exchanged: %s", s->name);
    }
    test_tear_down(both_orders_tear_down);
}

static int own_numbers_set_up(void **state)
{
    (void)state;
    double inverse[4][4];
    pair_apart(&shared.p, 3, 37);
    assert_ok(clv_matrix_invert(CLV_MATRIX(shared.p.matrix), inverse));
    pair_options(&shared.o, CLVOX_DEFORM_SYN, CLVOX_METRIC_NCC);
    shared.o.init = CLVOX_INIT_MATRIX;
    shared.o.inverse = 1;
    clv_matrix_copy(CLV_MATRIX(inverse), shared.o.matrix);
    shared.mask = moving_labels(&shared.p);
    assert_ok(pair_register(ctx, shared.p.moving, shared.p.fixed, NULL, NULL, &shared.o, &shared.a));
    return 0;
}

static int own_numbers_tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&shared.mask);
    clvox_register_result_destroy(&shared.a);
    pair_free(&shared.p);
    return 0;
}

/* The report of the run from the other image agrees with its own files. */
static void the_result_of_the_exchanged_run(void **state)
{
    (void)state;
    clvox_volume *warped, *jacobian;
    double largest;
    assert_true(shared.a.exchanged);
    const clvox_transform warp = {.is_warp = 1, .warp = shared.a.warp};
    clvox_transform affine = {.is_warp = 0};
    clv_matrix_copy(CLV_MATRIX(shared.a.matrix), affine.matrix);
    const clvox_link links[2] = {{&warp, 0}, {&affine, 0}};
    assert_ok(clvox_apply(ctx, shared.p.fixed, &shared.p.moving_grid, links, 2, CLVOX_INTERPOLATE_LINEAR, 0,
                          &warped));
    double off = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&shared.p.moving_grid); i++)
        off = fmax(off, fabs((double)warped->data[i] - (double)shared.a.warped->data[i]));
    assert_that(off < .5, "the warped image is %.3f away from its warp's", off);
    clvox_jacobian_summary summary;
    assert_ok(clvox_jacobian(ctx, shared.a.warp, NULL, 1, &jacobian, &summary));
    assert_that(fabs(summary.sd_log - shared.a.jacobian.sd_log) < 1e-4 &&
                    fabs(summary.smallest - shared.a.jacobian.smallest) < 1e-3,
                "%.4f, %.4f", summary.sd_log, summary.smallest);
    double there = pair_detour(shared.a.warp, shared.a.inverse_warp, shared.mask, &largest);
    printf("# warp and inverse %.4f voxels, %.4f at most; stated %.4f\n", there, largest,
           shared.a.inverse_error_voxels[1]);
    assert_that(there <= .03 && largest <= .4, "%.4f, %.4f", there, largest);
    assert_true(shared.a.ncc_after > shared.a.ncc_linear);
    clvox_volume_destroy(&warped);
    clvox_volume_destroy(&jacobian);
}

/* For a caller who goes on with the maps: the same ones, and nobody measures how well they are inverted. */
static void maps_as_fields(void **state)
{
    (void)state;
    const size_t floats = 3 * clvox_grid_voxels(&shared.p.moving_grid);
    const clv_register_fields to = {
        .values = {malloc(floats * sizeof(float)), malloc(floats * sizeof(float))}};
    const clvox_register_images images = {
        .fixed = {shared.p.moving}, .moving = {shared.p.fixed}, .weight = {1}, .channels = 1};
    const clvox_volume *want[2] = {shared.a.warp, shared.a.inverse_warp};
    clvox_register_result b;
    assert_ok(clv_register_to(ctx, &images, &shared.o, &to, &b));
    assert_true(b.warp == NULL && b.inverse_warp == NULL && b.metric_after == shared.a.metric_after);
    assert_true(isnan(b.inverse_error_mm[0]) && isnan(b.inverse_error_voxels[1]));
    for (int i = 0; i < 2; i++) {
        clvox_volume *got;
        assert_ok(clv_field_unpack(ctx, to.values[i], &shared.p.moving_grid, &got));
        assert_true(pair_same(got, want[i]));
        clvox_volume_destroy(&got);
        free(to.values[i]);
    }
    clvox_register_result_destroy(&b);
}

static void the_exchanged_run_gives_the_same_bits_twice(void **state)
{
    (void)state;
    clvox_register_result b;
    assert_ok(pair_register(ctx, shared.p.moving, shared.p.fixed, NULL, NULL, &shared.o, &b));
    size_t n = clvox_grid_voxels(&shared.p.moving_grid) * sizeof(float);
    assert_true(!memcmp(shared.a.warp->data, b.warp->data, 3 * n) &&
                !memcmp(shared.a.warped->data, b.warped->data, n));
    assert_true(!memcmp(shared.a.inverse_warp->data, b.inverse_warp->data, 3 * n) &&
                shared.a.metric_after == b.metric_after);
    clvox_register_result_destroy(&b);
}

static void own_numbers(void)
{
    test_set_up(own_numbers_set_up);
    test_case(the_result_of_the_exchanged_run, "the result of the exchanged run is of the images as given");
    test_case(maps_as_fields, "its maps as fields have the same bits");
    test_case(the_exchanged_run_gives_the_same_bits_twice, "the exchanged run gives the same bits twice");
    test_tear_down(own_numbers_tear_down);
}

/* A template at 1.3 mm and a scan at 2 mm: the deformation stays on the fixed grid. */
static void other_grids(void **state)
{
    (void)state;
    pair p;
    clvox_register_options o;
    clvox_register_result there, back;
    double largest, unit[4][4], product[4][4], off = 0;
    clvox_phantom_grid((int[3]){41, 43, 37}, (double[3]){1.3, 1.3, 1.3}, true, &p.fixed_grid);
    clvox_phantom_grid((int[3]){28, 30, 25}, (double[3]){2, 2, 2}, false, &p.moving_grid);
    clv_matrix_identity(p.matrix);
    pair_fill(&p, 3, 41);
    double before = pair_start(&p, NULL);
    pair_options(&o, CLVOX_DEFORM_SYN, CLVOX_METRIC_LNCC);
    o.init = CLVOX_INIT_AUTO;
    o.linear = CLVOX_LINEAR_AFFINE;
    assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &there));
    assert_ok(pair_register(ctx, p.moving, p.fixed, NULL, NULL, &o, &back));
    clv_matrix_multiply(CLV_MATRIX(back.matrix), CLV_MATRIX(there.matrix), product);
    clv_matrix_identity(unit);
    for (int i = 0; i < 12; i++)
        off = fmax(off, fabs(product[i / 4][i % 4] - unit[i / 4][i % 4]));
    double mean = pair_error(&p, &there, NULL, &largest);
    printf("# %.3f voxels before, %.3f after; affine %.2g\n", before, mean, off);
    assert_true(!there.exchanged && !back.exchanged && off < 1e-6);
    assert_that(mean < .6 * before, "%.3f of the start", mean / before);
    clvox_register_result_destroy(&there);
    clvox_register_result_destroy(&back);
    pair_free(&p);
}

/* On one grid, contents decide: a pair in both orders, and an image with itself. */
static int one_grid_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){43, 40, 37}, (double[3]){1, 1, 1.2}, true, 2.5, 61);
    pair_options(&shared.o, CLVOX_DEFORM_SYN, CLVOX_METRIC_SSD);
    shared.o.inverse = 1;
    return 0;
}

static int one_grid_tear_down(void **state)
{
    (void)state;
    pair_free(&shared.p);
    return 0;
}

static void on_one_grid_without_an_affine_the_exchanged(void **state)
{
    (void)state;
    clvox_register_result a, b;
    double largest;
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &shared.o, &a));
    assert_ok(pair_register(ctx, shared.p.moving, shared.p.fixed, NULL, NULL, &shared.o, &b));
    assert_true(a.exchanged + b.exchanged == 1);
    double apart = pair_distance(a.inverse_warp, b.warp, NULL, &largest);
    printf("# inverse and exchanged %.5f voxels apart, %.4f at most\n", apart, largest);
    assert_that(apart <= .005 && largest <= .2, "%.5f, %.4f", apart, largest);
    assert_true(fabs(a.ncc_before - b.ncc_before) < 1e-5);
    clvox_register_result_destroy(&a);
    clvox_register_result_destroy(&b);
}

static void an_image_and_itself(void **state)
{
    (void)state;
    clvox_register_result a;
    assert_ok(pair_register(ctx, shared.p.moving, shared.p.moving, NULL, NULL, &shared.o, &a));
    assert_that(a.largest_mm < .01, "%g mm", a.largest_mm);
    clvox_register_result_destroy(&a);
}

static void one_grid(void)
{
    test_set_up(one_grid_set_up);
    test_case(on_one_grid_without_an_affine_the_exchanged,
              "on one grid, without an affine, the exchanged map is the inverse");
    test_case(an_image_and_itself, "an image and itself");
    test_tear_down(one_grid_tear_down);
}

/* Volumes, landmarks and shapes change places together, and back, and widths keep their mm; models that move
 * one image keep the fixed one. */
static void problems_change_places(void **state)
{
    (void)state;
    static const clvox_grid grid[2] = {
        {{6, 7, 8}, {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}},
        {{7, 7, 6}, {{1.1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}}};
    const clvox_volume a = {.grid = grid[0]}, b = {.grid = grid[1]}, c = a, d = b, e = a, f = b, g = a, h = b;
    static const double at[3] = {1, 2, 3}, to[3] = {4, 5, 6};
    const clvox_shape *const shapes[2] = {NULL, NULL};
    const clvox_register_images images = {.fixed = {&a, &c}, .moving = {&b, &d}, .channels = 2,
                                          .fixed_mask = &e, .moving_mask = &f, .linear_fixed_mask = &g,
                                          .linear_moving_mask = &h, .fixed_points = at, .moving_points = to,
                                          .fixed_shapes = &shapes[0], .moving_shapes = &shapes[1]};
    clv_problem p = clv_problem_of(ctx, &images, NULL);
    const double width = p.options.smooth_voxels[0] = 2;
    clv_problem_order(&p, false);
    assert_true(p.order == CLV_ORDER_ASKED && !memcmp(&p.images, &images, sizeof images));
    clv_problem_order(&p, true);
    const clvox_register_images *i = &p.images;
    assert_true(p.order == CLV_ORDER_EXCHANGED && i->fixed[0] == &b && i->moving[0] == &a &&
                i->fixed[1] == &d && i->moving[1] == &c && i->fixed_mask == &f && i->moving_mask == &e &&
                i->linear_fixed_mask == &h && i->linear_moving_mask == &g && i->fixed_points == to &&
                i->moving_points == at && i->fixed_shapes == &shapes[1] && i->moving_shapes == &shapes[0]);
    assert_that(fabs(p.options.smooth_voxels[0] * cbrt(1.1) - width) < 1e-12, "%g",
                p.options.smooth_voxels[0]);
    clv_problem_order(&p, true);
    assert_true(!memcmp(&p.images, &images, sizeof images));
    p.options.deform = CLVOX_DEFORM_GREEDY;
    clv_problem_order(&p, true);
    assert_true(p.order == CLV_ORDER_LINEAR && !memcmp(&p.images, &images, sizeof images));
}

int main(void)
{
    ctx = harness_open();
    test_case(problems_change_places, "all of a problem's images change places, or none");
    both_orders();
    own_numbers();
    test_case(other_grids,
              "grids that are not comparable: each order on its fixed grid, the affine of both one");
    one_grid();
    return test_run("symmetric order", harness_close);
}
