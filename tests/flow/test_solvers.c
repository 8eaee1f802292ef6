/* SPDX-License-Identifier: Apache-2.0 */
/* LDDMM and shooting by other solvers than the FFT: the same maps, and what is said of the solves. */
#include "check.h"
#include "flow/flow.h"
#include "op/harness.h"
#include "register/pair.h"

static struct {
    pair p;
    clvox_register_result exact[2][2]; /* of each model: coupled, and with the beta of 0 that sor takes */
} shared;

static const clvox_deform models[] = {CLVOX_DEFORM_LDDMM, CLVOX_DEFORM_SHOOTING};
static const char *const names[] = {"lddmm", "shooting"};

static int find(int model, clvox_solver solver, double beta, double tolerance, clvox_register_result *r)
{
    clvox_register_options o;
    pair_options(&o, models[model], CLVOX_METRIC_SSD);
    o.iterations[0] = 6;
    o.iterations[1] = 2;
    o.lambda = .005;
    o.inverse = 1;
    o.alpha = 2.5;
    o.beta = beta;
    o.gamma = 1;
    o.solver = solver;
    o.solver_tolerance = tolerance;
    return pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &o, r);
}

/* One side is odd on the finest level, and two on the coarser one: sor has to have two colours all the same. */
static int set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){22, 21, 18}, (double[3]){1, 1, 1.3}, true, 1.2, 61);
    for (int m = 0; m < 2; m++)
        for (int k = 0; k < 2; k++)
            assert_ok(find(m, CLVOX_SOLVER_FFT, k ? 0 : 5, 0, &shared.exact[m][k]));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int m = 0; m < 2; m++)
        for (int k = 0; k < 2; k++)
            clvox_register_result_destroy(&shared.exact[m][k]);
    pair_free(&shared.p);
    return 0;
}

static void solvers_find_one_map(void **state)
{
    const int *given = *state;
    int model = given[0], solver = given[1];
    clvox_register_result r, again;
    double largest, most;
    bool uncoupled = solver == CLVOX_SOLVER_SOR;
    const clvox_register_result *by_fft = &shared.exact[model][uncoupled];
    const clvox_solver_summary *s = &r.solver, *exact = &by_fft->solver;
    assert_ok(find(model, (clvox_solver)solver, uncoupled ? 0 : 5, 0, &r));
    double apart = pair_distance(r.warp, by_fft->warp, NULL, &largest);
    double there = pair_detour(r.warp, r.inverse_warp, shared.p.labels, &most);
    printf("# %.5f voxels from the FFT's map, %.4f at most; %ld iterations in %ld solves, %.2g left\n", apart, largest,
           s->iterations, s->solves, s->residual);
    /* For sor the field is 0 beyond the border where a side is odd. */
    assert_that(apart < (uncoupled ? .02 : .01) && largest < (uncoupled ? .15 : .05), "%g, %g", apart,
                largest);
    assert_that(there < .02, "%g", there);
    assert_that(s->residual > 0 && s->residual <= 1e-3, "%g", s->residual);
    assert_true(s->solves % 2 == 0 && s->iterations > s->solves / 2 && s->bytes > 0);
    assert_true(exact->solves > 0 && exact->iterations == exact->solves && exact->residual == 0 && exact->bytes > 0);
    assert_ok(find(model, (clvox_solver)solver, uncoupled ? 0 : 5, 0, &again));
    assert_memory_equal(r.warp->data, again.warp->data, 3 * sizeof(float) * clvox_grid_voxels(&r.warp->grid));
    assert_true(again.solver.iterations == s->iterations);
    clvox_register_result_destroy(&again);
    clvox_register_result_destroy(&r);
}

static void the_tolerance_is_kept(void **state)
{
    (void)state;
    clvox_register_result loose, tight;
    assert_ok(find(0, CLVOX_SOLVER_CG, 5, .1, &loose));
    assert_ok(find(0, CLVOX_SOLVER_CG, 5, 1e-4, &tight));
    assert_true(loose.solver.residual > 1e-3 && loose.solver.residual <= .1);
    assert_true(tight.solver.residual <= 1e-4);
    assert_true((double)loose.solver.iterations / (double)loose.solver.solves <
                .7 * (double)tight.solver.iterations / (double)tight.solver.solves);
    clvox_register_result_destroy(&loose);
    clvox_register_result_destroy(&tight);
}

static void over_relaxation_refuses_beta(void **state)
{
    (void)state;
    for (int m = 0; m < 2; m++) {
        clvox_register_options o;
        clvox_register_result r;
        pair_options(&o, models[m], CLVOX_METRIC_SSD);
        o.solver = CLVOX_SOLVER_SOR;
        o.alpha = o.beta = o.gamma = 1;
        assert_int_equal(pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r),
                         CLVOX_ERROR_ARGUMENT);
        assert_non_null(strstr(clvox_message(), "beta of 0"));
    }
}

int main(void)
{
    harness_open();
    test_set_up(set_up);
    for (int m = 0; m < 2; m++)
        for (int s = CLVOX_SOLVER_SOR; s <= CLVOX_SOLVER_MULTIGRID; s++)
            test_case_at(solvers_find_one_map, TEST_AT(m, s), "%s by %s finds the map of the FFT", names[m],
                         clv_solver_name(s));
    test_case(the_tolerance_is_kept, "the tolerance is kept");
    test_case(over_relaxation_refuses_beta, "over-relaxation refuses beta");
    test_tear_down(tear_down);
    return test_run("flow solvers", harness_close);
}
