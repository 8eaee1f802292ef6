/* SPDX-License-Identifier: Apache-2.0 */
/* The whole registration on phantoms whose true map is known. */
#include <stdint.h>

#include "base/matrix.h"
#include "clvox/registration.h"
#include "op/harness.h"
#include "register/pair.h"

static clvox_context *ctx;

static void header_options(clvox_register_options *o)
{
    clvox_register_defaults(o);
    o->deform = CLVOX_DEFORM_UNBIASED;
    clvox_register_preset(o, CLVOX_PRESET_DEFAULT);
    o->init = CLVOX_INIT_HEADER;
    o->linear = CLVOX_LINEAR_NONE;
}

static const struct {
    int size[3];
    double spacing[3];
    bool oblique;
    double amplitude;
    const char *name;
} grids[] = {
    {{64, 60, 52}, {1, 1, 1}, false, 2.5, "1 mm"},
    {{61, 67, 37}, {1.5, 1.2, 2}, true, 2.5, "anisotropic, oblique, prime sizes"},
    {{97, 89, 1}, {1, 1, 3}, false, 1.8, "one slice"},
};

static void a_known_warp_is_recovered(void **state)
{
    const int *given = *state;
    size_t g = (size_t)given[0];
    int metric = given[1];
    pair p;
    clvox_register_options o;
    clvox_register_result r;
    double largest;
    pair_make(&p, grids[g].size, grids[g].spacing, grids[g].oblique, grids[g].amplitude, 7 + g);
    header_options(&o);
    o.metric = metric ? CLVOX_METRIC_NCC : CLVOX_METRIC_SSD;
    assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
    double mean = pair_error(&p, &r, NULL, &largest);
    printf("# end-point error %.3f voxels on average, %.3f at most; mismatch %.4f; J %.2f..%.2f\n", mean,
           largest, r.mismatch, r.jacobian.smallest, r.jacobian.largest);
    assert_that(mean <= .3, "%.3f voxels", mean);
    assert_true(r.jacobian.folded == 0 && r.jacobian.smallest > .049);
    assert_true(r.mismatch < .1 &&
                (metric ? r.metric_after > r.metric_linear : r.metric_after < r.metric_linear));
    clvox_register_result_destroy(&r);
    pair_free(&p);
}

static void recovery(void)
{
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        for (int metric = 0; metric < 2; metric++)
            test_case_at(a_known_warp_is_recovered, TEST_AT((int)g, metric),
                         "a known warp is recovered: %s, %s", grids[g].name, metric ? "NCC" : "SSD");
    }
}

static void identity(void **state)
{
    (void)state;
    pair p;
    clvox_register_options o;
    clvox_register_result r;
    pair_make(&p, (int[3]){43, 37, 31}, (double[3]){1, 2, 1.5}, true, 2, 3);
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_UNBIASED;
    clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
    assert_ok(pair_register(ctx, p.moving, p.moving, NULL, NULL, &o, &r));
    assert_that(r.largest_mm < .01, "moved by %g mm", r.largest_mm);
    assert_true(r.metric_after <= 1e-8);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            assert_true(fabs(r.matrix[i][j] - (i == j)) < 1e-6);
    clvox_register_result_destroy(&r);
    pair_free(&p);
}

static void repeats(void **state)
{
    (void)state;
    pair p;
    clvox_register_options o;
    clvox_register_result a, b;
    pair_make(&p, (int[3]){41, 43, 29}, (double[3]){1, 1, 1.5}, false, 2, 5);
    header_options(&o);
    assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &a));
    assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &b));
    size_t n = clvox_grid_voxels(&p.fixed_grid) * sizeof(float);
    assert_memory_equal(a.warp->data, b.warp->data, 3 * n);
    assert_memory_equal(a.warped->data, b.warped->data, n);
    clvox_register_result_destroy(&a);
    clvox_register_result_destroy(&b);
    pair_free(&p);
}

