/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of every map by greedy and symmetric registration: inverse, no folds, masks, the same bits, odd sizes
 * and odd images, progress, memory. */
#include <stdint.h>

#include "base/matrix.h"
#include "clvox/registration.h"
#include "op/harness.h"
#include "register/pair.h"

static clvox_context *ctx;

enum { MODELS = 2 };

static const clvox_deform models[MODELS] = {CLVOX_DEFORM_GREEDY, CLVOX_DEFORM_SYN};
static const char *const model_names[MODELS] = {"greedy", "syn"};

/* The map from A to B undoes that from B to A. */
static const clvox_metric metrics[] = {CLVOX_METRIC_LNCC, CLVOX_METRIC_SSD};

static struct {
    pair p;
    clvox_grid grid, other;
    clvox_volume *fixed, *moving, *mask, *inner, *coarse, *moving_mask;
    size_t bytes, n;
    clvox_register_options o;
    clvox_register_result r;
    double largest, before;
    float *kept;
} shared;

static int exchange_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){43, 40, 37}, (double[3]){1, 1, 1.2}, true, 2.5, 61);
    return 0;
}

static void syn_exchanging_the_images_gives_the_inverse(void **state)
{
    const int *given = *state;
    int k = given[0];
    clvox_register_options o;
    clvox_register_result a, b;
    double largest, apart;
    pair_options(&o, CLVOX_DEFORM_SYN, metrics[k / 2 % 2]);
    o.momentum = k % 2 ? .8 : 0;
    o.update_damping = k < 4 ? 0 : .9;
    o.finer_damping = k < 4 ? 0 : .8;
    o.mind_weight = k < 6 ? 0 : 20;
    o.inverse = 1;
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &a));
    assert_ok(pair_register(ctx, shared.p.moving, shared.p.fixed, NULL, NULL, &o, &b));
    double detour = pair_detour(a.warp, b.warp, shared.p.labels, &largest);
    double other = pair_distance(a.inverse_warp, b.warp, shared.p.labels, &apart);
    printf("# there and back %.4f voxels, %.4f at most; inverse and exchange %.4f, %.4f apart; moved "
           "%.3f mm\n",
           detour, largest, other, apart, a.mean_mm);
    /* SSD's match of intensities is that of the moving image to the fixed one. */
    double most = o.metric == CLVOX_METRIC_LNCC ? .02 : .1;
    assert_that(detour <= most && largest <= .8, "%.4f, %.4f", detour, largest);
    assert_that(other <= most && apart <= .8, "%.4f, %.4f", other, apart);
    assert_true(a.mean_mm > .15);
    clvox_register_result_destroy(&a);
    clvox_register_result_destroy(&b);
}

static int exchange_tear_down(void **state)
{
    (void)state;
    pair_free(&shared.p);
    return 0;
}

static void exchange(void)
{
    test_set_up(exchange_set_up);
    for (int k = 0; k < 8; k++)
        test_case_at(syn_exchanging_the_images_gives_the_inverse, TEST_AT(k),
                     "syn: exchanging the images gives the inverse (%s, momentum %g)",
                     k < 2   ? "LNCC"
                     : k < 4 ? "SSD"
                     : k < 6 ? "LNCC, damped"
                             : "LNCC with MIND, damped",
                     k % 2 ? .8 : 0.);
    test_tear_down(exchange_tear_down);
}

static int inverse_set_up(void **state)
{
    (void)state;
    pair_apart(&shared.p, 3, 67);
    return 0;
}

static void warp_and_inverse_undo_each_other(void **state)
{
    const int *given = *state;
    int model = given[0], k = given[1];
    clvox_register_options o;
    clvox_register_result r;
    double there, back;
    pair_options(&o, models[model], k ? CLVOX_METRIC_NCC : CLVOX_METRIC_LNCC);
    o.init = CLVOX_INIT_MATRIX;
    memcpy(o.matrix, shared.p.matrix, sizeof o.matrix);
    o.inverse = 1;
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r));
    double first = pair_detour(r.warp, r.inverse_warp, shared.p.labels, &there);
    double second = pair_detour(r.inverse_warp, r.warp, shared.p.labels, &back);
    printf("# stated %.4f, %.4f at most; found %.4f and %.4f, %.4f and %.4f at most\n",
           r.inverse_error_voxels[1], r.inverse_error_voxels[0], first, second, there, back);
    assert_true(r.inverse_error_voxels[1] <= .02);
    assert_that(first <= .02 && there <= .3, "%.4f, %.4f", first, there);
    assert_that(second <= .02 && back <= .3, "%.4f, %.4f", second, back);
    clvox_register_result_destroy(&r);
}

