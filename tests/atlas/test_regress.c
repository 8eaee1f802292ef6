/* SPDX-License-Identifier: Apache-2.0 */
/* Templates along a covariate. */
#include "atlas/population.h"
#include "base/matrix.h"
#include "op/harness.h"
#include "register/pair.h"

static clvox_context *ctx;

typedef struct taken {
    clvox_volume *average[3], *labels[3];
    double share[3][POPULATION_MOST], matrix[3][POPULATION_MOST][4][4];
    int calls, figures, rounds[3];
} taken;

static int take(void *user, int at, const clvox_atlas_result *r)
{
    taken *t = user;
    t->calls++;
    t->rounds[at] = r->rounds;
    for (int i = 0; i < r->subjects; i++) {
        t->share[at][i] = r->map[i].share;
        clv_matrix_copy(CLV_MATRIX(r->map[i].matrix), t->matrix[at][i]);
    }
    if (!r->average) {
        t->figures++;
        return CLVOX_OK;
    }
    clvox_volume_destroy(&t->average[at]);
    t->average[at] = population_copy(r->average);
    assert_true(!r->map[0].warp == !(r->map[0].share > 0) || !r->round[r->rounds - 1].deformable);
    return CLVOX_OK;
}

static void release_taken(taken *t)
{
    for (int i = 0; i < 3; i++)
        clvox_volume_destroy(&t->average[i]);
    *t = (taken){.calls = 0};
}

/* Radii that grow with the age: a template's is that of the mean age under its kernel. */
static void balls_that_grow(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    taken t = {.calls = 0};
    static const int size[3] = {27, 25, 26};
    static const double age[5] = {0, 1, 2, 3, 4}, at[2] = {2, 3.5};
    const clvox_atlas_regression along = {
        .covariate = age, .at = at, .count = 2, .bandwidth = .7, .ready = take, .user = &t};
    (void)state;
    for (int i = 0; i < 5; i++)
        population_add(&all, population_ball(size, 11 + 2 * age[i]));
    population_options_of_balls(&o);
    o.rounds = 2;
    assert_ok(clvox_atlas_regress(ctx, all.s, all.count, NULL, &o, &along));
    assert_int_equal(t.calls, 2);
    for (int k = 0; k < 2; k++) {
        double mean = 0, sum = 0;
        for (int i = 0; i < 5; i++) {
            const double kernel = exp(-(age[i] - at[k]) * (age[i] - at[k]) / (2 * .7 * .7));
            mean += t.share[k][i] * age[i];
            sum += t.share[k][i];
            assert_that(kernel < 1e-3 ||
                            fabs(t.share[k][i] / t.share[k][2] -
                                 kernel / exp(-(2 - at[k]) * (2 - at[k]) / (2 * .7 * .7))) < 1e-5,
                        "share %g", t.share[k][i]);
        }
        assert_float_equal(sum, 1, 1e-12);
        const double found = population_radius(t.average[k]), want = 11 + 2 * mean;
        assert_that(fabs(found - want) < .5, "at %g the radius is %g, not %g", at[k], found, want);
    }
    assert_true(t.share[1][0] == 0); /* too far */
    release_taken(&t);
    population_release(&all);
}