static void exchange(void **state)
{
    (void)state;
    pair p;
    clvox_register_options o;
    clvox_register_result a, b;
    pair_make(&p, (int[3]){60, 56, 48}, (double[3]){1, 1, 1}, false, 2.5, 11);
    header_options(&o);
    assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &a));
    assert_ok(pair_register(ctx, p.moving, p.fixed, NULL, NULL, &o, &b));
    printf("# mean log J %.4f and %.4f, sd %.4f and %.4f\n", a.jacobian.mean_log, b.jacobian.mean_log,
           a.jacobian.sd_log, b.jacobian.sd_log);
    assert_true(fabs(a.jacobian.mean_log + b.jacobian.mean_log) < .02);
    assert_true(fabs(a.jacobian.sd_log - b.jacobian.sd_log) < .15 * a.jacobian.sd_log);
    assert_true(fabs(log(a.jacobian.largest) + log(b.jacobian.smallest)) < .35);
    clvox_register_result_destroy(&a);
    clvox_register_result_destroy(&b);
    pair_free(&p);
}

typedef struct watched {
    double fraction;
    int calls;
    bool falls;
} watched;

static struct {
    pair p;
    clvox_register_options o;
    double largest, matrix[4][4];
    size_t n;
    clvox_grid fixed_grid, moving_grid, coarse;
    clv_phantom phantom;
    clvox_volume *fixed, *moving, *fixed_mask, *moving_mask, *mask;
    clvox_register_result r;
    watched seen;
} shared;

/* The moving image by another scale and offset. */
static int intensities_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){60, 56, 48}, (double[3]){1, 1, 1}, false, 2.5, 13);
    shared.n = clvox_grid_voxels(&shared.p.moving_grid);
    for (size_t i = 0; i < shared.n; i++)
        shared.p.moving->data[i] = 37.5f * shared.p.moving->data[i] - 1000;
    header_options(&shared.o);
    return 0;
}

static int pair_tear_down(void **state)
{
    (void)state;
    pair_free(&shared.p);
    return 0;
}

static void another_scale_and_offset_of_the_moving(void **state)
{
    (void)state;
    clvox_register_result r;
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &shared.o, &r));
    double mean = pair_error(&shared.p, &r, NULL, &shared.largest);
    assert_that(mean <= .3, "%.3f voxels", mean);
    clvox_register_result_destroy(&r);
}

static void voxels_that_are_no_numbers_count(void **state)
{
    (void)state;
    clvox_register_result r;
    shared.p.fixed->data[shared.n / 2] = NAN;
    shared.p.moving->data[shared.n / 3] = INFINITY;
    shared.p.moving->data[shared.n / 4] = -INFINITY;
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &shared.o, &r));
    double mean = pair_error(&shared.p, &r, NULL, &shared.largest);
    assert_that(mean <= .35, "%.3f voxels", mean);
    clvox_register_result_destroy(&r);
}

static void a_constant_image_gives_the_identity(void **state)
{
    (void)state;
    clvox_register_result r;
    for (size_t i = 0; i < shared.n; i++)
        shared.p.moving->data[i] = 7;
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &shared.o, &r));
    assert_true(r.largest_mm == 0);
    clvox_register_result_destroy(&r);
    shared.o.init = CLVOX_INIT_AUTO;
    shared.o.linear = CLVOX_LINEAR_AFFINE;
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &shared.o, &r));
    assert_true(r.largest_mm == 0 && r.matrix[0][0] == 1 && r.matrix[0][3] == 0);
    clvox_register_result_destroy(&r);
}

static void intensities(void)
{
    test_each(intensities_set_up, pair_tear_down);
    test_case(another_scale_and_offset_of_the_moving,
              "another scale and offset of the moving image change little");
    test_case(voxels_that_are_no_numbers_count, "voxels that are no numbers count as background");
    test_case(a_constant_image_gives_the_identity, "a constant image gives the identity");
    test_each(NULL, NULL);
}

/* The moving head turned, shifted and scaled on another, left-handed grid. A
 * similarity follows from moments; of an affine they leave a rotation open. */
static const double turn[3][3] = {{.9553, -.2553, .1494}, {.2696, .9589, -.0888}, {-.1206, .1251, .9848}};