static int inverse_tear_down(void **state)
{
    (void)state;
    pair_free(&shared.p);
    return 0;
}

static void inverse(void)
{
    test_set_up(inverse_set_up);
    for (int model = 0; model < MODELS; model++)
        for (int k = 0; k < 2; k++)
            test_case_at(warp_and_inverse_undo_each_other, TEST_AT(model, k),
                         "%s: warp and inverse undo each other (%s)", model_names[model], k ? "NCC" : "LNCC");
    test_tear_down(inverse_tear_down);
}

/* The smallest determinant by central differences, on a grid along the axes. */
static double smallest_determinant(const clvox_volume *warp)
{
    const int *size = warp->grid.size;
    size_t n = clvox_grid_voxels(&warp->grid);
    size_t step[3] = {1, (size_t)size[0], (size_t)size[0] * (size_t)size[1]};
    double smallest = INFINITY;
    for (int z = 1; z < size[2] - 1; z++)
        for (int y = 1; y < size[1] - 1; y++)
            for (int x = 1; x < size[0] - 1; x++) {
                size_t at = (size_t)z * step[2] + (size_t)y * step[1] + (size_t)x;
                double j[3][3];
                for (size_t r = 0; r < 3; r++)
                    for (size_t c = 0; c < 3; c++) {
                        const float *u = warp->data + r * n + at;
                        j[r][c] = (r == c) + ((double)u[step[c]] - (double)*(u - step[c])) /
                                                 (2 * warp->grid.to_ras[c][c]);
                    }
                smallest = fmin(smallest, clv_matrix3_determinant(CLV_MATRIX3(j)));
            }
    return smallest;
}

/* A ball to a ring with a gap, in long steps that are hardly smoothed. */
static int no_folds_set_up(void **state)
{
    (void)state;
    clvox_phantom_grid((int[3]){40, 40, 36}, (double[3]){1, 1, 1}, false, &shared.grid);
    assert_ok(clvox_volume_create(&shared.grid, 1, CLVOX_KIND_SCALAR, &shared.fixed));
    assert_ok(clvox_volume_create(&shared.grid, 1, CLVOX_KIND_SCALAR, &shared.moving));
    for (size_t i = 0; i < clvox_grid_voxels(&shared.grid); i++) {
        double x = (double)(i % 40) - 19.5, y = (double)(i / 40 % 40) - 19.5, z = (double)(i / 1600) - 17.5;
        double radius = sqrt(x * x + y * y);
        bool ring = radius > 6 && radius < 12 && fabs(z) < 7 && !(x > 0 && fabs(y) < 3);
        shared.fixed->data[i] = ring ? 100 : 0;
        shared.moving->data[i] = x * x + y * y + z * z < 121 ? 100 : 0;
    }
    return 0;
}

static void by_a_ball_becomes_a_ring_with_a_gap_without(void **state)
{
    const int *given = *state;
    int model = given[0], k = given[1];
    clvox_register_options o;
    clvox_register_result r;
    pair_options(&o, models[model], k % 2 ? CLVOX_METRIC_LNCC : CLVOX_METRIC_SSD);
    o.step = o.finest_step = 1;
    o.update_sigma = .6;
    o.total_sigma = k < 2 ? 0 : .4;
    o.momentum = k < 2 ? 0 : .8;
    o.update_damping = o.finer_damping = k == 3 ? .9 : 0;
    o.iterations[0] = 40;
    assert_ok(pair_register(ctx, shared.fixed, shared.moving, NULL, NULL, &o, &r));
    double found = smallest_determinant(r.warp);
    printf("# determinant from %.4f (%.4f by central differences) to %.3f; mismatch %.3f; inverse "
           "%.4f\n",
           r.jacobian.smallest, found, r.jacobian.largest, r.mismatch, r.inverse_error_voxels[1]);
    assert_true(r.jacobian.folded == 0 && r.jacobian.smallest > .02 && found > .02);
    assert_true(r.largest_mm > 2 && r.mismatch < .8);
    clvox_register_result_destroy(&r);
}

static int no_folds_tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&shared.fixed);
    clvox_volume_destroy(&shared.moving);
    return 0;
}

static void no_folds(void)
{
    test_set_up(no_folds_set_up);
    for (int model = 0; model < MODELS; model++)
        for (int k = 0; k < 4; k++)
            test_case_at(by_a_ball_becomes_a_ring_with_a_gap_without, TEST_AT(model, k),
                         "%s by %s: a ball becomes a ring with a gap without folding (momentum %g)",
                         model_names[model], k % 2 ? "LNCC" : "SSD", k < 2 ? 0. : .8);
    test_tear_down(no_folds_tear_down);
}

