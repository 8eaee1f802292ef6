/* SPDX-License-Identifier: Apache-2.0 */
/* LDDMM: its gradient, and what holds of its maps. */
#include "check.h"
#include "flow/lddmm.h"
#include "flow_problem.h"
#include "op/image/pointwise.h"
#include "op/harness.h"
#include "ref/field/compose_adjoint.h"

static void options_of(clvox_register_options *o, clvox_metric metric)
{
    pair_options(o, CLVOX_DEFORM_LDDMM, metric);
    o->iterations[0] = 25;
    o->iterations[1] = 15;
    o->inverse = 1;
    o->lambda = .005;
    o->momentum = .8;
}

/* ---- gradients ------------------------------------------------------------ */

enum { STEPS = 3, X = 6, Y = 5, Z = 4, N = X * Y * Z };
static const int tiny[3] = {X, Y, Z};
static const double uneven[3] = {1, 1.4, .8};

/* Positions after STEPS steps, compared with somewhere by half their squared distance. */
static double reference_flow(double (*v)[3 * N], double (*d)[3 * N], const double *goal)
{
    double sum = 0;
    memset(d[0], 0, sizeof d[0]);
    for (int k = 0; k < STEPS; k++)
        ref_flow_step(d[k], v[k], tiny, uneven, 1. / STEPS, d[k + 1]);
    for (int i = 0; i < 3 * N; i++)
        sum += .5 * (d[STEPS][i] - goal[i]) * (d[STEPS][i] - goal[i]);
    return sum;
}

static void the_adjoint_of_a_chain_of_steps(void **state)
{
    (void)state;
    static double v[STEPS][3 * N], d[STEPS + 1][3 * N], other[STEPS + 1][3 * N], w[STEPS][3 * N], g[3 * N],
        goal[3 * N];
    float values[3 * N];
    memset(w, 0, sizeof w);
    for (int k = 0; k <= STEPS; k++) {
        harness_random(values, 3 * N, 20 + (unsigned)k, -1, 1);
        for (int i = 0; i < 3 * N; i++)
            *(k < STEPS ? &v[k][i] : &goal[i]) = (double)values[i];
    }
    reference_flow(v, d, goal);
    for (int i = 0; i < 3 * N; i++)
        g[i] = d[STEPS][i] - goal[i];
    for (int k = STEPS - 1; k >= 0; k--)
        ref_compose_adjoint(d[k], v[k], tiny, uneven, 1. / STEPS, g, w[k]);
    for (int k = 0; k < STEPS; k++)
        for (int i = k; i < 3 * N; i += 23) {
            double h = 1e-6, kept = v[k][i];
            v[k][i] = kept + h;
            double above = reference_flow(v, other, goal);
            v[k][i] = kept - h;
            double below = reference_flow(v, other, goal);
            v[k][i] = kept;
            double found = (above - below) / (2 * h);
            assert_that(fabs(found - w[k][i]) < 1e-6 * (1 + fabs(found)), "step %d, %d: %g, %g", k, i, found, w[k][i]);
        }
}

static void set(flow_problem *p, float *const *v, float *const *way, double h)
{
    float *sum = malloc(3 * p->n * sizeof *sum);
    for (int k = 0; k < p->options.timesteps; k++) {
        for (size_t i = 0; i < 3 * p->n; i++)
            sum[i] = v[k][i] + (float)h * way[k][i];
        flow_problem_upload(p, sum, clv_flow_of(&p->run)->v[k]);
    }
    free(sum);
}

static const struct {
    clvox_metric metric;
    const char *name;
} metrics[] = {{CLVOX_METRIC_SSD, "ssd"}, {CLVOX_METRIC_NCC, "ncc"}, {CLVOX_METRIC_LNCC, "lncc"},
               {CLVOX_METRIC_MI, "mi"}, {CLVOX_METRIC_MIND, "mind"}};

/* Keeps a copy of each gradient in p. */
static int keep_gradient(const clv_flow_level *flow, int k, const clv_buffer *gradient)
{
    return clv_buffer_copy(flow->run->ctx, gradient, 0, clv_lddmm_of(flow->run)->p[k], 0,
                           3 * (size_t)flow->level->n * sizeof(float));
}