static int linear_set_up(void **state)
{
    (void)state;
    memcpy(shared.matrix, (double[4][4]){{0, 0, 0, 9}, {0, 0, 0, -14}, {0, 0, 0, 6}, {0, 0, 0, 1}},
           sizeof shared.matrix);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            shared.matrix[i][j] = 1.07 * turn[i][j];
    clvox_phantom_grid((int[3]){66, 72, 48}, (double[3]){2, 2, 3}, true, &shared.fixed_grid);
    clvox_phantom_grid((int[3]){75, 92, 61}, (double[3]){2, 2, 2}, false, &shared.moving_grid);
    for (int i = 0; i < 3; i++) {
        shared.moving_grid.to_ras[i][3] += shared.moving_grid.to_ras[i][0] * (shared.moving_grid.size[0] - 1);
        shared.moving_grid.to_ras[i][0] = -shared.moving_grid.to_ras[i][0];
    }
    assert_ok(clv_phantom_make(CLVOX_PHANTOM_TEXTURED, &shared.moving_grid, 17, 0, &shared.phantom));
    assert_ok(clv_phantom_image(&shared.phantom, &shared.fixed_grid, CLV_MATRIX(shared.matrix), NULL, 1,
                                &shared.fixed));
    assert_ok(clv_phantom_labels(&shared.phantom, &shared.fixed_grid, CLV_MATRIX(shared.matrix), NULL,
                                 &shared.fixed_mask));
    assert_ok(clv_phantom_image(&shared.phantom, &shared.moving_grid, NULL, NULL, 2, &shared.moving));
    assert_ok(clv_phantom_labels(&shared.phantom, &shared.moving_grid, NULL, NULL, &shared.moving_mask));
    clvox_register_defaults(&shared.o);
    shared.o.deform = CLVOX_DEFORM_UNBIASED;
    clvox_register_preset(&shared.o, CLVOX_PRESET_DEFAULT);
    shared.o.deform = CLVOX_DEFORM_NONE;
    shared.o.init = CLVOX_INIT_MOMENTS;
    shared.o.linear = CLVOX_LINEAR_AFFINE;
    return 0;
}

static int linear_tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&shared.fixed);
    clvox_volume_destroy(&shared.moving);
    clvox_volume_destroy(&shared.fixed_mask);
    clvox_volume_destroy(&shared.moving_mask);
    clv_phantom_free(&shared.phantom);
    return 0;
}

static void moments_of_masks_recover_a_similarity(void **state)
{
    const int *given = *state;
    int kind = given[0];
    shared.o.linear = (clvox_linear)kind;
    assert_ok(pair_register(ctx, shared.fixed, shared.moving, shared.fixed_mask, shared.moving_mask,
                            &shared.o, &shared.r));
    double worst = 0;
    for (int corner = 0; corner < 8; corner++) {
        const double at[3] = {corner & 1 ? 35 : -35, corner & 2 ? 35 : -35, corner & 4 ? 35 : -35};
        for (int i = 0; i < 3; i++) {
            double error = shared.r.matrix[i][3] - shared.matrix[i][3];
            for (int j = 0; j < 3; j++)
                error += (shared.r.matrix[i][j] - shared.matrix[i][j]) * at[j];
            worst = fmax(worst, fabs(error));
        }
    }
    printf("# correlation %.3f before, %.3f after; largest error at the head's corners %.2f mm\n",
           shared.r.ncc_before, shared.r.ncc_linear, worst);
    assert_true(shared.r.ncc_linear > shared.r.ncc_before && worst < 1);
    assert_true(shared.r.warp == NULL && shared.r.warped != NULL);
    double off = 0, all = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&shared.fixed_grid); i++) {
        off += fabs((double)shared.r.warped->data[i] - shared.fixed->data[i]);
        all += fabs((double)shared.fixed->data[i]);
    }
    assert_that(off < .05 * all, "the warped image is %.3f of the fixed one away from it", off / all);
    clvox_register_result_destroy(&shared.r);
}

static void an_empty_mask_is_one_sentence(void **state)
{
    (void)state;
    memset(shared.moving_mask->data, 0, clvox_grid_voxels(&shared.moving_grid) * sizeof(float));
    assert_int_equal(pair_register(ctx, shared.fixed, shared.moving, shared.fixed_mask, shared.moving_mask,
                                   &shared.o, &shared.r),
                     CLVOX_ERROR_DATA);
    assert_true(strstr(clvox_message(), "mask") != NULL && shared.r.warped == NULL);
}