/* A ball in the place of what the image has there, no brighter than the image. */
static clvox_volume *distracted(const clvox_volume *image, const int at[3])
{
    clvox_volume *copy;
    const int *size = image->grid.size;
    assert_ok(clvox_volume_create(&image->grid, 1, CLVOX_KIND_SCALAR, &copy));
    size_t i = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++) {
                int dx = x - at[0], dy = y - at[1], dz = z - at[2];
                copy->data[i] = dx * dx + dy * dy + dz * dz < 49 ? 500 : image->data[i];
            }
    return copy;
}

static int masks_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){44, 40, 37}, (double[3]){1, 1, 1}, false, 2, 71);
    /* mask: the left part of the head; inner: where maps are compared. */
    assert_ok(clvox_volume_create(&shared.p.fixed_grid, 1, CLVOX_KIND_LABEL, &shared.mask));
    assert_ok(clvox_volume_create(&shared.p.fixed_grid, 1, CLVOX_KIND_LABEL, &shared.inner));
    for (size_t i = 0; i < clvox_grid_voxels(&shared.p.fixed_grid); i++) {
        shared.mask->data[i] = i % 44 < 23;
        shared.inner->data[i] = i % 44 < 19 ? shared.p.labels->data[i] : 0;
    }
    shared.fixed = distracted(shared.p.fixed, (int[3]){31, 20, 18});
    shared.moving = distracted(shared.p.moving, (int[3]){31, 20, 18});
    clvox_phantom_grid((int[3]){48, 26, 25}, (double[3]){1, 2, 2}, false, &shared.other);
    assert_ok(clvox_volume_create(&shared.other, 1, CLVOX_KIND_LABEL, &shared.coarse));
    for (size_t i = 0; i < clvox_grid_voxels(&shared.other); i++)
        shared.coarse->data[i] =
            i % 48 < 25; /* the same plane, 2 voxels to the left of the other grid's start */
    return 0;
}

/* The registrations that two cases judge, made for the first. */
static struct {
    clvox_register_result plain, clean, spoiled, elsewhere;
} masked;

static void run_masked(int model, int k)
{
    clvox_register_options o;
    const clvox_volume *fixed_mask = k ? NULL : shared.mask, *moving_mask = k ? shared.mask : NULL;
    const clvox_volume *to = k ? shared.p.fixed : shared.fixed, *from = k ? shared.moving : shared.p.moving;
    if (masked.clean.warp)
        return;
    pair_options(&o, models[model], CLVOX_METRIC_LNCC);
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, fixed_mask, moving_mask, &o,
                            &masked.clean));
    assert_ok(pair_register(ctx, to, from, NULL, NULL, &o, &masked.plain));
    assert_ok(pair_register(ctx, to, from, fixed_mask, moving_mask, &o, &masked.spoiled));
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, k ? NULL : shared.coarse,
                            k ? shared.coarse : NULL, &o, &masked.elsewhere));
}

static void what_lies_outside_of_the_mask_does(void **state)
{
    const int *given = *state;
    double largest, mean, unmasked;
    run_masked(given[0], given[1]);
    unmasked = pair_distance(masked.plain.warp, masked.clean.warp, shared.inner, &largest);
    mean = pair_distance(masked.spoiled.warp, masked.clean.warp, shared.inner, &largest);
    double before = pair_start(&shared.p, shared.inner),
           error = pair_error(&shared.p, &masked.spoiled, shared.inner, &(double){0});
    printf("# %.4f voxels apart, %.4f at most; %.4f without the mask; error %.3f, %.3f\n", mean, largest,
           unmasked, before, error);
    assert_that(mean <= .005 && largest <= .1 && unmasked > .02, "%.4f, %.4f", mean, largest);
    assert_true(error < .5 * before);
}

static void a_mask_on_another_grid_does_the_same(void **state)
{
    const int *given = *state;
    run_masked(given[0], given[1]);
    double largest, mean = pair_distance(masked.elsewhere.warp, masked.clean.warp, shared.inner, &largest);
    printf("# %.4f voxels apart, %.4f at most\n", mean, largest);
    assert_that(mean <= .02 && largest <= .2, "%.4f, %.4f", mean, largest);
}