static void the_gradient_against_finite_differences(void **state)
{
    const int *given = *state;
    flow_problem p;
    clvox_register_options o;
    float *v[CLV_FLOW_STEPS], *way[CLV_FLOW_STEPS];
    options_of(&o, metrics[given[0]].metric);
    o.points_weight = given[1] == 1 ? .5 : 0;
    if (given[1] == 2) {
        memcpy(o.tissue_weight, (const double[]){1, 2, .5, .7}, 4 * sizeof(double));
        o.tissue_weights = 4;
    }
    if (given[1] == 3) {
        o.besides = 2;
        o.beside[0] = CLVOX_METRIC_NCC;
        o.beside[1] = CLVOX_METRIC_MIND;
        o.beside_parameter[1] = 1;
        o.beside_weight[0] = .5;
        o.beside_weight[1] = 2;
    }
    o.timesteps = given[2];
    o.levels = 1;
    o.shrink[0] = 1;
    o.smooth_voxels[0] = 1.5; /* fewer kinks between voxels */
    flow_problem_make(harness_context(), &p, (int[3]){27, 23, 19}, (double[3]){1, 1.2, 1.5}, &o);
    for (int k = 0; k < o.timesteps; k++) {
        v[k] = flow_problem_field(&p, (unsigned)k, 1.5);
        way[k] = flow_problem_field(&p, 7 + (unsigned)(2 * k), 1);
    }
    set(&p, v, way, 0);
    double here = flow_problem_metric(&p), slope = 0, left[2];
    assert_ok(clv_flow_adjoint(&p.flow, 1, keep_gradient));
    float *w = malloc(3 * p.n * sizeof *w);
    for (int k = 0; k < o.timesteps; k++) {
        flow_problem_download(&p, clv_lddmm_of(&p.run)->p[k], w);
        for (size_t i = 0; i < 3 * p.n; i++)
            slope += (double)w[i] * (double)way[k][i];
    }
    /* Over several lengths: rounding and the bends of the interpolant between voxels go up and down with
     * them. */
    enum { LENGTHS = 5 };
    double found = 0;
    for (int i = 0; i < LENGTHS; i++) {
        double h = .06 + .02 * i, sides[2];
        for (int side = 0; side < 2; side++) {
            set(&p, v, way, side ? h : -h);
            sides[side] = flow_problem_metric(&p);
        }
        found += (sides[1] - sides[0]) / (2 * h) / LENGTHS;
    }
    /* The remainder of S(v + h q) after S(v) + h <dS, q> falls with h^2. */
    for (int i = 0; i < 2; i++) {
        double far = i ? .2 : .4;
        set(&p, v, way, far);
        left[i] = fabs(flow_problem_metric(&p) - here - far * slope);
    }
    printf("# S %.6g, slope %.6g by the adjoint, %.6g by differences; left %.3g and %.3g\n", here, slope, found,
           left[0], left[1]);
    /* The trilinear interpolant bends at voxels: differences of a local metric find the slope no better. */
    const double most = metrics[given[0]].metric == CLVOX_METRIC_LNCC ? 1e-2 : 2e-3;
    assert_that(fabs(found - slope) < most * fabs(slope), "%g, %g", found, slope);
    assert_that(left[0] > 3 * left[1], "%g, %g", left[0], left[1]);
    for (int k = 0; k < o.timesteps; k++) {
        free(v[k]);
        free(way[k]);
    }
    free(w);
    flow_problem_free(&p);
}

/* The transform, counted, with a spectrum of its own. */
static const clv_flow_level *counted;
static clv_buffer *spectrum;
static int solves;

static int count_solve(clvox_context *ctx, int kind, const clv_buffer *f, clv_buffer *v)
{
    (void)kind;
    solves++;
    return clv_fft_solve(ctx, &counted->solver.fft, &counted->op, f, v, spectrum);
}

static const clv_solver_stand_in counting = {.solve = count_solve};

/* From rest, one iteration by the gradient alone; one whose p goes up with what it keeps of the p before,
 * ten times the gradient the other way; and one whose p goes down, but whose <p, p> says that each of its
 * steps costs more energy than it wins. All arrive where the gradient leads. */