static void no_overlap_is_one_sentence_with_init_header(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        shared.moving->grid.to_ras[i][3] += 500;
    shared.o.init = CLVOX_INIT_HEADER;
    assert_int_equal(pair_register(ctx, shared.fixed, shared.moving, NULL, NULL, &shared.o, &shared.r),
                     CLVOX_ERROR_DATA);
    assert_true(strstr(clvox_message(), "overlap") != NULL);
    shared.o.init = CLVOX_INIT_AUTO;
    /* A large offset, as some scanners add, does not hide the head. */
    for (size_t i = 0; i < clvox_grid_voxels(&shared.moving_grid); i++)
        shared.moving->data[i] += 20000;
    assert_ok(pair_register(ctx, shared.fixed, shared.moving, NULL, NULL, &shared.o, &shared.r));
    assert_that(shared.r.ncc_linear > .5, "%.3f", shared.r.ncc_linear);
    clvox_register_result_destroy(&shared.r);
}

static void linear(void)
{
    test_each(linear_set_up, linear_tear_down);
    for (int kind = CLVOX_LINEAR_SIMILARITY; kind <= CLVOX_LINEAR_AFFINE; kind++)
        test_case_at(moments_of_masks_recover_a_similarity, TEST_AT(kind),
                     "moments of masks recover a similarity between grids of other handedness (dof %d)",
                     kind);
    test_case(an_empty_mask_is_one_sentence, "an empty mask is one sentence");
    test_case(no_overlap_is_one_sentence_with_init_header,
              "no overlap is one sentence with --init header, and found by moments");
    test_each(NULL, NULL);
}

static const int sizes[][3] = {{1, 1, 1}, {1, 13, 17}, {2, 2, 2}, {2049, 3, 2}, {5, 1, 1}};

static void a_volume_of_x_x_is_registered_or_refused(void **state)
{
    const int *given = *state;
    size_t s = (size_t)given[0];
    pair p;
    clvox_register_options o;
    clvox_register_result r;
    clvox_phantom_grid(sizes[s], (double[3]){1, 1, 1}, false, &p.fixed_grid);
    assert_ok(clv_phantom_make(CLVOX_PHANTOM_BALL, &p.fixed_grid, 1, 0, &p.phantom));
    assert_ok(clv_phantom_image(&p.phantom, &p.fixed_grid, NULL, NULL, 1, &p.fixed));
    assert_ok(clv_phantom_image(&p.phantom, &p.fixed_grid, NULL, NULL, 1, &p.moving));
    p.labels = NULL;
    p.moving->data[0] += 3;
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_UNBIASED;
    clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
    for (int level = 0; level < 3; level++)
        o.iterations[level] = 5;
    int status = pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r);
    assert_that(status == CLVOX_OK || (status == CLVOX_ERROR_DATA && clvox_message()[0]), "%s",
                clvox_message());
    if (status == CLVOX_OK) {
        for (size_t i = 0; i < 3 * clvox_grid_voxels(&p.fixed_grid); i++)
            assert_true(isfinite(r.warp->data[i]));
        clvox_register_result_destroy(&r);
    }
    pair_free(&p);
}

static void small(void)
{
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        test_case_at(a_volume_of_x_x_is_registered_or_refused, TEST_AT((int)s),
                     "a volume of %dx%dx%d is registered or refused", sizes[s][0], sizes[s][1], sizes[s][2]);
}

static int watch(void *user, const clvox_step *step)
{
    watched *w = user;
    w->falls = w->falls || !(step->fraction >= w->fraction && step->fraction <= 1 + 1e-9) ||
               step->level < 0 || step->iteration < 0 || !(step->metric >= 0);
    w->fraction = step->fraction;
    w->calls++;
    return 0;
}

