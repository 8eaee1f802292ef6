/* SPDX-License-Identifier: Apache-2.0 */
/* Registrations by other solvers than the FFT: the same maps. */
#include "bench/papers/op/solvers/solvers.h"

#include "check.h"
#include "op/harness.h"
#include "register/pair.h"

enum { GREEDY, LDDMM, SHOOTING, MODELS };

static const struct {
    clvox_deform deform;
    const char *name;
    double alpha, beta, gamma, tolerance; /* beta: 0 of sor */
    double mean, largest;                 /* voxels from the FFT's map */
} models[MODELS] = {
    {CLVOX_DEFORM_GREEDY, "greedy", 4, 2, .25, 1e-2, .05, .3},
    {CLVOX_DEFORM_LDDMM, "lddmm", 2.5, 5, 1, 1e-3, .01, .05},
    {CLVOX_DEFORM_SHOOTING, "shooting", 2.5, 5, 1, 1e-3, .01, .05},
};

static struct {
    pair p;
    clvox_register_result exact[MODELS][2]; /* of the FFT: coupled, and with the beta of 0 that sor takes */
} shared;

static int find(int model, const clv_solvers_options *how, bool coupled, clvox_register_result *r,
                clv_solvers_report *report)
{
    clvox_register_options o;
    pair_options(&o, models[model].deform, CLVOX_METRIC_SSD);
    o.iterations[0] = 6;
    o.iterations[1] = 2;
    if (model != GREEDY)
        o.lambda = .005;
    o.inverse = 1;
    o.alpha = models[model].alpha;
    o.beta = coupled ? models[model].beta : 0;
    o.gamma = models[model].gamma;
    *report = (clv_solvers_report){0};
    clv_solvers_stand_in(how, report);
    int status = pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &o, r);
    clv_solvers_stand_in(NULL, NULL);
    return status;
}

/* One side is odd on the finest level, and two on the coarser one: sor has to have two colours all the
 * same. */
static int set_up(void **state)
{
    clv_solvers_report none;
    (void)state;
    pair_make(&shared.p, (int[3]){22, 21, 18}, (double[3]){1, 1, 1.3}, true, 1.2, 61);
    for (int m = 0; m < MODELS; m++)
        for (int k = 0; k < 2; k++) {
            assert_ok(find(m, NULL, k == 0, &shared.exact[m][k], &none));
            assert_true(none.solves == 0);
        }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int m = 0; m < MODELS; m++)
        for (int k = 0; k < 2; k++)
            clvox_register_result_destroy(&shared.exact[m][k]);
    pair_free(&shared.p);
    return 0;
}

static void solvers_find_one_map(void **state)
{
    const int *given = *state, model = given[0];
    const bool coupled = given[1] != CLV_SOLVERS_SOR;
    const clv_solvers_options how = {(clv_solvers_kind)given[1], models[model].tolerance, 200};
    const clvox_register_result *by_fft = &shared.exact[model][!coupled];
    clvox_register_result r, again;
    clv_solvers_report s, second;
    double largest, most;
    assert_ok(find(model, &how, coupled, &r, &s));
    double apart = pair_distance(r.warp, by_fft->warp, NULL, &largest);
    printf("# %.5f voxels from the FFT's map, %.4f at most; %ld iterations in %ld solves, %.2g left\n", apart,
           largest, s.iterations, s.solves, s.left);
    /* For sor the field is 0 beyond the border where a side is odd. */
    assert_that(apart < (coupled ? 1 : 2) * models[model].mean &&
                    largest < (coupled ? 1 : 3) * models[model].largest,
                "%g, %g", apart, largest);
    if (model != GREEDY) {
        double there = pair_detour(r.warp, r.inverse_warp, shared.p.labels, &most);
        assert_that(there < .02, "%g", there);
    }
    assert_that(s.left > 0 && s.left <= models[model].tolerance, "%g", s.left);
    assert_true(s.solves > 0 && s.iterations >= s.solves && (model == GREEDY || s.solves % 2 == 0));
    assert_ok(find(model, &how, coupled, &again, &second));
    assert_memory_equal(r.warp->data, again.warp->data, 3 * sizeof(float) * clvox_grid_voxels(&r.warp->grid));
    assert_true(second.iterations == s.iterations);
    clvox_register_result_destroy(&again);
    clvox_register_result_destroy(&r);
}

static void the_tolerance_is_kept(void **state)
{
    clvox_register_result r;
    clv_solvers_report loose, tight;
    (void)state;
    assert_ok(find(LDDMM, &(clv_solvers_options){CLV_SOLVERS_CG, .1, 200}, true, &r, &loose));
    clvox_register_result_destroy(&r);
    assert_ok(find(LDDMM, &(clv_solvers_options){CLV_SOLVERS_CG, 1e-4, 200}, true, &r, &tight));
    clvox_register_result_destroy(&r);
    assert_true(loose.left > 1e-3 && loose.left <= .1);
    assert_true(tight.left <= 1e-4);
    assert_true((double)loose.iterations / (double)loose.solves <
                .7 * (double)tight.iterations / (double)tight.solves);
}

static void over_relaxation_refuses_beta(void **state)
{
    clv_solvers_report report;
    clvox_register_result r;
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        assert_int_equal(find(m, &(clv_solvers_options){CLV_SOLVERS_SOR, .1, 200}, true, &r, &report),
                         CLVOX_ERROR_ARGUMENT);
        assert_non_null(strstr(clvox_message(), "beta 0"));
    }
}

int main(void)
{
    harness_open();
    test_set_up(set_up);
    for (int m = 0; m < MODELS; m++)
        for (int s = CLV_SOLVERS_SOR; s < CLV_SOLVERS; s++)
            test_case_at(solvers_find_one_map, TEST_AT(m, s), "%s by %s finds the map of the FFT",
                         models[m].name, clv_solvers_name(s));
    test_case(the_tolerance_is_kept, "the tolerance is kept");
    test_case(over_relaxation_refuses_beta, "over-relaxation refuses beta");
    test_tear_down(tear_down);
    return test_run("registration by solvers", harness_close);
}
