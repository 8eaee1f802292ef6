/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanging fixed and moving gives the inverse: the same computation is done in
 * either order, and all that is reported is of the order asked for. */
#include <stdint.h>

#include "base/matrix.h"
#include "check.h"
#include "clvox/registration.h"
#include "register/pair.h"

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
    check_must(clv_phantom_labels(&p->phantom, &p->moving_grid, NULL, NULL, &labels));
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
static void both_orders(void)
{
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
        {"two masks, two channels", CLVOX_DEFORM_SYN, CLVOX_METRIC_LNCC, CLVOX_LINEAR_SIMILARITY,
         .channels = 2, .fixed_mask = true, .moving_mask = true},
        {"levels that end coarser", CLVOX_DEFORM_SYN, CLVOX_METRIC_LNCC, CLVOX_LINEAR_NONE, .channels = 1,
         .given = true, .coarse = true},
        {"the affine alone", CLVOX_DEFORM_NONE, CLVOX_METRIC_MI, CLVOX_LINEAR_AFFINE, .channels = 1},
        {"greedy's affine", CLVOX_DEFORM_GREEDY, CLVOX_METRIC_LNCC, CLVOX_LINEAR_AFFINE, .channels = 1},
    };
    pair p;
    double inverse[4][4];
    pair_apart(&p, 3, 31);
    clvox_volume *other = moving_labels(&p);
    check_must(clv_matrix_invert(CLV_MATRIX(p.matrix), inverse));
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const setting *s = &settings[i];
        const clvox_register_images images = {.fixed = {p.fixed, p.fixed}, .moving = {p.moving, p.moving},
                                              .weight = {1, .5}, .channels = s->channels,
                                              .fixed_mask = s->fixed_mask ? p.labels : NULL,
                                              .moving_mask = s->moving_mask ? other : NULL};
        const clvox_register_images exchanged = {.fixed = {p.moving, p.moving}, .moving = {p.fixed, p.fixed},
                                                 .weight = {1, .5}, .channels = s->channels,
                                                 .fixed_mask = images.moving_mask,
                                                 .moving_mask = images.fixed_mask};
        clvox_register_options o;
        clvox_register_result there, back;
        double largest[4] = {0}, affine[2];
        CHECK_CASE("exchanged: %s", s->name);
        options_of(s, CLV_MATRIX(p.matrix), &o);
        check_must(clvox_register(ctx, &images, &o, &there));
        size_t predicted[2] = {clvox_register_bytes(&images, &o), clvox_register_bytes(&exchanged, &o)};
        options_of(s, CLV_MATRIX(inverse), &o);
        check_must(clvox_register(ctx, &exchanged, &o, &back));
        bool syn = s->deform == CLVOX_DEFORM_SYN;
        double first = pair_there_and_back(&there, &back, p.labels, &largest[0]);
        double second = pair_there_and_back(&back, &there, other, &largest[1]);
        clvox_register_result only[2] = {there, back};
        only[0].warp = only[1].warp = NULL;
        affine[0] = pair_there_and_back(&only[0], &only[1], p.labels, &largest[2]);
        affine[1] = pair_there_and_back(&only[1], &only[0], other, &largest[3]);
        printf("# there and back %.4f, %.4f voxels (%.3f, %.3f at most); affine %.5f, %.5f\n", first, second,
               largest[0], largest[1], affine[0], affine[1]);
        printf("# moved %.3f, %.3f mm; inverse %.4f, %.4f; metric %.4g %.4g %.4g, %.4g %.4g %.4g\n",
               there.mean_mm, back.mean_mm, there.inverse_error_voxels[1], back.inverse_error_voxels[1],
               there.metric_before, there.metric_linear, there.metric_after, back.metric_before,
               back.metric_linear, back.metric_after);
        CHECK_THAT(affine[0] <= 1e-4 && affine[1] <= 1e-4, "%.5f, %.5f", affine[0], affine[1]);
        CHECK(there.device_bytes <= predicted[0] && back.device_bytes <= predicted[1]);
        CHECK(there.exchanged + back.exchanged == syn);
        /* A mask alone comes first, else fewer voxels do: those of the fixed image. */
        CHECK(there.exchanged == (syn && s->moving_mask && !s->fixed_mask));
        if (s->given && s->linear == CLVOX_LINEAR_NONE)
            CHECK(!memcmp(there.matrix, p.matrix, sizeof inverse) &&
                  !memcmp(back.matrix, inverse, sizeof inverse));
        CHECK(clvox_grid_equal(&there.warped->grid, &p.fixed_grid) &&
              clvox_grid_equal(&back.warped->grid, &p.moving_grid));
        CHECK(there.ncc_after > there.ncc_before && back.ncc_after > back.ncc_before);
        if (syn) {
            CHECK_THAT(first <= .1 && second <= .1, "%.4f, %.4f", first, second);
            CHECK(there.inverse_error_voxels[1] < .05 && back.inverse_error_voxels[1] < .05);
            CHECK(there.jacobian.folded == 0 && back.jacobian.folded == 0 && back.jacobian.smallest > 0);
            CHECK(clvox_grid_equal(&there.warp->grid, &p.fixed_grid) &&
                  clvox_grid_equal(&back.warp->grid, &p.moving_grid) &&
                  clvox_grid_equal(&back.inverse_warp->grid, &p.moving_grid));
            CHECK(there.mean_mm > .1 && back.mean_mm > .1);
        }
        clvox_register_result_free(&there);
        clvox_register_result_free(&back);
    }
    clvox_volume_destroy(&other);
    pair_free(&p);
}