static int masks_and_memory_set_up(void **state)
{
    (void)state;
    shared.seen = (watched){.fraction = 0};
    shared.mask = NULL;
    pair_make(&shared.p, (int[3]){47, 41, 37}, (double[3]){1, 1, 1}, false, 2, 23);
    clvox_phantom_grid((int[3]){31, 29, 23}, (double[3]){2, 2, 2}, false, &shared.coarse);
    assert_ok(clvox_volume_create(&shared.coarse, 1, CLVOX_KIND_LABEL, &shared.mask));
    for (size_t i = 0; i < clvox_grid_voxels(&shared.coarse); i++)
        shared.mask->data[i] = 1;
    clvox_register_defaults(&shared.o);
    shared.o.deform = CLVOX_DEFORM_UNBIASED;
    clvox_register_preset(&shared.o, CLVOX_PRESET_DEFAULT);
    shared.o.inverse = 1;
    shared.o.progress = watch;
    shared.o.user = &shared.seen;
    return 0;
}

static int masks_and_memory_tear_down(void **state)
{
    clvox_volume_destroy(&shared.mask);
    return pair_tear_down(state);
}

static void a_run_takes_the_memory_predicted_at_most(void **state)
{
    (void)state;
    clvox_register_result r;
    shared.seen.fraction = 0;
    assert_ok(
        pair_register(ctx, shared.p.fixed, shared.p.moving, shared.mask, shared.p.labels, &shared.o, &r));
    size_t predicted = clvox_register_bytes(&(clvox_register_images){.fixed = {shared.p.fixed},
                                                                     .moving = {shared.p.moving},
                                                                     .channels = 1,
                                                                     .fixed_mask = shared.mask,
                                                                     .moving_mask = shared.p.labels},
                                            &shared.o);
    assert_that(r.device_bytes <= predicted && (double)r.device_bytes >= 0.9 * (double)predicted,
                "%zu bytes, %zu predicted", r.device_bytes, predicted);
    assert_true(r.inverse_warp && r.jacobian.folded == 0);
    assert_true(!shared.seen.falls && shared.seen.calls > 3);
    clvox_register_result_destroy(&r);
}

static void a_run_without_iterations_is_the_linear_part(void **state)
{
    (void)state;
    clvox_register_result r;
    memset(shared.o.iterations, 0, sizeof shared.o.iterations);
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &shared.o, &r));
    assert_true(r.largest_mm == 0 && !shared.seen.falls && shared.seen.calls == shared.o.levels);
    clvox_register_result_destroy(&r);
}

static void what_cannot_be_used_is_refused_before(void **state)
{
    (void)state;
    clvox_register_result r;
    shared.o.init = CLVOX_INIT_MATRIX;
    shared.o.matrix[1][1] = 0;
    assert_int_equal(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &shared.o, &r),
                     CLVOX_ERROR_ARGUMENT);
    shared.o.init = CLVOX_INIT_HEADER;
    clvox_volume *several = NULL;
    assert_ok(clvox_volume_create(&shared.coarse, 2, CLVOX_KIND_LABEL, &several));
    assert_int_equal(pair_register(ctx, shared.p.fixed, shared.p.moving, several, NULL, &shared.o, &r),
                     CLVOX_ERROR_ARGUMENT);
    assert_true(strstr(clvox_message(), "fixed mask") != NULL);
    clvox_register_images many = {
        .fixed = {shared.p.fixed}, .moving = {shared.p.moving}, .channels = CLVOX_MAX_CHANNELS + 1};
    assert_true(clvox_register(ctx, &many, &shared.o, &r) == CLVOX_ERROR_ARGUMENT &&
                clvox_register_bytes(&many, &shared.o) == 0);
    many.channels = 1;
    assert_true(clvox_register_bytes(&many, &shared.o) > 0);
    shared.o.linear_metric = (clvox_metric)(CLVOX_METRIC_MIND + 1);
    assert_int_equal(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &shared.o, &r),
                     CLVOX_ERROR_ARGUMENT);
    clvox_volume_destroy(&several);
}

static void masks_and_memory(void)
{
    test_each(masks_and_memory_set_up, masks_and_memory_tear_down);
    test_case(a_run_takes_the_memory_predicted_at_most,
              "a run takes the memory predicted at most, with masks on another grid and the inverse");
    test_case(a_run_without_iterations_is_the_linear_part,
              "a run without iterations is the linear part alone");
    test_case(what_cannot_be_used_is_refused_before, "what cannot be used is refused before the run");
    test_each(NULL, NULL);
}

