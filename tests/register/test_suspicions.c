/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of an input or a result are reported, and right ones are not. */
#include <math.h>

#include "base/matrix.h"
#include "check.h"
#include "clvox/registration.h"
#include "register/pair.h"
#include "register/register.h"

static clvox_context *ctx;
static pair shared;

static int pair_set_up(void **state)
{
    (void)state;
    pair_make(&shared, (int[3]){36, 44, 33}, (double[3]){4, 3.5, 4}, false, 4, 11);
    return 0;
}

/* The suspicions of a run with few iterations. */
static unsigned suspicions(const clvox_volume *fixed, const clvox_volume *moving, clvox_deform deform, double shrink,
                           double step)
{
    clvox_register_options o;
    clvox_register_result r;
    clvox_register_defaults(&o);
    o.deform = deform;
    clvox_register_preset(&o, CLVOX_PRESET_QUICK);
    o.levels = 1;
    o.shrink[0] = shrink;
    o.iterations[0] = 10;
    o.step = o.finest_step = step;
    o.consistency = 0;
    assert_ok(pair_register(ctx, fixed, moving, NULL, NULL, &o, &r));
    unsigned found = r.suspicions;
    clvox_register_result_destroy(&r);
    return found;
}

static void a_good_pair(void **state)
{
    (void)state;
    assert_true(suspicions(shared.fixed, shared.moving, CLVOX_DEFORM_SYN, 1, 1) == 0);
    assert_true(suspicions(shared.fixed, shared.fixed, CLVOX_DEFORM_GREEDY, 1, 1) == 0); /* nothing to gain */
}

/* The affine of a run on such headers, in the world of the moving image as it was before its header was
 * multiplied by moved, and the suspicions. */
static unsigned through(const clvox_volume *moving, clvox_metric metric, const double moved[4][4],
                        double matrix[4][4])
{
    clvox_volume other = *moving;
    clvox_register_options o;
    clvox_register_result r;
    double back[4][4];
    clv_matrix_multiply(moved, CLV_MATRIX(moving->grid.to_ras), other.grid.to_ras);
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_NONE;
    o.linear_metric = metric;
    assert_ok(pair_register(ctx, shared.fixed, &other, NULL, NULL, &o, &r));
    assert_int_equal(clv_matrix_invert(moved, back), 0);
    clv_matrix_multiply(CLV_MATRIX(back), CLV_MATRIX(r.matrix), matrix);
    unsigned found = r.suspicions;
    clvox_register_result_destroy(&r);
    return found;
}

/* mm between two affines at the corners of the fixed image, at most. */
static double apart(const double a[4][4], const double b[4][4])
{
    double most = 0;
    for (int k = 0; k < 8; k++) {
        double corner[3], at[3], p[3], q[3];
        for (int i = 0; i < 3; i++)
            at[i] = k >> i & 1 ? shared.fixed_grid.size[i] - 1 : 0;
        clv_matrix_apply(CLV_MATRIX(shared.fixed_grid.to_ras), at, corner);
        clv_matrix_apply(a, corner, p);
        clv_matrix_apply(b, corner, q);
        most = fmax(most, hypot(hypot(p[0] - q[0], p[1] - q[1]), p[2] - q[2]));
    }
    return most;
}

/* Turned in the world about the centre of the grid, by 180 degrees about an axis of the world or an oblique
 * one: found all the same, and no reason for suspicion. */
static void a_turned_header(void **state)
{
    (void)state;
    static const double axes[3][3] = {{0, 0, 1}, {1, 0, 0}, {.267261, .534522, .801784}};
    double as_is[4][4], found[4][4], moved[4][4], centre[3];
    const int *size = shared.moving_grid.size;
    clv_matrix_identity(moved);
    assert_int_equal(through(shared.moving, CLVOX_METRIC_MI, CLV_MATRIX(moved), as_is), 0);
    clv_matrix_apply(CLV_MATRIX(shared.moving_grid.to_ras),
                     (double[3]){.5 * (size[0] - 1), .5 * (size[1] - 1), .5 * (size[2] - 1)}, centre);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) {
            moved[i][3] = centre[i];
            for (int j = 0; j < 3; j++) {
                moved[i][j] = 2 * axes[k][i] * axes[k][j] - (i == j);
                moved[i][3] -= moved[i][j] * centre[j];
            }
        }
        unsigned doubts = through(shared.moving, CLVOX_METRIC_MI, CLV_MATRIX(moved), found);
        assert_that(doubts == 0 && apart(CLV_MATRIX(found), CLV_MATRIX(as_is)) < 2, "%d: %#x, %g mm", k, doubts,
                    apart(CLV_MATRIX(found), CLV_MATRIX(as_is)));
    }
}