static void an_empty_mask_is_one_sentence(void **state)
{
    const int *given = *state;
    int k = given[1];
    clvox_register_options o;
    clvox_register_result r;
    clvox_volume *empty;
    pair_options(&o, models[given[0]], CLVOX_METRIC_LNCC);
    assert_ok(clvox_volume_create(&shared.p.fixed_grid, 1, CLVOX_KIND_LABEL, &empty));
    assert_int_equal(pair_register(ctx, shared.p.fixed, shared.p.moving, k ? NULL : empty, k ? empty : NULL,
                                   &o, &r),
                     CLVOX_ERROR_DATA);
    assert_true(strstr(clvox_message(), k ? "moving mask" : "fixed mask") && !r.warp);
    clvox_volume_destroy(&empty);
}

static int masks_tear_down(void **state)
{
    (void)state;
    clvox_register_result_destroy(&masked.clean);
    clvox_register_result_destroy(&masked.plain);
    clvox_register_result_destroy(&masked.spoiled);
    clvox_register_result_destroy(&masked.elsewhere);
    clvox_volume_destroy(&shared.mask);
    clvox_volume_destroy(&shared.inner);
    clvox_volume_destroy(&shared.coarse);
    clvox_volume_destroy(&shared.fixed);
    clvox_volume_destroy(&shared.moving);
    pair_free(&shared.p);
    return 0;
}

static void masks(void)
{
    for (int model = 0; model < MODELS; model++)
        for (int k = 0; k < 2; k++) {
            test_set_up(masks_set_up);
            test_case_at(what_lies_outside_of_the_mask_does, TEST_AT(model, k),
                         "%s: what lies outside of the %s mask does not matter", model_names[model],
                         k ? "moving" : "fixed");
            test_case_at(a_mask_on_another_grid_does_the_same, TEST_AT(model, k),
                         "%s: a %s mask on another grid does the same", model_names[model],
                         k ? "moving" : "fixed");
            test_case_at(an_empty_mask_is_one_sentence, TEST_AT(model, k),
                         "%s: an empty %s mask is one sentence", model_names[model], k ? "moving" : "fixed");
            test_tear_down(masks_tear_down);
        }
}

static int repeats_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){37, 41, 29}, (double[3]){1, 1, 1.5}, false, 2, 73);
    shared.bytes = 3 * clvox_grid_voxels(&shared.p.fixed_grid) * sizeof(float);
    return 0;
}

static void by_two_runs_give_the_same_bits_momentum(void **state)
{
    const int *given = *state;
    int model = given[0], k = given[1];
    clvox_register_options o;
    clvox_register_result a, b;
    pair_options(&o, models[model], k < 2 ? CLVOX_METRIC_LNCC : CLVOX_METRIC_MI);
    o.momentum = k % 2 ? .8 : 0;
    o.inverse = 1;
    o.iterations[0] = o.iterations[1] = 12;
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &a));
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &b));
    assert_true(!memcmp(a.warp->data, b.warp->data, shared.bytes) && a.metric_after == b.metric_after);
    assert_memory_equal(a.inverse_warp->data, b.inverse_warp->data, shared.bytes);
    assert_memory_equal(a.warped->data, b.warped->data, shared.bytes / 3);
    clvox_register_result_destroy(&a);
    clvox_register_result_destroy(&b);
}

static int repeats_tear_down(void **state)
{
    (void)state;
    pair_free(&shared.p);
    return 0;
}

static void repeats(void)
{
    test_set_up(repeats_set_up);
    for (int model = 0; model < MODELS; model++)
        for (int k = 0; k < 4; k++)
            test_case_at(by_two_runs_give_the_same_bits_momentum, TEST_AT(model, k),
                         "%s by %s: two runs give the same bits (momentum %g)", model_names[model],
                         k < 2 ? "LNCC" : "MI", k % 2 ? .8 : 0.);
    test_tear_down(repeats_tear_down);
}

static bool all_finite(const clvox_volume *v)
{
    for (size_t i = 0; i < (size_t)v->frames * clvox_grid_voxels(&v->grid); i++)
        if (!isfinite(v->data[i]))
            return false;
    return true;
}

/* A result of numbers without folds, or one sentence. */
static bool sound(int status, const clvox_register_result *r)
{
    if (status < 0)
        return status == CLVOX_ERROR_DATA && clvox_message()[0] && !strchr(clvox_message(), '\n') && !r->warp;
    return all_finite(r->warp) && all_finite(r->inverse_warp) && r->jacobian.folded == 0 &&
           isfinite(r->metric_after);
}

