/* SPDX-License-Identifier: Apache-2.0 */
/* Landmarks as a term: two balls whose insides say nothing, and landmarks that know how they are turned. */
#include <string.h>

#include "op/harness.h"
#include "register/pair.h"

static clvox_context *ctx;

enum { POINTS = 14 };

/* The fixed ball of 16 mm and the moving one, a little larger, whose inside is turned by up to half a radian. */
static struct {
    clvox_volume *fixed, *moving;
    double from[3 * POINTS], to[3 * POINTS];
} balls;

static const double middle[3] = {3, -5, 8};

static int set_up(void **state)
{
    (void)state;
    float at[3 * POINTS];
    harness_random(at, 3 * POINTS, 7, -7, 7);
    balls.fixed = pair_ball((const int[3]){29, 27, 23}, (const double[3]){2, 2, 2.4}, middle, 16, .96);
    balls.moving = pair_ball((const int[3]){28, 25, 25}, (const double[3]){2, 2.1, 2.2}, middle, 16.8, .96);
    for (int k = 0; k < POINTS; k++) {
        const float *p = at + 3 * k;
        double square = (double)(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]), angle = .5 * exp(-square / 128);
        for (int a = 0; a < 3; a++)
            balls.from[3 * k + a] = balls.to[3 * k + a] = middle[a] + (double)p[a];
        balls.to[3 * k] = middle[0] + cos(angle) * (double)p[0] - sin(angle) * (double)p[1];
        balls.to[3 * k + 1] = middle[1] + sin(angle) * (double)p[0] + cos(angle) * (double)p[1];
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&balls.fixed);
    clvox_volume_destroy(&balls.moving);
    return 0;
}

static int run(const clvox_register_options *o, int points, bool exchanged, clvox_register_result *r,
               clvox_landmark_errors *errors)
{
    const double *ends[2] = {balls.from, balls.to};
    const clvox_register_images images = {
        .channels = 1, .fixed = {exchanged ? balls.moving : balls.fixed}, .moving = {exchanged ? balls.fixed : balls.moving},
        .fixed_points = ends[exchanged], .moving_points = ends[!exchanged], .points = points,
    };
    int status = clvox_register(ctx, &images, o, r);
    if (status >= 0)
        status = clvox_register_landmarks(r, ends[exchanged], ends[!exchanged], POINTS, errors);
    return status;
}

static const struct {
    clvox_deform deform;
    const char *name;
} models[] = {{CLVOX_DEFORM_GREEDY, "greedy"}, {CLVOX_DEFORM_SYN, "syn"}, {CLVOX_DEFORM_LDDMM, "lddmm"},
              {CLVOX_DEFORM_SHOOTING, "shooting"}};
enum { MODELS = sizeof models / sizeof *models };

static void landmarks_turn_what_images_cannot_see(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result alone, idle, both;
    clvox_landmark_errors errors;
    pair_options(&o, models[given[0]].deform, CLVOX_METRIC_LNCC);
    assert_ok(run(&o, 0, false, &alone, &errors));
    double before = errors.mean_linear, unseen = errors.mean_after;
    /* Without weight they are not looked at, nor the weight without them: not a bit changes. */
    for (int i = 0; i < 2 && given[0] % 2 == 0; i++) {
        o.points_weight = i ? .05 : 0;
        assert_ok(run(&o, i ? 0 : POINTS, false, &idle, &errors));
        assert_true(pair_same(alone.warp, idle.warp));
        clvox_register_result_destroy(&idle);
    }
    o.points_weight = .05;
    assert_ok(run(&o, POINTS, false, &both, &errors));
    printf("# landmarks %.3f mm apart, %.3f by the images alone, %.3f (%.3f at most) with them; lncc %.3f, %.3f, %.3f\n",
           before, unseen, errors.mean_after, errors.largest_after, both.metric_linear, alone.metric_after,
           both.metric_after);
    assert_true(unseen > .85 * before);
    assert_that(errors.mean_after < .2 * before && errors.largest_after < .35 * before, "%g, %g of %g", errors.mean_after,
                errors.largest_after, before);
    assert_true(fabs(errors.square_after) <= errors.largest_after * errors.largest_after);
    assert_true(both.jacobian.folded == 0 && both.metric_after > both.metric_linear);
    clvox_register_result_destroy(&alone);
    if (models[given[0]].deform == CLVOX_DEFORM_SYN) {
        clvox_register_result back;
        double mean = errors.mean_after;
        assert_ok(run(&o, POINTS, true, &back, &errors));
        assert_true(both.exchanged != back.exchanged);
        assert_that(fabs(errors.mean_after - mean) < .1 * before, "%g, %g", errors.mean_after, mean);
        clvox_register_result_destroy(&back);
    }
    clvox_register_result_destroy(&both);
}