/* A header in centimetres, or in inches: the affine scales by that, which is said. By metrics above and
 * below 0. */
static void other_units(void **state)
{
    (void)state;
    static const struct {
        double unit;
        clvox_metric metric;
    } cases[] = {
        {.1, CLVOX_METRIC_MI}, {1 / 25.4, CLVOX_METRIC_MI}, {10, CLVOX_METRIC_MI}, {.1, CLVOX_METRIC_SSD}};
    double as_is[4][4], found[4][4], moved[4][4], none[4][4];
    clv_matrix_identity(none);
    clv_matrix_identity(moved);
    for (int k = 0; k < 4; k++) {
        if (k == 0 || cases[k].metric != cases[k - 1].metric)
            through(shared.moving, cases[k].metric, CLV_MATRIX(none), as_is);
        for (int i = 0; i < 3; i++)
            moved[i][i] = cases[k].unit;
        unsigned doubts = through(shared.moving, cases[k].metric, CLV_MATRIX(moved), found);
        const double mm = apart(CLV_MATRIX(found), CLV_MATRIX(as_is));
        assert_that(doubts == CLVOX_SUSPECT_SCALE && mm < 3, "%d: %#x, %g mm", k, doubts, mm);
    }
}

/* A small part of the other image, at its place, is not taken for the whole in other units. */
static void a_part(void **state)
{
    (void)state;
    enum { SIDE = 9 };
    clvox_volume *part;
    clvox_grid grid = shared.moving_grid;
    const int *size = shared.moving_grid.size, from[3] = {10, 14, 12};
    double corner[3], as_is[4][4], found[4][4], none[4][4];
    clv_matrix_apply(CLV_MATRIX(grid.to_ras), (double[3]){from[0], from[1], from[2]}, corner);
    for (int i = 0; i < 3; i++) {
        grid.size[i] = SIDE;
        grid.to_ras[i][3] = corner[i];
    }
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &part));
    for (int i = 0; i < SIDE * SIDE * SIDE; i++) {
        int x = from[0] + i % SIDE, y = from[1] + i / SIDE % SIDE, z = from[2] + i / SIDE / SIDE;
        part->data[i] = shared.moving->data[x + size[0] * (y + (size_t)size[1] * z)];
    }
    clv_matrix_identity(none);
    through(shared.moving, CLVOX_METRIC_MI, CLV_MATRIX(none), as_is);
    through(part, CLVOX_METRIC_MI, CLV_MATRIX(none), found);
    assert_that(cbrt(clv_matrix_determinant(CLV_MATRIX(found))) > .5, "scaled by %g",
                cbrt(clv_matrix_determinant(CLV_MATRIX(found))));
    clvox_volume_destroy(&part);
}

/* An image with its first axis, from right to left, the other way round in the voxels. */
static clvox_volume *other_way_round(const clvox_volume *from)
{
    clvox_volume *to;
    const int n = from->grid.size[0];
    assert_ok(clvox_volume_create(&from->grid, 1, CLVOX_KIND_SCALAR, &to));
    for (size_t i = 0; i < clvox_grid_voxels(&from->grid); i++)
        to->data[i] = from->data[i / (size_t)n * (size_t)n + (size_t)(n - 1) - i % (size_t)n];
    return to;
}

static double in_place(double value)
{
    return value;
}

static double in_another_contrast(double value)
{
    return value > .05 ? 1.1 - value : value;
}

static void recolour(clvox_volume *volume, double (*of)(double))
{
    for (size_t i = 0; i < clvox_grid_voxels(&volume->grid); i++)
        volume->data[i] = (float)of((double)volume->data[i]);
}