static const struct {
    int size[3], flat;
    double amplitude;
} rows[] = {{{61, 57, 1}, 2, 1.8},
            {{1, 53, 67}, 0, 1.8},
            {{5, 4, 3}, -1, .1},
            {{1, 9, 1}, -1, 0},
            {{2, 2, 2}, -1, 0}};

static int thin_set_up(void **state)
{
    const int *given = *state;
    int g = given[0];
    pair_make(&shared.p, rows[g].size, (double[3]){1, 1.1, 1.2}, false, rows[g].amplitude, 79);
    shared.before = pair_start(&shared.p, NULL);
    return 0;
}

static int thin_tear_down(void **state)
{
    (void)state;
    pair_free(&shared.p);
    return 0;
}

static void thin_images(void **state)
{
    const int *given = *state;
    size_t g = (size_t)given[0];
    int model = given[1];
    int metric = given[2];
    int flat = rows[g].flat;
    size_t n = clvox_grid_voxels(&shared.p.fixed_grid);
    double largest;
    clvox_register_options o;
    clvox_register_result r;
    pair_options(&o, models[model], (clvox_metric)metric);
    o.inverse = 1;
    int status = pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r);
    assert_that(sound(status, &r), "%s", status < 0 ? clvox_message() : "");
    if (status == CLVOX_OK && flat >= 0) {
        double mean = pair_error(&shared.p, &r, NULL, &largest);
        printf("# %.3f voxels before, %.3f after (%.3f at most)\n", shared.before, mean, largest);
        assert_that(mean <= .5 * shared.before, "%.3f of the start", mean / shared.before);
        for (size_t i = 0; i < n; i++)
            if (r.warp->data[(size_t)flat * n + i] != 0 || r.inverse_warp->data[(size_t)flat * n + i] != 0) {
                fail_msg("voxel %zu leaves the slice", i);
            }
    }
    clvox_register_result_destroy(&r);
}

static void thin(void)
{
    for (int g = 0; g < (int)(sizeof rows / sizeof *rows); g++) {
        const int *size = rows[g].size;
        test_set_up(thin_set_up);
        for (int model = 0; model < MODELS; model++)
            for (int metric = 0; metric < 4; metric++)
                test_case_at(thin_images, TEST_AT(g, model, metric), "%s, metric %d: images of %dx%dx%d",
                             model_names[model], metric, size[0], size[1], size[2]);
        test_tear_down(thin_tear_down);
    }
}

static int odd_images_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){37, 35, 33}, (double[3]){1, 1, 1}, false, 2, 83);
    shared.n = clvox_grid_voxels(&shared.p.fixed_grid);
    shared.before = pair_start(&shared.p, NULL);
    shared.kept = malloc(2 * shared.n * sizeof *shared.kept);
    assert_ok(shared.kept ? CLVOX_OK : CLVOX_ERROR_MEMORY);
    memcpy(shared.kept, shared.p.fixed->data, shared.n * sizeof *shared.kept);
    memcpy(shared.kept + shared.n, shared.p.moving->data, shared.n * sizeof *shared.kept);
    return 0;
}

static void a_constant_image_leaves_all_in_place(void **state)
{
    const int *given = *state;
    int model = given[0], metric = given[1], k = given[2];
    pair_options(&shared.o, models[model], (clvox_metric)metric);
    shared.o.inverse = 1;
    float *constant = (k ? shared.p.moving : shared.p.fixed)->data;
    for (size_t i = 0; i < shared.n; i++)
        constant[i] = 7;
    int status = pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &shared.o, &shared.r);
    assert_true(sound(status, &shared.r) && (status < 0 || shared.r.largest_mm == 0));
    clvox_register_result_destroy(&shared.r);
    memcpy(constant, shared.kept + (size_t)k * shared.n, shared.n * sizeof *shared.kept);
}

static void voxels_that_are_no_numbers(void **state)
{
    const int *given = *state;
    int model = given[0], metric = given[1];
    pair_options(&shared.o, models[model], (clvox_metric)metric);
    shared.o.inverse = 1;
    shared.p.fixed->data[shared.n / 2 + 3] = NAN;
    shared.p.fixed->data[1] = INFINITY;
    for (size_t i = 0; i < 37 * 35; i++)
        shared.p.moving->data[i] = NAN; /* a slice was not taken */
    shared.p.moving->data[shared.n / 2] = -INFINITY;
    int status = pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &shared.o, &shared.r);
    assert_true(status == CLVOX_OK && sound(status, &shared.r));
    double mean = status < 0 ? INFINITY : pair_error(&shared.p, &shared.r, NULL, &shared.largest);
    printf("# %.3f voxels before, %.3f after\n", shared.before, mean);
    assert_that(mean <= .6 * shared.before, "%.3f of the start", mean / shared.before);
    clvox_register_result_destroy(&shared.r);
    memcpy(shared.p.fixed->data, shared.kept, shared.n * sizeof *shared.kept);
    memcpy(shared.p.moving->data, shared.kept + shared.n, shared.n * sizeof *shared.kept);
}