/* What the run from the other image says of itself is what its own files say. */
static void own_numbers(void)
{
    pair p;
    clvox_register_options o;
    clvox_register_result a, b;
    clvox_volume *warped;
    pair_apart(&p, 3, 37);
    double inverse[4][4], largest;
    check_must(clv_matrix_invert(CLV_MATRIX(p.matrix), inverse));
    pair_options(&o, CLVOX_DEFORM_SYN, CLVOX_METRIC_NCC);
    o.init = CLVOX_INIT_MATRIX;
    o.inverse = 1;
    clv_matrix_copy(CLV_MATRIX(inverse), o.matrix);
    clvox_volume *mask = moving_labels(&p);
    CHECK_CASE("the result of the exchanged run is of the images as given");
    check_must(pair_register(ctx, p.moving, p.fixed, NULL, NULL, &o, &a));
    CHECK(a.exchanged);
    const clvox_transform warp = {.is_warp = 1, .warp = a.warp};
    clvox_transform affine = {.is_warp = 0};
    clv_matrix_copy(CLV_MATRIX(a.matrix), affine.matrix);
    const clvox_link links[2] = {{&warp, 0}, {&affine, 0}};
    check_must(clvox_apply(ctx, p.fixed, &p.moving_grid, links, 2, CLVOX_INTERPOLATE_LINEAR, 0, &warped));
    double off = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&p.moving_grid); i++)
        off = fmax(off, fabs((double)warped->data[i] - (double)a.warped->data[i]));
    CHECK_THAT(off < .5, "the warped image is %.3f away from its warp's", off);
    clvox_volume *jacobian;
    clvox_jacobian_summary summary;
    check_must(clvox_jacobian(ctx, a.warp, NULL, 1, &jacobian, &summary));
    CHECK_THAT(fabs(summary.sd_log - a.jacobian.sd_log) < 1e-4 &&
                   fabs(summary.smallest - a.jacobian.smallest) < 1e-3,
               "%.4f, %.4f", summary.sd_log, summary.smallest);
    double there = pair_detour(a.warp, a.inverse_warp, mask, &largest);
    printf("# warp and inverse %.4f voxels, %.4f at most; stated %.4f\n", there, largest,
           a.inverse_error_voxels[1]);
    CHECK_THAT(there <= .03 && largest <= .4, "%.4f, %.4f", there, largest);
    CHECK(a.ncc_after > a.ncc_linear);

    CHECK_CASE("the exchanged run gives the same bits twice");
    check_must(pair_register(ctx, p.moving, p.fixed, NULL, NULL, &o, &b));
    size_t n = clvox_grid_voxels(&p.moving_grid) * sizeof(float);
    CHECK(!memcmp(a.warp->data, b.warp->data, 3 * n) && !memcmp(a.warped->data, b.warped->data, n));
    CHECK(!memcmp(a.inverse_warp->data, b.inverse_warp->data, 3 * n) && a.metric_after == b.metric_after);
    clvox_volume_destroy(&jacobian);
    clvox_volume_destroy(&warped);
    clvox_volume_destroy(&mask);
    clvox_register_result_free(&a);
    clvox_register_result_free(&b);
    pair_free(&p);
}