static void a_step_that_leads_nowhere_is_found_anew(void **state)
{
    (void)state;
    enum { ALONE, UPHILL, FAILS, CASES };
    flow_problem p;
    clvox_register_options o;
    options_of(&o, CLVOX_METRIC_SSD);
    o.timesteps = 4;
    o.levels = 1;
    o.shrink[0] = 1;
    flow_problem_make(harness_context(), &p, (int[3]){23, 21, 19}, (double[3]){1, 1.2, 1.5}, &o);
    clv_lddmm *own = clv_lddmm_of(&p.run);
    size_t bytes = 3 * p.n * sizeof(float);
    assert_ok(clv_buffer_create(p.run.ctx, clv_fft_bytes(p.level.fixed.size), "spectrum", &spectrum));
    float *v[CASES];
    double energy[CASES], step[CASES], before = 0, longest = 0;
    for (int c = 0; c < CASES; c++) {
        clv_lddmm_descent d = {
            .base = {.flow = p.flow, .lambda = p.flow.lambda}, .begun = c != ALONE, .momentum = .7};
        for (int k = 0; k < o.timesteps; k++) {
            assert_ok(clv_buffer_fill(p.run.ctx, own->flow.v[k], 0, 0, bytes));
            if (c == UPHILL) /* p is still the gradient */
                assert_ok(clv_pointwise(p.run.ctx, CLV_POINTWISE_LINEAR,
                                        CLV_VECTORS(own->p[k], p.level.fixed.size), own->p[k], NULL, NULL,
                                        (float[4]){-10, 0, 0, 0}));
            else
                assert_ok(clv_buffer_fill(p.run.ctx, own->p[k], 0, 0, bytes));
            d.of[k].pp = c == FAILS ? 1e12 : 0;
        }
        step[c] = 0;
        assert_ok(clv_lddmm_steps.look(&d.base, &d.base.energy, &d.base.mean));
        before = d.base.energy;
        counted = &p.flow;
        solves = 0;
        d.base.flow.solver.instead = &counting;
        assert_ok(clv_lddmm_steps.iterate(&d.base, .5, &step[c]));
        /* Each is two in the place of the transform. */
        assert_int_equal(solves, 2 * (c == ALONE ? o.timesteps : 2 * o.timesteps));
        energy[c] = d.base.energy;
        assert_true(step[c] > 0 && energy[c] < before);
        assert_that(fabs(energy[c] - energy[ALONE]) < 1e-5 * (before - energy[ALONE]), "%g, %g", energy[c],
                    energy[0]);
        v[c] = malloc(bytes);
        flow_problem_download(&p, own->flow.v[0], v[c]);
    }
    assert_memory_equal(v[UPHILL], v[ALONE], bytes);
    for (size_t i = 0; i < 3 * p.n; i++)
        longest = fmax(longest, fabs((double)v[ALONE][i]));
    /* Steps that were taken back leave rounding errors. */
    for (size_t i = 0; i < 3 * p.n; i++)
        assert_that(fabs((double)(v[FAILS][i] - v[ALONE][i])) < 1e-4 * longest, "%zu: %g, %g of %g", i,
                    (double)v[FAILS][i], (double)v[ALONE][i], longest);
    for (int c = 0; c < CASES; c++)
        free(v[c]);
    clv_buffer_destroy(&spectrum);
    flow_problem_free(&p);
}

/* ---- maps ----------------------------------------------------------------- */

static struct {
    pair p;
} shared;

static int maps_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){37, 34, 29}, (double[3]){1, 1, 1.3}, true, 2.2, 61);
    return 0;
}

static int maps_tear_down(void **state)
{
    (void)state;
    pair_free(&shared.p);
    return 0;
}

static void it_recovers_a_known_warp(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result r, syn, again;
    double largest, ours, theirs, there, back, total = 0;
    clvox_volume *j = NULL;
    options_of(&o, metrics[given[0]].metric);
    assert_ok(pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r));
    assert_ok(pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &o, &again));
    assert_memory_equal(r.warp->data, again.warp->data, 3 * sizeof(float) * clvox_grid_voxels(&r.warp->grid));
    options_of(&o, metrics[given[0]].metric);
    o.deform = CLVOX_DEFORM_SYN;
    pair_options(&o, CLVOX_DEFORM_SYN, metrics[given[0]].metric);
    assert_ok(pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &o, &syn));
    ours = pair_error(&shared.p, &r, NULL, &largest);
    theirs = pair_error(&shared.p, &syn, NULL, &largest);
    there = pair_detour(r.warp, r.inverse_warp, shared.p.labels, &largest);
    back = pair_detour(r.inverse_warp, r.warp, shared.p.labels, &largest);
    assert_ok(clvox_jacobian(harness_context(), r.warp, NULL, 0, &j, NULL));
    size_t n = clvox_grid_voxels(&j->grid);
    for (size_t i = 0; i < n; i++)
        total += (double)j->data[i] / (double)n;
    printf("# error %.3f of %.3f voxels (syn %.3f), sd log J %.3f (syn %.3f), there and back %.4f and %.4f, mean J "
           "%.5f\n",
           ours, pair_start(&shared.p, NULL), theirs, r.jacobian.sd_log, syn.jacobian.sd_log, there, back, total);
    assert_that(ours <= theirs, "%g, %g", ours, theirs);
    assert_that(there <= .02 && back <= .02, "%g, %g", there, back);
    assert_that(fabs(total - 1) < .005, "%g", total);
    assert_true(r.jacobian.folded == 0);
    clvox_volume_destroy(&j);
    clvox_register_result_destroy(&again);
    clvox_register_result_destroy(&r);
    clvox_register_result_destroy(&syn);
}