/* Images that lose by every step: only with its term does the energy rise, and levels are kept. */
static void landmarks_move_images_that_are_the_same(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result r;
    clvox_landmark_errors errors;
    clvox_volume *moving = balls.moving;
    pair_options(&o, models[given[0]].deform, CLVOX_METRIC_LNCC);
    o.points_weight = .05;
    balls.moving = balls.fixed;
    assert_ok(run(&o, POINTS, false, &r, &errors));
    balls.moving = moving;
    printf("# landmarks %.3f mm apart, %.3f after\n", errors.mean_linear, errors.mean_after);
    assert_true(r.metric_linear == 1 && errors.mean_after < .3 * errors.mean_linear);
    clvox_register_result_destroy(&r);
}

/* Scaled, turned and shifted first: which way landmarks go through the affine, and between the images. */
static void landmarks_behind_an_affine(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result r;
    clvox_landmark_errors errors;
    const double turn[3][3] = {{.9, -.3, .1}, {.3, .95, 0}, {0, -.1, 1.1}}, shift[3] = {2, -1, 1.5};
    pair_options(&o, models[given[0]].deform, CLVOX_METRIC_LNCC);
    o.points_weight = .05;
    o.init = CLVOX_INIT_MATRIX;
    for (int i = 0; i < 3; i++) {
        o.matrix[i][3] = middle[i] + shift[i];
        for (int j = 0; j < 3; j++) {
            o.matrix[i][j] = turn[i][j];
            o.matrix[i][3] -= turn[i][j] * middle[j];
        }
    }
    assert_ok(run(&o, POINTS, false, &r, &errors));
    printf("# landmarks %.3f mm apart, %.3f after\n", errors.mean_linear, errors.mean_after);
    assert_true(!memcmp(r.matrix, o.matrix, sizeof o.matrix) && errors.mean_linear > 2.5);
    assert_true(errors.mean_after < .15 * errors.mean_linear && r.jacobian.folded == 0);
    clvox_register_result_destroy(&r);
}

/* A deformation works around what images hold, and around landmarks in the air. */
static void landmarks_far_from_what_images_show(void **state)
{
    (void)state;
    clvox_register_options o;
    clvox_register_result r;
    clvox_landmark_errors errors;
    clvox_volume *air = pair_ball((const int[3]){61, 27, 23}, (const double[3]){2, 2, 2.4}, middle, 5, .96);
    const double from[] = {middle[0] + 38, middle[1] + 12, middle[2]}, to[] = {from[0], from[1] + 3, from[2]};
    const clvox_register_images images = {
        .channels = 1, .fixed = {air}, .moving = {air}, .fixed_points = from, .moving_points = to, .points = 1,
    };
    pair_options(&o, CLVOX_DEFORM_GREEDY, CLVOX_METRIC_LNCC);
    o.points_weight = .05;
    assert_ok(clvox_register(ctx, &images, &o, &r));
    assert_ok(clvox_register_landmarks(&r, from, to, 1, &errors));
    assert_that(errors.mean_after < .3, "%g", errors.mean_after);
    clvox_register_result_destroy(&r);
    clvox_volume_destroy(&air);
}

static void landmarks_that_are_none(void **state)
{
    (void)state;
    clvox_register_options o;
    clvox_register_result r;
    clvox_landmark_errors errors;
    pair_options(&o, CLVOX_DEFORM_GREEDY, CLVOX_METRIC_SSD);
    o.points_weight = 1;
    double kept = balls.to[4];
    balls.to[4] = NAN;
    assert_int_equal(run(&o, POINTS, false, &r, &errors), CLVOX_ERROR_ARGUMENT);
    assert_true(strstr(clvox_message(), "landmark 2") != NULL);
    balls.to[4] = kept;
    assert_int_equal(run(&o, -1, false, &r, &errors), CLVOX_ERROR_ARGUMENT);
    o.points_weight = -1;
    assert_int_equal(run(&o, POINTS, false, &r, &errors), CLVOX_ERROR_ARGUMENT);
}

int main(void)
{
    ctx = harness_open();
    test_set_up(set_up);
    for (int i = 0; i < MODELS; i++)
        test_case_at(landmarks_turn_what_images_cannot_see, TEST_AT(i), "%s: landmarks turn what images cannot see",
                     models[i].name);
    for (int i = 0; i < MODELS; i++)
        test_case_at(landmarks_move_images_that_are_the_same, TEST_AT(i), "%s: landmarks move images that are the same",
                     models[i].name);
    for (int i = 0; i < MODELS; i++)
        test_case_at(landmarks_behind_an_affine, TEST_AT(i), "%s: landmarks behind an affine", models[i].name);
    test_case(landmarks_far_from_what_images_show, "landmarks far from what images show");
    test_case(landmarks_that_are_none, "landmarks that are none");
    test_tear_down(tear_down);
    return test_run("points", harness_close);
}