/* A template at 1.3 mm and a scan at 2 mm: the deformation stays on the fixed grid. */
static void other_grids(void)
{
    pair p;
    clvox_register_options o;
    clvox_register_result there, back;
    double largest, unit[4][4], product[4][4], off = 0;
    clv_phantom_grid((int[3]){41, 43, 37}, (double[3]){1.3, 1.3, 1.3}, true, &p.fixed_grid);
    clv_phantom_grid((int[3]){28, 30, 25}, (double[3]){2, 2, 2}, false, &p.moving_grid);
    clv_matrix_identity(p.matrix);
    pair_fill(&p, 3, 41);
    double before = pair_start(&p, NULL);
    pair_options(&o, CLVOX_DEFORM_SYN, CLVOX_METRIC_LNCC);
    o.init = CLVOX_INIT_AUTO;
    o.linear = CLVOX_LINEAR_AFFINE;
    CHECK_CASE("grids that are not comparable: each order on its fixed grid, the affine of both one");
    check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &there));
    check_must(pair_register(ctx, p.moving, p.fixed, NULL, NULL, &o, &back));
    clv_matrix_multiply(CLV_MATRIX(back.matrix), CLV_MATRIX(there.matrix), product);
    clv_matrix_identity(unit);
    for (int i = 0; i < 12; i++)
        off = fmax(off, fabs(product[i / 4][i % 4] - unit[i / 4][i % 4]));
    double mean = pair_error(&p, &there, NULL, &largest);
    printf("# %.3f voxels before, %.3f after; affine %.2g\n", before, mean, off);
    CHECK(!there.exchanged && !back.exchanged && off < 1e-6);
    CHECK_THAT(mean < .6 * before, "%.3f of the start", mean / before);
    clvox_register_result_free(&there);
    clvox_register_result_free(&back);
    pair_free(&p);
}

/* On one grid, contents decide: a pair in both orders, and an image with itself. */
static void one_grid(void)
{
    pair p;
    clvox_register_options o;
    clvox_register_result a, b;
    double largest;
    pair_make(&p, (int[3]){43, 40, 37}, (double[3]){1, 1, 1.2}, true, 2.5, 61);
    pair_options(&o, CLVOX_DEFORM_SYN, CLVOX_METRIC_SSD);
    o.inverse = 1;
    CHECK_CASE("on one grid, without an affine, the exchanged map is the inverse");
    check_must(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &a));
    check_must(pair_register(ctx, p.moving, p.fixed, NULL, NULL, &o, &b));
    CHECK(a.exchanged + b.exchanged == 1);
    double apart = pair_distance(a.inverse_warp, b.warp, NULL, &largest);
    printf("# inverse and exchanged %.5f voxels apart, %.4f at most\n", apart, largest);
    CHECK_THAT(apart <= .005 && largest <= .2, "%.5f, %.4f", apart, largest);
    CHECK(fabs(a.ncc_before - b.ncc_before) < 1e-5);
    clvox_register_result_free(&a);
    clvox_register_result_free(&b);
    CHECK_CASE("an image and itself");
    check_must(pair_register(ctx, p.moving, p.moving, NULL, NULL, &o, &a));
    CHECK_THAT(a.largest_mm < .01, "%g mm", a.largest_mm);
    clvox_register_result_free(&a);
    pair_free(&p);
}

int main(void)
{
    if (clvox_context_create(NULL, &ctx) < 0) {
        printf("1..0 # SKIP %s\n", clvox_message());
        return 0;
    }
    both_orders();
    own_numbers();
    other_grids();
    one_grid();
    clvox_context_destroy(&ctx);
    return check_end();
}