static void nothing_but_nan(void **state)
{
    const int *given = *state;
    pair_options(&shared.o, models[given[0]], (clvox_metric)given[1]);
    shared.o.inverse = 1;
    for (size_t i = 0; i < shared.n; i++)
        shared.p.moving->data[i] = NAN;
    int status = pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &shared.o, &shared.r);
    assert_true(sound(status, &shared.r));
    clvox_register_result_destroy(&shared.r);
    memcpy(shared.p.moving->data, shared.kept + shared.n, shared.n * sizeof *shared.kept);
}

static int odd_images_tear_down(void **state)
{
    (void)state;
    free(shared.kept);
    pair_free(&shared.p);
    return 0;
}

static void odd_images(void)
{
    test_set_up(odd_images_set_up);
    for (int model = 0; model < MODELS; model++)
        for (int metric = 0; metric < 4; metric++) {
            for (int k = 0; k < 2; k++)
                test_case_at(a_constant_image_leaves_all_in_place, TEST_AT(model, metric, k),
                             "%s, metric %d: a constant %s image leaves all in place", model_names[model],
                             metric, k ? "moving" : "fixed");
            test_case_at(voxels_that_are_no_numbers, TEST_AT(model, metric),
                         "%s, metric %d: voxels that are no numbers", model_names[model], metric);
            test_case_at(nothing_but_nan, TEST_AT(model, metric), "%s, metric %d: nothing but NaN",
                         model_names[model], metric);
        }
    test_tear_down(odd_images_tear_down);
}

typedef struct watched {
    double fraction;
    int calls, stop_at, level, iteration;
    bool falls;
} watched;

static int watch(void *user, const clvox_step *step)
{
    watched *w = user;
    const int level = step->level, iteration = step->iteration;
    const double fraction = step->fraction;
    w->falls = w->falls || !(fraction >= w->fraction && fraction <= 1 + 1e-9) || !isfinite(step->metric) ||
               level < w->level || (level == w->level && iteration < w->iteration);
    w->fraction = fraction;
    w->level = level;
    w->iteration = iteration;
    return ++w->calls == w->stop_at;
}

static int progress_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){37, 35, 33}, (double[3]){1, 1, 1}, false, 2, 89);
    return 0;
}

/* Options whose progress is watched. */
static clvox_register_options watched_options(int model, watched *seen)
{
    clvox_register_options o;
    *seen = (watched){.stop_at = 0};
    pair_options(&o, models[model], CLVOX_METRIC_LNCC);
    o.progress = watch;
    o.user = seen;
    return o;
}

static void progress_never_falls_and_ends_at_1(void **state)
{
    const int *given = *state;
    clvox_register_result r;
    watched seen;
    clvox_register_options o = watched_options(given[0], &seen);
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r));
    printf("# %d calls, the last at %g; %d and %d iterations\n", seen.calls, seen.fraction, r.iterations[0],
           r.iterations[1]);
    assert_true(!seen.falls && fabs(seen.fraction - 1) < 1e-9 && seen.calls >= 5);
    clvox_register_result_destroy(&r);
}

static void a_callback_stops_the_run_wherever(void **state)
{
    const int *given = *state;
    clvox_register_result r;
    watched seen;
    clvox_register_options o = watched_options(given[0], &seen);
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r));
    clvox_register_result_destroy(&r);
    const int calls = seen.calls;
    for (int at = 1; at <= calls; at += 7) {
        seen = (watched){.stop_at = at};
        assert_int_equal(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r),
                         CLVOX_ERROR_STOPPED);
        assert_true(seen.calls == at && !r.warp && !r.warped && !r.inverse_warp);
    }
}

static void the_tolerance_ends_levels_early(void **state)
{
    const int *given = *state;
    clvox_register_result r;
    watched seen;
    clvox_register_options o = watched_options(given[0], &seen);
    o.tolerance = .5;
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r));
    assert_true(r.iterations[0] < 30 && r.iterations[0] % 10 == 1);
    assert_true(r.iterations[1] < 20 && r.iterations[1] % 10 == 1);
    assert_true(!seen.falls && fabs(seen.fraction - 1) < 1e-9 && r.metric_after > r.metric_linear);
    clvox_register_result_destroy(&r);
}