/* Left and right exchanged in the voxels, of whatever contrast and by whatever linear part with rotations,
 * or by the header, turned as well or not. */
static void exchanged_sides(void **state)
{
    (void)state;
    static double (*const contrasts[])(double) = {in_place, in_another_contrast};
    static const clvox_linear kinds[] = {CLVOX_LINEAR_AFFINE, CLVOX_LINEAR_RIGID};
    static const double headers[2][3][3] = {{{-1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
                                            {{0, 1, 0}, {1, 0, 0}, {0, 0, 1}}};
    double found[4][4], moved[4][4];
    for (int k = 0; k < 4; k++) {
        clvox_register_options o;
        clvox_volume *as_is = other_way_round(shared.moving), *exchanged = other_way_round(as_is),
                     *swap = as_is;
        as_is = exchanged;
        exchanged = swap;
        recolour(as_is, contrasts[k / 2]);
        recolour(exchanged, contrasts[k / 2]);
        clvox_register_defaults(&o);
        o.deform = CLVOX_DEFORM_NONE;
        o.linear = kinds[k % 2];
        for (int side = 0; side < 2; side++) {
            clvox_register_result r;
            assert_ok(pair_register(ctx, shared.fixed, side ? exchanged : as_is, NULL, NULL, &o, &r));
            assert_that(!!(r.suspicions & CLVOX_SUSPECT_MIRRORED) == side, "%d, %d: %#x", k, side,
                        r.suspicions);
            clvox_register_result_destroy(&r);
        }
        clvox_volume_destroy(&as_is);
        clvox_volume_destroy(&exchanged);
    }
    clv_matrix_identity(moved);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 9; i++)
            moved[i / 3][i % 3] = headers[k][i / 3][i % 3];
        assert_int_equal(through(shared.moving, CLVOX_METRIC_MI, CLV_MATRIX(moved), found),
                         CLVOX_SUSPECT_MIRRORED);
    }
}

/* Images whose halves are alike, and those too small to tell, are no mirror images. */
static void alike_sides(void **state)
{
    (void)state;
    static const int tiny[3] = {9, 10, 8};
    static const double edge[3] = {4, 4, 4};
    clvox_register_options o;
    clvox_volume *image[2];
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_NONE;
    for (int k = 0; k < 2; k++) {
        const clvox_volume *from = k ? shared.moving : shared.fixed;
        image[k] = other_way_round(from);
        for (size_t i = 0; i < clvox_grid_voxels(&from->grid); i++)
            image[k]->data[i] = .5f * (image[k]->data[i] + from->data[i]);
    }
    clvox_register_result r;
    assert_ok(pair_register(ctx, image[0], image[1], NULL, NULL, &o, &r));
    assert_int_equal(r.suspicions & CLVOX_SUSPECT_MIRRORED, 0);
    clvox_register_result_destroy(&r);
    for (int k = 0; k < 2; k++)
        clvox_volume_destroy(&image[k]);
    pair small;
    pair_make(&small, tiny, edge, false, 1, 5);
    image[0] = other_way_round(small.moving);
    assert_int_equal(suspicions(small.fixed, image[0], CLVOX_DEFORM_NONE, 1, 1) & CLVOX_SUSPECT_MIRRORED, 0);
    clvox_volume_destroy(&image[0]);
    pair_free(&small);
}

static void one_voxel(void **state)
{
    (void)state;
    clvox_volume *one;
    assert_ok(clvox_volume_create(&shared.moving_grid, 1, CLVOX_KIND_SCALAR, &one));
    one->data[clvox_grid_voxels(&one->grid) / 2 + 7] = 1;
    assert_true(suspicions(shared.fixed, one, CLVOX_DEFORM_NONE, 1, 1) & CLVOX_SUSPECT_SPARSE);
    assert_true(suspicions(one, shared.moving, CLVOX_DEFORM_NONE, 1, 1) & CLVOX_SUSPECT_SPARSE);
    clvox_volume_destroy(&one);
}

static void too_few_voxels(void **state)
{
    (void)state;
    assert_true(suspicions(shared.fixed, shared.moving, CLVOX_DEFORM_SYN, 8, 1) & CLVOX_SUSPECT_COARSE);
    assert_true(!(suspicions(shared.fixed, shared.moving, CLVOX_DEFORM_SYN, 4, 1) & CLVOX_SUSPECT_COARSE));
}