/* Affines are shared, and their mean under a template's own weights is removed. */
static void bandwidths(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result plain;
    taken t = {.calls = 0};
    double age[4] = {7, 8, 9.5, 8}, at[2] = {8.2, 9};
    clvox_atlas_regression along = {
        .covariate = age, .at = at, .count = 2, .bandwidth = 1e9, .ready = take, .user = &t};
    (void)state;
    population_make_three(&all);
    population_options(&o, CLVOX_DEFORM_GREEDY);
    o.registration.iterations[0] = o.registration.iterations[1] = 3;
    o.keep_intensities = 1;
    all.s[0].weight = 2;
    all.s[2].labels = all.own[2];
    population_build(&all, &o, &plain);
    const size_t voxels = clvox_grid_voxels(&plain.average->grid);
    assert_ok(clvox_atlas_regress(ctx, all.s, all.count, NULL, &o, &along));
    for (int k = 0; k < 2; k++) {
        assert_memory_equal(t.average[k]->data, plain.average->data, voxels * sizeof(float));
        assert_int_equal(t.rounds[k], 3);
    }
    clvox_atlas_result_destroy(&plain);
    release_taken(&t);
    /* The nearest alone, and where two are as near, both; one of them has labels, one is given twice. */
    population_add(&all, population_copy(all.own[1]));
    along.bandwidth = 1e-3;
    assert_ok(clvox_atlas_regress(ctx, all.s, all.count, NULL, &o, &along));
    assert_that(population_apart(t.average[0], all.own[1]) < 1e-4, "%g from the nearest",
                population_apart(t.average[0], all.own[1]));
    assert_that(population_apart(t.average[1], all.own[2]) < 1e-4, "%g from the nearest",
                population_apart(t.average[1], all.own[2]));
    assert_true(t.share[0][0] == 0 && t.share[0][1] == .5 && t.share[0][2] == 0 && t.share[0][3] == .5);
    assert_true(t.share[1][2] == 1);
    assert_that(fabs(t.matrix[1][2][0][3]) < 1e-6, "the affine to itself shifts by %g mm",
                t.matrix[1][2][0][3]);
    release_taken(&t);
    age[1] = NAN;
    assert_int_equal(clvox_atlas_regress(ctx, all.s, all.count, NULL, &o, &along), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "second: its covariate"));
    age[1] = 8, along.bandwidth = 0;
    assert_int_equal(clvox_atlas_regress(ctx, all.s, all.count, NULL, &o, &along), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(t.calls, 0);
    population_release(&all);
}

static void regression_resumed(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    taken want = {.calls = 0}, t = {.calls = 0};
    char place[] = "/tmp/atlas-along-XXXXXX";
    static const double age[3] = {3, 4, 6}, at[3] = {3, 5, 6};
    int calls, attempts = 0, status = CLVOX_ERROR_STOPPED;
    clvox_atlas_regression along = {
        .covariate = age, .at = at, .count = 3, .bandwidth = 1.5, .ready = take, .user = &want};
    (void)state;
    population_make_three(&all);
    population_options_of_bits(&o);
    assert_ok(clvox_atlas_regress(ctx, all.s, 3, NULL, &o, &along));
    assert_int_equal(want.calls, 3);
    assert_non_null(mkdtemp(place));
    o.state = place;
    o.device_bytes = (size_t)1 << 30; /* maps on the device change no bit */
    o.progress = population_stop_after;
    o.user = &calls;
    along.user = &t;
    for (; status == CLVOX_ERROR_STOPPED && attempts < 200; attempts++) {
        calls = attempts;
        status = clvox_atlas_regress(ctx, all.s, 3, NULL, &o, &along);
    }
    assert_ok(status);
    assert_that(t.calls > 6 && t.figures > 2, "%d templates were taken, %d as figures", t.calls, t.figures);
    for (int k = 0; k < 3; k++) {
        assert_memory_equal(t.average[k]->data, want.average[k]->data,
                            clvox_grid_voxels(&t.average[k]->grid) * sizeof(float));
        assert_memory_equal(t.share[k], want.share[k], sizeof t.share[k]);
        assert_memory_equal(t.matrix[k], want.matrix[k], sizeof t.matrix[k]);
        assert_int_equal(t.rounds[k], want.rounds[k]);
    }
    along.bandwidth = 2;
    assert_int_equal(clvox_atlas_regress(ctx, all.s, 3, NULL, &o, &along), CLVOX_ERROR_FILE);
    assert_non_null(strstr(clvox_message(), "another bandwidth (1.5, not 2)"));
    clvox_atlas_forget(place);
    release_taken(&want);
    release_taken(&t);
    population_release(&all);
}

int main(void)
{
    ctx = harness_open();
    test_case(balls_that_grow, "templates along a covariate: balls have the radius of the mean age");
    test_case(bandwidths,
              "a very large bandwidth is the plain template, a very small one the nearest subject");
    test_case(regression_resumed, "templates along a covariate go on where they were stopped");
    return test_run("templates along a covariate", harness_close);
}