static void no_iterations_give_the_identity(void **state)
{
    const int *given = *state;
    clvox_register_result r;
    watched seen;
    clvox_register_options o = watched_options(given[0], &seen);
    o.tolerance = .5;
    o.iterations[0] = o.iterations[1] = 0;
    o.inverse = 1;
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r));
    assert_true(r.largest_mm == 0 && r.iterations[0] == 0 && r.iterations[1] == 0 && !seen.falls);
    assert_true(r.jacobian.smallest == 1 && r.jacobian.largest == 1 && r.inverse_error_voxels[0] == 0);
    assert_true(r.metric_after == r.metric_linear);
    clvox_register_result_destroy(&r);
}

static int progress_tear_down(void **state)
{
    (void)state;
    pair_free(&shared.p);
    return 0;
}

static void progress(void)
{
    test_set_up(progress_set_up);
    for (int model = 0; model < MODELS; model++) {
        test_case_at(progress_never_falls_and_ends_at_1, TEST_AT(model),
                     "%s: progress never falls and ends at 1", model_names[model]);
        test_case_at(a_callback_stops_the_run_wherever, TEST_AT(model),
                     "%s: a callback stops the run wherever it is", model_names[model]);
        test_case_at(the_tolerance_ends_levels_early, TEST_AT(model), "%s: the tolerance ends levels early",
                     model_names[model]);
        test_case_at(no_iterations_give_the_identity, TEST_AT(model), "%s: no iterations give the identity",
                     model_names[model]);
    }
    test_tear_down(progress_tear_down);
}

typedef struct losses {
    double before, largest; /* metric ten iterations before; by what it fell in ten at most */
    int level;
} losses;

static int watch_losses(void *user, const clvox_step *step)
{
    losses *l = user;
    const int level = step->level, iteration = step->iteration;
    const double metric = step->metric;
    if (iteration % 10 != 0)
        return 0;
    if (iteration > 0 && level == l->level)
        l->largest = fmax(l->largest, l->before - metric);
    l->before = metric;
    l->level = level;
    return 0;
}

/* Elastic smoothing takes away at first what a coarser level found, and lets it come back as it weakens. */
static int metric_may_fall_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){37, 35, 33}, (double[3]){1, 1, 1}, false, 3, 89);
    return 0;
}

static void a_level_does_not_end_because_metric_falls(void **state)
{
    const int *given = *state;
    int model = given[0];
    clvox_register_options o;
    clvox_register_result r;
    losses seen = {.largest = 0};
    pair_options(&o, models[model], CLVOX_METRIC_LNCC);
    o.total_sigma = 4;
    o.tolerance = 4e-4;
    o.progress = watch_losses;
    o.user = &seen;
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r));
    printf("# metric falls by up to %.4f in ten iterations; %d and %d iterations\n", seen.largest,
           r.iterations[0], r.iterations[1]);
    assert_true(seen.largest > 10 * o.tolerance && r.iterations[1] > 11);
    clvox_register_result_destroy(&r);
}

static int metric_may_fall_tear_down(void **state)
{
    (void)state;
    pair_free(&shared.p);
    return 0;
}

static void metric_may_fall(void)
{
    test_set_up(metric_may_fall_set_up);
    for (int model = 0; model < MODELS; model++)
        test_case_at(a_level_does_not_end_because_metric_falls, TEST_AT(model),
                     "%s: a level does not end because metric falls", model_names[model]);
    test_tear_down(metric_may_fall_tear_down);
}

static const double shrinks[][2] = {{2, 1}, {4, 2}};

static int memory_set_up(void **state)
{
    (void)state;
    pair_apart(&shared.p, 2, 97);
    assert_ok(clvox_volume_create(&shared.p.moving_grid, 1, CLVOX_KIND_LABEL, &shared.moving_mask));
    for (size_t i = 0; i < clvox_grid_voxels(&shared.p.moving_grid); i++)
        shared.moving_mask->data[i] = 1;
    return 0;
}