/* Images of one world and one content each. */
static void too_small_images(void **state)
{
    (void)state;
    for (int n = 4; n <= 10; n += 2) {
        pair p;
        clvox_register_options o;
        clvox_register_result r;
        pair_make(&p, (int[3]){n, n, n}, (double[3]){2, 2, 2}, false, 0, 1);
        p.moving->grid.to_ras[0][3] += 2;
        clvox_register_defaults(&o);
        o.deform = CLVOX_DEFORM_NONE;
        o.linear = CLVOX_LINEAR_RIGID;
        assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
        assert_that(((r.suspicions & CLVOX_SUSPECT_COARSE) != 0) == (n < 8), "%d: %u", n, r.suspicions);
        clvox_register_result_destroy(&r);
        pair_free(&p);
    }
}

/* Beyond any scanner: refused, and which number of the header. */
static void an_origin_far_away(void **state)
{
    (void)state;
    clvox_register_options o;
    clvox_register_result r;
    clvox_volume far = *shared.moving;
    far.grid.to_ras[1][3] = -1.5e5;
    clvox_register_defaults(&o);
    assert_int_equal(pair_register(ctx, shared.fixed, &far, NULL, NULL, &o, &r), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), "moving image"));
    assert_non_null(strstr(clvox_message(), "srow_y"));
    assert_int_equal(pair_register(ctx, &far, shared.moving, NULL, NULL, &o, &r), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), "fixed image"));
}

static void levels_undone(void **state)
{
    (void)state;
    assert_true(suspicions(shared.fixed, shared.moving, CLVOX_DEFORM_SYN, 1, 1000) & CLVOX_SUSPECT_STILL);
    assert_true(suspicions(shared.fixed, shared.moving, CLVOX_DEFORM_GREEDY, 1, 1000) & CLVOX_SUSPECT_STILL);
}

/* Whether a deformation costs too much, by numbers alone: coarse images are not there to tell otherwise. */
static bool unlike(clvox_metric metric, bool synthesized, double gain, double sd_log, double content)
{
    bool found;
    clvox_register_options o = {.deform = CLVOX_DEFORM_SYN, .metric = metric};
    clv_registration run = {.options = &o, .fixed_grid = shared.fixed_grid, .moving_grid = shared.fixed_grid};
    const clvox_register_result r = {.metric_linear = .1, .metric_after = .1 + gain, .jacobian = {.sd_log = sd_log}};
    run.channels[0].made = synthesized ? CLV_MADE_FIXED : CLV_AS_READ;
    assert_ok(clv_quality_unlike(&run, content, &r, &found));
    return found;
}

static void what_a_deformation_costs(void **state)
{
    (void)state;
    assert_false(unlike(CLVOX_METRIC_LNCC, false, .3, .28, .33));
    /* As much volume has to change where the gain is half of it. */
    assert_true(unlike(CLVOX_METRIC_LNCC, false, .15, .43, .33));
    assert_false(unlike(CLVOX_METRIC_LNCC, false, .001, .05, .33));
    assert_false(unlike(CLVOX_METRIC_MIND, false, .015, .21, .33));
    assert_true(unlike(CLVOX_METRIC_MIND, false, .012, .21, .33));
    assert_false(unlike(CLVOX_METRIC_MIND, false, .0001, .05, .33));
    assert_false(unlike(CLVOX_METRIC_NCC, false, 0, .43, .33));
    /* Synthesis makes what is unrelated look alike, but not for as little as two heads. */
    assert_true(unlike(CLVOX_METRIC_LNCC, true, .0105, .26, .33));
    assert_false(unlike(CLVOX_METRIC_LNCC, true, .0199, .26, .33));
    assert_false(unlike(CLVOX_METRIC_LNCC, true, -.001, .05, .33));
}