static void other_contrasts_are_compared_by_mind(void **state)
{
    (void)state;
    pair p;
    clvox_register_options o;
    clvox_register_result chosen, asked;
    double largest;
    pair_make(&p, (int[]){40, 36, 32}, (double[]){2, 2, 2}, false, 2, 5);
    size_t n = clvox_grid_voxels(&p.moving->grid);
    for (size_t i = 0; i < n; i++)
        p.moving->data[i] = p.moving->data[i] > 10 ? 250 - p.moving->data[i] : 0;
    clvox_register_defaults(&o);
    clvox_register_preset(&o, CLVOX_PRESET_QUICK);
    o.linear = CLVOX_LINEAR_RIGID;
    o.by_contrast = 1;
    assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &chosen));
    assert_int_equal(chosen.metric, CLVOX_METRIC_MIND);
    o.by_contrast = 0;
    o.metric = CLVOX_METRIC_MIND;
    assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &asked));
    const double synthesized = pair_error(&p, &chosen, NULL, &largest),
                 as_they_are = pair_error(&p, &asked, NULL, &largest);
    printf("# %.3f voxels synthesized, %.3f as they are\n", synthesized, as_they_are);
    assert_true(synthesized < 1.05 * as_they_are);
    clvox_register_result_destroy(&chosen);
    clvox_register_result_destroy(&asked);
    pair_free(&p);
}

/* Images of two values have one value inside. */
static void binary(void **state)
{
    (void)state;
    pair p;
    clvox_register_options o;
    clvox_register_result r;
    pair_make(&p, (int[3]){48, 44, 40}, (double[3]){1, 1, 1}, false, 2, 29);
    size_t n = clvox_grid_voxels(&p.fixed_grid);
    clvox_volume *moving = NULL;
    assert_ok(clv_phantom_labels(&p.phantom, &p.moving_grid, NULL, NULL, &moving));
    for (size_t i = 0; i < n; i++) {
        p.fixed->data[i] = p.labels->data[i] > 0 ? 50 : 0;
        p.moving->data[i] = moving->data[i] > 0 ? 3 : 0;
    }
    header_options(&o);
    int status = pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r);
    assert_that(status == CLVOX_OK, "%s", clvox_message());
    if (status == CLVOX_OK) {
        printf("# mismatch %.3f\n", r.mismatch);
        assert_true(r.metric_linear > 0 && r.mismatch < .5);
        clvox_register_result_destroy(&r);
    }
    clvox_volume_destroy(&moving);
    pair_free(&p);
}

/* Nothing of the images is touched before the refusal. */
static void too_large(void **state)
{
    (void)state;
    float nothing = 0;
    clvox_volume huge = {.frames = 1, .data = &nothing};
    clvox_register_options o;
    clvox_register_result r;
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    if (!limits->global_bytes || limits->global_bytes > (size_t)60 << 30)
        test_skip("this device takes every grid that 32-bit indices reach");
    clvox_phantom_grid((int[3]){890, 890, 890}, (double[3]){.2, .2, .2}, false, &huge.grid);
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_UNBIASED;
    clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
    assert_int_equal(pair_register(ctx, &huge, &huge, NULL, NULL, &o, &r), CLVOX_ERROR_MEMORY);
    assert_that(strstr(clvox_message(), "would fit") != NULL, "%s", clvox_message());
    printf("# %s\n", clvox_message());
}

int main(void)
{
    ctx = harness_open();
    recovery();
    test_case(identity, "the identity is a fixed point");
    test_case(repeats, "two runs give the same bits");
    test_case(exchange, "exchanging the images mirrors the log-Jacobian");
    intensities();
    linear();
    small();
    masks_and_memory();
    test_case(binary, "two segmentations are registered as images");
    test_case(other_contrasts_are_compared_by_mind,
              "images of other contrasts are synthesized and compared by MIND");
    test_case(too_large, "what does not fit the device is refused with the size that would");
    return test_run("register", harness_close);
}