static void by_takes_the_memory_predicted_finest_level(void **state)
{
    const int *given = *state;
    int model = given[0], k = given[1];
    clvox_register_options o;
    clvox_register_result r;
    bool full = k & 1;
    const clvox_register_images images = {.fixed = {shared.p.fixed, shared.p.fixed},
                                          .moving = {shared.p.moving, shared.p.moving},
                                          .channels = full ? 2 : 1,
                                          .fixed_mask = full ? shared.p.labels : NULL,
                                          .moving_mask = full ? shared.moving_mask : NULL};
    pair_options(&o, models[model], k & 2 ? CLVOX_METRIC_MI : CLVOX_METRIC_LNCC);
    o.init = CLVOX_INIT_MATRIX;
    memcpy(o.matrix, shared.p.matrix, sizeof o.matrix);
    o.iterations[0] = o.iterations[1] = 2;
    o.radius = full ? 6 : 2; /* above 4 windows take more */
    o.inverse = full;
    o.consistency = !full;
    memcpy(o.shrink, shrinks[k >> 2], sizeof shrinks[0]);
    assert_ok(clvox_register(ctx, &images, &o, &r));
    size_t predicted = clvox_register_bytes(&images, &o);
    /* 64 KiB are for what operations take for themselves. */
    printf("# %zu bytes, %zu predicted\n", r.device_bytes, predicted);
    assert_that(r.device_bytes <= predicted && (double)r.device_bytes >= .95 * (double)predicted - 65536,
                "%zu bytes, %zu predicted", r.device_bytes, predicted);
    clvox_register_result_destroy(&r);
}

static int memory_tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&shared.moving_mask);
    pair_free(&shared.p);
    return 0;
}

static void memory(void)
{
    test_set_up(memory_set_up);
    for (int model = 0; model < MODELS; model++)
        for (int k = 0; k < 8; k++) {
            bool full = k & 1;
            test_case_at(by_takes_the_memory_predicted_finest_level, TEST_AT(model, k),
                         "%s by %s takes the memory predicted (%s, finest level %g)", model_names[model],
                         k & 2 ? "MI" : "LNCC", full ? "2 channels, masks, inverse" : "1 channel",
                         shrinks[k >> 2][1]);
        }
    test_tear_down(memory_tear_down);
}

/* Devices round differently. What that changes must not grow: a start that is
 * moved by a hundred-thousandth of a voxel gives the same map, noise and all.
 * Voxels do not begin on one another, where interpolants have two slopes. */
enum { MOVES = 3 };

static int near_starts_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){56, 60, 52}, (double[3]){1, 1, 1}, false, 3, 71);
    clvox_volume_destroy(&shared.p.fixed);
    clvox_volume_destroy(&shared.p.moving);
    shared.p.phantom.noise = 3;
    assert_ok(
        clv_phantom_image(&shared.p.phantom, &shared.p.fixed_grid, NULL, &shared.p.warp, 1, &shared.p.fixed));
    assert_ok(clv_phantom_image(&shared.p.phantom, &shared.p.moving_grid, NULL, NULL, 2, &shared.p.moving));
    return 0;
}

static void a_start_a_hundred_thousandth_of_a_voxel(void **state)
{
    const int *given = *state;
    int model = given[0];
    clvox_register_options o;
    clvox_register_result r[1 + MOVES];
    double mean = 0, largest;
    clvox_register_defaults(&o);
    o.deform = models[model];
    clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
    o.linear = CLVOX_LINEAR_NONE;
    o.init = CLVOX_INIT_MATRIX;
    o.matrix[1][3] = -.2;
    o.matrix[2][3] = .26;
    for (int k = 0; k <= MOVES; k++) {
        o.matrix[0][3] = .3 + 1e-5 * k;
        assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r[k]));
    }
    double error = pair_error(&shared.p, &r[0], NULL, &largest);
    printf("# %.3f voxels from the truth, %.3f at most; apart", error, largest);
    for (int k = 1; k <= MOVES; k++) {
        double apart = pair_distance(r[0].warp, r[k].warp, NULL, &largest);
        mean += apart / MOVES;
        printf(" %.5f, %.4f at most%s", apart, largest, k < MOVES ? ";" : "\n");
    }
    assert_that(mean <= .02, "%.5f", mean);
    for (int k = 0; k <= MOVES; k++)
        clvox_register_result_destroy(&r[k]);
}

static int near_starts_tear_down(void **state)
{
    (void)state;
    pair_free(&shared.p);
    return 0;
}

static void near_starts(void)
{
    test_set_up(near_starts_set_up);
    for (int model = 0; model < MODELS; model++)
        test_case_at(a_start_a_hundred_thousandth_of_a_voxel, TEST_AT(model),
                     "%s: a start a hundred-thousandth of a voxel away leads to the same map",
                     model_names[model]);
    test_tear_down(near_starts_tear_down);
}

int main(void)
{
    ctx = harness_open();
    exchange();
    inverse();
    no_folds();
    masks();
    repeats();
    near_starts();
    thin();
    odd_images();
    progress();
    metric_may_fall();
    memory();
    return test_run("compositive map", harness_close);
}
