/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with an input or a result is said, and what is right is not. */
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
    clvox_register_result_free(&r);
    return found;
}

static void a_good_pair(void **state)
{
    (void)state;
    assert_true(suspicions(shared.fixed, shared.moving, CLVOX_DEFORM_SYN, 1, 1) == 0);
    assert_true(suspicions(shared.fixed, shared.fixed, CLVOX_DEFORM_GREEDY, 1, 1) == 0); /* nothing to gain */
}

/* Turned in the world about the centre of the grid, by 180 degrees about one axis or another. */
static void a_turned_header(void **state)
{
    (void)state;
    static const double turns[2][3][3] = {{{-1, 0, 0}, {0, -1, 0}, {0, 0, 1}}, {{1, 0, 0}, {0, -1, 0}, {0, 0, -1}}};
    for (int k = 0; k < 2; k++) {
        clvox_volume turned = *shared.moving;
        double centre[3], moved[4][4];
        const int *size = turned.grid.size;
        clv_matrix_apply(CLV_MATRIX(turned.grid.to_ras),
                         (double[3]){.5 * (size[0] - 1), .5 * (size[1] - 1), .5 * (size[2] - 1)}, centre);
        clv_matrix_identity(moved);
        for (int i = 0; i < 3; i++) {
            moved[i][3] = centre[i];
            for (int j = 0; j < 3; j++) {
                moved[i][j] = turns[k][i][j];
                moved[i][3] -= turns[k][i][j] * centre[j];
            }
        }
        clv_matrix_multiply(CLV_MATRIX(moved), CLV_MATRIX(turned.grid.to_ras), turned.grid.to_ras);
        unsigned found = suspicions(shared.fixed, &turned, CLVOX_DEFORM_NONE, 1, 1);
        assert_that(found & CLVOX_SUSPECT_TURNED, "%d: %#x", k, found);
    }
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

static void levels_undone(void **state)
{
    (void)state;
    assert_true(suspicions(shared.fixed, shared.moving, CLVOX_DEFORM_SYN, 1, 1000) & CLVOX_SUSPECT_STILL);
    assert_true(suspicions(shared.fixed, shared.moving, CLVOX_DEFORM_GREEDY, 1, 1000) & CLVOX_SUSPECT_STILL);
}

/* Of numbers alone: the correlation, and what a deformation costs. */
static unsigned judged(clvox_metric metric, const double ncc[3], double gain, double sd_log, double content)
{
    const clvox_register_options o = {.linear = CLVOX_LINEAR_AFFINE, .deform = CLVOX_DEFORM_SYN, .metric = metric};
    clv_registration run = {.options = &o, .fixed_grid = shared.fixed_grid, .moving_grid = shared.fixed_grid};
    clvox_register_result r = {.metric_before = .1, .metric_linear = .1, .metric_after = .1 + gain,
                               .ncc_before = ncc[0], .ncc_linear = ncc[1], .ncc_after = ncc[2],
                               .jacobian = {.sd_log = sd_log}, .largest_mm = 3};
    clv_matrix_identity(run.matrix);
    clv_register_judge(&run, content, &r);
    return r.suspicions;
}

static void measures_that_were_not_optimised(void **state)
{
    (void)state;
    static const double rises[3] = {.4, .6, .7}, linear_falls[3] = {.6, .5, .7}, falls[3] = {.4, .6, .5};
    assert_true(judged(CLVOX_METRIC_LNCC, rises, .3, .28, .33) == 0);
    assert_true(judged(CLVOX_METRIC_LNCC, linear_falls, .3, .28, .33) == CLVOX_SUSPECT_UNLIKE);
    assert_true(judged(CLVOX_METRIC_MI, falls, .3, .28, .33) == CLVOX_SUSPECT_UNLIKE);
    /* As much volume has to change where the gain is half of it. */
    assert_true(judged(CLVOX_METRIC_LNCC, rises, .15, .43, .33) == CLVOX_SUSPECT_UNLIKE);
    assert_true(judged(CLVOX_METRIC_LNCC, rises, .01, .05, .33) == 0);
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
    test_case(measures_that_were_not_optimised, "measures that were not optimised speak against a result");
    test_case(a_good_pair, "nothing is said of a good pair, nor of an image and itself");
    test_case(a_turned_header, "a header that is turned by 180 degrees is found");
    test_case(one_voxel, "an image with one voxel is called too little");
    test_case(too_few_voxels, "too few voxels at the finest level are called too few");
    test_case(levels_undone, "levels that were all undone are said");
    return test_run("suspicions", tear_down);
}