/* A magnitude image of it, with Gaussian noise of sigma in either channel. */
static clvox_volume *with_noise(const clvox_volume *from, double sigma, uint64_t seed)
{
    clvox_volume *to;
    assert_ok(clvox_volume_create(&from->grid, 1, CLVOX_KIND_SCALAR, &to));
    for (size_t i = 0; i < clvox_grid_voxels(&from->grid); i++)
        to->data[i] = (float)hypot((double)from->data[i] + sigma * clv_phantom_normal(seed, 2 * i),
                                   sigma * clv_phantom_normal(seed, 2 * i + 1));
    return to;
}

/* Noise on a head as it is, which hides what the deformation gains, and on one that lies elsewhere and
 * stays there. */
static void noise(void **state)
{
    (void)state;
    static const struct {
        double sigma, away;
        bool mask;
        unsigned suspicions;
    } cases[] = {{12, 0, false, 0},
                 {48, 0, false, 0},
                 {0, 40, false, CLVOX_SUSPECT_UNLIKE},
                 {24, 40, false, CLVOX_SUSPECT_UNLIKE},
                 {24, 40, true, CLVOX_SUSPECT_UNLIKE}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        clvox_volume *image = with_noise(shared.moving, cases[k].sigma, 3);
        clvox_register_options o;
        clvox_register_result r;
        clvox_register_defaults(&o);
        o.by_contrast = 0;
        o.linear = cases[k].away > 0 ? CLVOX_LINEAR_NONE : CLVOX_LINEAR_AFFINE;
        o.init = cases[k].away > 0 ? CLVOX_INIT_HEADER : CLVOX_INIT_AUTO;
        image->grid.to_ras[1][3] += cases[k].away;
        image->grid.to_ras[2][3] += .75 * cases[k].away;
        assert_ok(
            pair_register(ctx, shared.fixed, image, cases[k].mask ? shared.labels : NULL, NULL, &o, &r));
        assert_that(r.suspicions == cases[k].suspicions, "%d: %#x", (int)k, r.suspicions);
        clvox_volume_destroy(&image);
        clvox_register_result_destroy(&r);
    }
}

/* Judges by the affine's scales alone. */
static void uneven_scales(void **state)
{
    (void)state;
    static const double scales[4][3] = {{1.17, .95, .93}, {1.21, .95, .93}, {2.1, 2.1, 2}, {.55, .9, .94}};
    clvox_register_options o = {.linear = CLVOX_LINEAR_AFFINE};
    for (int k = 0; k < 4; k++) {
        clv_registration run = {.options = &o, .fixed_grid = shared.fixed_grid, .moving_grid = shared.fixed_grid};
        clvox_register_result r = {.metric_before = .1, .metric_linear = .2, .metric_after = .2};
        clv_matrix_identity(run.matrix);
        for (int i = 0; i < 3; i++)
            run.matrix[i][i] = scales[k][i];
        clv_quality_control(&run, &(clv_register_evidence){0}, &r);
        assert_that(!!(r.suspicions & CLVOX_SUSPECT_SCALE) == (k > 0), "%d: %#x", k, r.suspicions);
    }
}

static int tear_down(void **state)
{
    (void)state;
    pair_free(&shared);
    clvox_context_destroy(&ctx);
    return 0;
}

int main(void)
{
    if (clvox_context_create(NULL, &ctx) < 0)
        return test_skip_all("%s", clvox_message());
    test_set_up(pair_set_up);
    test_case(what_a_deformation_costs, "a deformation that costs more than it brings is reported");
    test_case(noise, "noise alone is no reason for suspicion");
    test_case(uneven_scales, "scales that no two heads have are suspicious");
    test_case(a_good_pair, "a good pair has no suspicions, nor have an image and itself");
    test_case(a_turned_header, "a header that is turned by 180 degrees is found");
    test_case(other_units, "a header in other units is found and reported");
    test_case(a_part, "a small part of a head is no head in other units");
    test_case(exchanged_sides, "left and right exchanged are reported, and only then");
    test_case(alike_sides, "symmetric images and tiny ones are not called mirrored");
    test_case(one_voxel, "an image with one voxel is called too little");
    test_case(too_small_images, "images of fewer than eight voxels along every axis");
    test_case(an_origin_far_away, "an origin beyond 100 m");
    test_case(too_few_voxels, "too few voxels at the finest level are called too few");
    test_case(levels_undone, "levels that were all undone are reported");
    return test_run("suspicions", tear_down);
}