static void exchanging_the_images_gives_the_inverse(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result a, b;
    double largest;
    options_of(&o, metrics[given[0]].metric);
    o.iterations[1] = 8;
    assert_ok(pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &o, &a));
    assert_ok(pair_register(harness_context(), shared.p.moving, shared.p.fixed, NULL, NULL, &o, &b));
    double detour = pair_detour(a.warp, b.warp, shared.p.labels, &largest),
           far = pair_detour(a.warp, a.warp, shared.p.labels, &largest);
    printf("# there and back %.4f voxels, there twice %.3f\n", detour, far);
    assert_that(far > 1, "%g voxels", far);
    assert_that(detour <= .1, "%g voxels", detour);
    clvox_register_result_destroy(&a);
    clvox_register_result_destroy(&b);
}

static void what_is_no_flow_is_refused(void **state)
{
    (void)state;
    clvox_register_options o;
    clvox_register_result r;
    options_of(&o, CLVOX_METRIC_SSD);
    o.timesteps = 5;
    assert_int_equal(pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r),
                     CLVOX_ERROR_ARGUMENT);
    o.timesteps = 4;
    static const double none[][3] = {{1, 0, 0},  {1, 0, 1e-30}, {1e39, 0, 1}, {0, 0, -1},
                                     {-1, 0, 1}, {1, -2, 1},    {1, 0, NAN}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        o.alpha = none[i][0];
        o.beta = none[i][1];
        o.gamma = none[i][2];
        int status = pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r);
        assert_int_equal(status, CLVOX_ERROR_ARGUMENT);
        assert_that(strstr(clvox_message(), i < 3 ? "not positive definite" : ""), "%s", clvox_message());
    }
}

/* By a provider that does not take a volume, and one that there is not. */
static void without_a_fourier_transform(void **state)
{
    (void)state;
    static const struct {
        const char *provider, *says;
        int status;
    } wrong[] = {{"clfft", "a prime factor above 13", CLVOX_ERROR_DEVICE},
                 {"none", "no Fourier transforms by none", CLVOX_ERROR_ARGUMENT}};
    clvox_context *ctx = harness_context();
    pair p;
    clvox_register_options o;
    clvox_register_result r;
    pair_make(&p, (int[3]){17, 17, 17}, (double[3]){1, 1, 1}, false, .5, 61);
    options_of(&o, CLVOX_METRIC_SSD);
    for (int i = 0; i < 2; i++) {
        assert_ok(clv_force_variant(ctx, CLV_FFT, wrong[i].provider, -1));
        int status = pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r);
        assert_ok(clv_force_variant(ctx, CLV_FFT, NULL, -1));
        assert_int_equal(status, wrong[i].status);
        assert_that(strstr(clvox_message(), wrong[i].says), "%s", clvox_message());
        assert_true(!r.warp && !strchr(clvox_message(), '\n'));
    }
    pair_free(&p);
}

int main(void)
{
    harness_open();
    test_case(the_adjoint_of_a_chain_of_steps, "the adjoint of a chain of steps against finite differences");
    for (int m = 0; m < (int)(sizeof metrics / sizeof *metrics); m++)
        test_case_at(the_gradient_against_finite_differences, TEST_AT(m, 0, 4),
                     "the gradient against finite differences: %s", metrics[m].name);
    test_case_at(the_gradient_against_finite_differences, TEST_AT(0, 1, 4),
                 "the gradient against finite differences: ssd and landmarks");
    test_case_at(the_gradient_against_finite_differences, TEST_AT(0, 2, 4),
                 "the gradient against finite differences: ssd and posteriors");
    test_case_at(the_gradient_against_finite_differences, TEST_AT(0, 3, 4),
                 "the gradient against finite differences: ssd, ncc and mind");
    test_case_at(the_gradient_against_finite_differences, TEST_AT(0, 0, 14),
                 "the gradient against finite differences: ssd, 14 steps");
    test_case(a_step_that_leads_nowhere_is_found_anew, "a step that leads nowhere is found anew");
    test_set_up(maps_set_up);
    test_case_at(it_recovers_a_known_warp, TEST_AT(2), "recovers a known warp, keeps volume, repeats: lncc");
    test_case_at(it_recovers_a_known_warp, TEST_AT(0), "recovers a known warp, keeps volume, repeats: ssd");
    for (int m = 0; m < (int)(sizeof metrics / sizeof *metrics); m++)
        test_case_at(exchanging_the_images_gives_the_inverse, TEST_AT(m),
                     "exchanging the images gives the inverse: %s", metrics[m].name);
    test_case(what_is_no_flow_is_refused, "what is no flow is refused");
    test_case(without_a_fourier_transform, "without a Fourier transform nothing begins");
    test_tear_down(maps_tear_down);
    return test_run("lddmm", harness_close);
}
