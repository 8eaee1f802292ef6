/* SPDX-License-Identifier: Apache-2.0 */
/* Geodesic shooting: what EPDiff keeps, its gradient, and its maps. */
#include "check.h"
#include "flow/shooting.h"
#include "flow_problem.h"
#include "io/volume/orientation.h"
#include "op/harness.h"
#include "ref/flow/epdiff.h"

static void options_of(clvox_register_options *o, clvox_metric metric)
{
    pair_options(o, CLVOX_DEFORM_SHOOTING, metric);
    o->iterations[0] = 20;
    o->iterations[1] = 8;
    o->inverse = 1;
    o->lambda = .005;
}

/* As far as syn goes, and expansion as free as it is there: beta holds it back. */
static void further_options(clvox_register_options *o)
{
    options_of(o, CLVOX_METRIC_LNCC);
    o->iterations[0] = 30;
    o->iterations[1] = 20;
    o->momentum = .7;
    o->alpha = 2;
    o->beta = 0;
    o->gamma = 1;
}

static void level_options(clvox_register_options *o, int steps)
{
    options_of(o, CLVOX_METRIC_SSD);
    o->timesteps = steps;
    o->levels = 1;
    o->shrink[0] = 1;
    o->smooth_voxels[0] = 1.5;
}

static void set(flow_problem *p, const float *m, const float *way, double h)
{
    float *sum = malloc(3 * p->n * sizeof *sum);
    for (size_t i = 0; i < 3 * p->n; i++)
        sum[i] = m[i] + (float)h * way[i];
    flow_problem_upload(p, sum, clv_shooting_of(&p->run)->momentum);
    free(sum);
}

/* Largest change of <m, K m> along the way, as a share. */
static double drift(int steps, double strength)
{
    flow_problem p;
    clvox_register_options o;
    float numbers[CLV_FLOW_NUMBERS];
    double most = 0;
    level_options(&o, steps);
    flow_problem_make(harness_context(), &p, (int[3]){23, 21, 19}, (double[3]){1, 1.2, 1.5}, &o);
    float *m = flow_problem_field(&p, 3, strength);
    set(&p, m, m, 0);
    assert_ok(clv_shooting_forward(&p.flow));
    assert_ok(clv_buffer_read(p.run.ctx, clv_flow_of(&p.run)->numbers, 0, numbers, sizeof numbers));
    assert_true(numbers[CLV_FLOW_DOTS] > 0);
    for (int k = 1; k <= steps; k++)
        most = fmax(most, fabs((double)numbers[CLV_FLOW_DOTS + k] / (double)numbers[CLV_FLOW_DOTS] - 1));
    free(m);
    flow_problem_free(&p);
    return most;
}

static void the_energy_of_a_geodesic_is_kept(void **state)
{
    (void)state;
    double usual = drift(10, 8), coarse = drift(8, 24), fine = drift(16, 24);
    printf("# drift %.2g in 10 steps; %.3g in 8 steps of a strong one, %.3g in 16\n", usual, coarse, fine);
    assert_that(usual <= 1e-4, "%g", usual);
    assert_that(coarse > 1e-4 && coarse > 10 * fine && coarse < 60 * fine, "%g, %g", coarse, fine);
}

/* A momentum of a ball about a place, mm from the first voxel, which turns and pulls. */
static float *ball_of(const flow_problem *p, const double at[3], double width)
{
    const int *size = p->level.fixed.size;
    float *m = malloc(3 * p->n * sizeof *m);
    for (size_t i = 0; i < p->n; i++) {
        const size_t x[3] = {i % (size_t)size[0], i / (size_t)size[0] % (size_t)size[1],
                             i / ((size_t)size[0] * (size_t)size[1])};
        double far[3], square = 0;
        for (int a = 0; a < 3; a++) {
            far[a] = (double)x[a] * (double)p->level.spacing[a] - at[a];
            square += far[a] * far[a];
        }
        double high = 12 * exp(-square / (2 * width * width));
        m[i] = (float)(high * (1 - far[1] / width));
        m[p->n + i] = (float)(high * (.5 + far[0] / width));
        m[2 * p->n + i] = (float)(high * (-.3 + .2 * far[0] / width));
    }
    return m;
}

/* The largest change of its sum over the voxels along the way, as a share of the sum of its absolute values;
 * *moved: its own change at the end, likewise. */
static double change_of_total(const double at[3], double *moved)
{
    flow_problem p;
    clvox_register_options o;
    double most = 0, all = 0, first[3] = {0};
    level_options(&o, 6);
    flow_problem_make(harness_context(), &p, (int[3]){31, 26, 23}, (double[3]){1, 1.2, 1.5}, &o);
    float *m = ball_of(&p, at, 2.5), *now = malloc(3 * p.n * sizeof *now);
    set(&p, m, m, 0);
    assert_ok(clv_shooting_forward(&p.flow));
    for (size_t i = 0; i < 3 * p.n; i++) {
        first[i / p.n] += (double)m[i];
        all += fabs((double)m[i]);
    }
    assert_true(fabs(first[0]) > .1 * all);
    for (int k = 0; k < o.timesteps; k++) {
        double total[3] = {0};
        flow_problem_download(&p, clv_shooting_of(&p.run)->node[k], now);
        *moved = 0;
        for (size_t i = 0; i < 3 * p.n; i++) {
            total[i / p.n] += (double)now[i];
            *moved += fabs((double)(now[i] - m[i])) / all;
        }
        for (int c = 0; c < 3; c++)
            most = fmax(most, fabs(total[c] - first[c]) / all);
    }
    free(m);
    free(now);
    flow_problem_free(&p);
    return most;
}

/* K and the differences in ad* are the same everywhere but at the border. */
static void the_total_momentum_is_kept(void **state)
{
    (void)state;
    double moved, beside, change = change_of_total((double[3]){15, 15, 16.5}, &moved),
                          at_border = change_of_total((double[3]){4, 15, 16.5}, &beside);
    printf("# the total changes by %.2g while the momentum does by %.2g; at the border by %.2g\n", change,
           moved, at_border);
    assert_that(moved > .2 && change < 2e-6 * moved, "%g, %g", change, moved);
    assert_that(at_border > 1e-3, "%g", at_border);
}

static double dot_of(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static double *widened(const float *values, size_t n)
{
    double *wide = malloc(n * sizeof *wide);
    for (size_t i = 0; i < n; i++)
        wide[i] = (double)values[i];
    return wide;
}

/* Derivative of sum <w_k, v_k> by the momentum: the reference against differences, the device against the reference. */
static void the_adjoint_of_a_geodesic(void **state)
{
    (void)state;
    enum { STEPS = 4 };
    flow_problem p;
    clvox_register_options o;
    level_options(&o, STEPS);
    flow_problem_make(harness_context(), &p, (int[3]){9, 8, 7}, (double[3]){1, 1.2, 1.5}, &o);
    size_t n = 3 * p.n;
    clv_shooting *own = clv_shooting_of(&p.run);
    float *m = flow_problem_field(&p, 3, 6), *got = malloc(n * sizeof *got), *some = malloc(n * sizeof *some);
    double *wide = widened(m, n), *v = malloc(STEPS * n * sizeof *v), *w = malloc(STEPS * n * sizeof *w),
           *node = malloc((STEPS + 1) * n * sizeof *node), *g = malloc(n * sizeof *g);
    double moved = 0, most = 0, large = 0;
    flow_problem_download(&p, own->flow.window, got);
    double *window = widened(got, n);
    const ref_epdiff e = {p.flow.op, window, STEPS};
    set(&p, m, m, 0);
    assert_ok(clv_shooting_forward(&p.flow));
    memcpy(node, wide, n * sizeof *node);
    ref_epdiff_forward(&e, node, v);
    for (size_t k = 0; k < STEPS; k++) {
        double error = 0, longest = 0;
        flow_problem_download(&p, own->flow.v[k], got);
        for (size_t i = 0; i < n; i++) {
            error = fmax(error, fabs((double)got[i] - v[k * n + i]));
            longest = fmax(longest, fabs(v[k * n + i]));
            moved = fmax(moved, fabs(v[k * n + i] - v[i]) / longest);
        }
        assert_that(error < 1e-5 * longest, "step %zu: %g of %g", k, error, longest);
        harness_random(some, n, 30 + (unsigned)k, -1, 1);
        flow_problem_upload(&p, some, own->flow.w[k]);
        for (size_t i = 0; i < n; i++)
            w[k * n + i] = (double)some[i];
    }
    assert_that(moved > .05, "%g: too weak to say something", moved);
    ref_epdiff_adjoint(&e, node, w, g);
    for (unsigned t = 0; t < 6; t++) {
        double sides[2], h = 1e-4;
        harness_random(some, n, 50 + t, -1, 1);
        double *way = widened(some, n), slope = dot_of(g, way, n);
        for (int side = 0; side < 2; side++) {
            for (size_t i = 0; i < n; i++)
                node[i] = wide[i] + (side ? h : -h) * way[i];
            ref_epdiff_forward(&e, node, v);
            sides[side] = dot_of(w, v, STEPS * n);
        }
        double found = (sides[1] - sides[0]) / (2 * h);
        assert_that(fabs(found - slope) < 1e-6 * fabs(slope), "way %u: %g, %g", t, found, slope);
        free(way);
    }
    assert_ok(clv_shooting_adjoint(&p.flow));
    flow_problem_download(&p, own->direction, got);
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)got[i] - g[i]));
        large = fmax(large, fabs(g[i]));
    }
    printf("# velocities change by %.2g; gradient off by %.2g of %.3g\n", moved, most, large);
    assert_that(most < 1e-5 * large, "%g of %g", most, large);
    free(m);
    free(got);
    free(some);
    free(wide);
    free(v);
    free(w);
    free(node);
    free(g);
    free(window);
    flow_problem_free(&p);
}

static void the_gradient_against_finite_differences(void **state)
{
    (void)state;
    flow_problem p;
    clvox_register_options o;
    level_options(&o, 4);
    flow_problem_make(harness_context(), &p, (int[3]){23, 21, 19}, (double[3]){1, 1.2, 1.5}, &o);
    float *m = flow_problem_field(&p, 3, 4), *way = flow_problem_field(&p, 8, 3), *g = malloc(3 * p.n * sizeof *g);
    double slope = 0, sides[2], h = .05, left[2], here;
    set(&p, m, way, 0);
    assert_ok(clv_shooting_forward(&p.flow));
    here = flow_problem_metric(&p);
    assert_ok(clv_flow_adjoint(&p.flow, 1, NULL));
    assert_ok(clv_shooting_adjoint(&p.flow));
    flow_problem_download(&p, clv_shooting_of(&p.run)->direction, g);
    for (size_t i = 0; i < 3 * p.n; i++)
        slope += (double)g[i] * (double)way[i];
    for (int side = 0; side < 2; side++) {
        set(&p, m, way, side ? h : -h);
        assert_ok(clv_shooting_forward(&p.flow));
        sides[side] = flow_problem_metric(&p);
    }
    for (int i = 0; i < 2; i++) {
        double far = i ? .2 : .4;
        set(&p, m, way, far);
        assert_ok(clv_shooting_forward(&p.flow));
        left[i] = fabs(flow_problem_metric(&p) - here - far * slope);
    }
    double found = (sides[1] - sides[0]) / (2 * h);
    printf("# slope %.6g by the adjoint, %.6g by differences; left %.3g and %.3g\n", slope, found, left[0], left[1]);
    assert_that(fabs(found - slope) < 1e-3 * fabs(slope), "%g, %g", found, slope);
    assert_that(left[0] > 3 * left[1], "%g, %g", left[0], left[1]);
    free(m);
    free(way);
    free(g);
    flow_problem_free(&p);
}

static struct {
    pair p;
    clvox_register_options o;
    clvox_register_result r;
} shared;

static int maps_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){33, 30, 27}, (double[3]){1, 1, 1.3}, true, 2, 61);
    options_of(&shared.o, CLVOX_METRIC_LNCC);
    assert_ok(pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &shared.o, &shared.r));
    return 0;
}

static int maps_tear_down(void **state)
{
    (void)state;
    clvox_register_result_destroy(&shared.r);
    pair_free(&shared.p);
    return 0;
}

static void it_recovers_a_known_warp_and_repeats(void **state)
{
    (void)state;
    clvox_register_options o;
    clvox_register_result r, again, lddmm, syn;
    clvox_volume *j = NULL;
    double largest, total = 0, before = pair_start(&shared.p, NULL);
    further_options(&o);
    assert_ok(pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r));
    assert_ok(pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &o, &again));
    assert_memory_equal(r.warp->data, again.warp->data, 3 * sizeof(float) * clvox_grid_voxels(&r.warp->grid));
    double ours = pair_error(&shared.p, &r, NULL, &largest);
    o.deform = CLVOX_DEFORM_LDDMM;
    assert_ok(pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &o, &lddmm));
    double apart = pair_distance(lddmm.warp, r.warp, shared.p.labels, &largest);
    double there = pair_detour(r.warp, r.inverse_warp, shared.p.labels, &largest);
    pair_options(&o, CLVOX_DEFORM_SYN, o.metric);
    assert_ok(pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &o, &syn));
    double theirs = pair_error(&shared.p, &syn, NULL, &largest);
    assert_ok(clvox_jacobian(harness_context(), r.warp, NULL, 0, &j, NULL));
    for (size_t i = 0, n = clvox_grid_voxels(&j->grid); i < n; i++)
        total += (double)j->data[i] / (double)n;
    printf("# error %.3f of %.3f voxels (lddmm %.3f, syn %.3f), sd log J %.3f (syn %.3f), "
           "%.3f from lddmm, there and back %.4f, mean J %.5f\n",
           ours, before, pair_error(&shared.p, &lddmm, NULL, &largest), theirs, r.jacobian.sd_log,
           syn.jacobian.sd_log, apart, there, total);
    assert_that(fabs(total - 1) < .005, "%g", total);
    assert_that(ours <= theirs, "%g, %g", ours, theirs);
    assert_that(apart < .15, "%g", apart);
    assert_that(there <= .02, "%g", there);
    assert_true(r.jacobian.folded == 0);
    clvox_volume_destroy(&j);
    clvox_register_result_destroy(&r);
    clvox_register_result_destroy(&again);
    clvox_register_result_destroy(&lddmm);
    clvox_register_result_destroy(&syn);
}

/* K = 1, counted. */
static int solves;

static int count_begin(clvox_context *ctx, const clv_fluid_operator *op)
{
    (void)ctx;
    (void)op;
    return CLVOX_OK;
}

static int count_solve(clvox_context *ctx, int kind, const clv_buffer *f, clv_buffer *v)
{
    (void)kind;
    solves++;
    return f == v ? CLVOX_OK : clv_buffer_copy(ctx, f, 0, v, 0, v->bytes);
}

static void count_end(void)
{
}

static const clv_solver_stand_in counting = {count_begin, count_solve, count_end};

/* Without iterations a level looks once, all but the first once more, whether they can follow what is carried
 * up, and the finest one at the end. A look solves four times a step and once at its end. */
static void coarser_levels_take_fewer_steps(void **state)
{
    static const struct {
        int timesteps, steps[3];
    } given[] = {{2, {2, 2, 2}}, {4, {2, 2, 4}}, {8, {2, 4, 8}}, {10, {4, 6, 10}}, {32, {8, 16, 32}}};
    (void)state;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        const int *steps = given[i].steps;
        clvox_register_options o;
        clvox_register_result r;
        options_of(&o, CLVOX_METRIC_SSD);
        o.timesteps = given[i].timesteps;
        o.levels = 3;
        for (int k = 0; k < 3; k++) {
            o.shrink[k] = 4 >> k;
            o.iterations[k] = 0;
        }
        solves = 0;
        clv_solver_instead = &counting;
        assert_ok(pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r));
        clv_solver_instead = NULL;
        /* Each is two in the place of the transform. */
        assert_int_equal(solves, 2 * (4 * (steps[0] + 2 * steps[1] + 3 * steps[2]) + 6));
        assert_int_equal(r.momentum->flow.timesteps, given[i].timesteps);
        clvox_register_result_destroy(&r);
    }
}

/* How far two maps are apart in the middle of the grid, as a share of their length, with the one stretched by
 * *scale to the other: the border acts on each model in another way. */
static double share_apart(const clvox_volume *a, const clvox_volume *b, double *scale)
{
    const int *size = a->grid.size;
    size_t n = clvox_grid_voxels(&a->grid), inside = 0;
    double aa = 0, ab = 0, bb = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t x[3] = {i % (size_t)size[0], i / (size_t)size[0] % (size_t)size[1],
                             i / ((size_t)size[0] * (size_t)size[1])};
        double square = 0;
        for (int c = 0; c < 3; c++)
            square += pow(((double)x[c] - (size[c] - 1) / 2.) / (size[c] / 4.), 2);
        for (size_t c = 0; c < 3 && square < 1; c++, inside++) {
            double one = (double)a->data[c * n + i], other = (double)b->data[c * n + i];
            aa += one * one;
            ab += one * other;
            bb += other * other;
        }
    }
    assert_true(inside > 300 && ab > 0);
    *scale = ab / bb;
    return sqrt(fmax(0, 1 - ab * ab / (aa * bb)));
}

/* One small step from rest is K grad S for all three: of greedy, which inverts its operator once, by one
 * that is the square of the flows' for long waves. */
static void small_steps_of_all_models_agree(void **state)
{
    (void)state;
    static const clvox_deform models[] = {CLVOX_DEFORM_LDDMM, CLVOX_DEFORM_SHOOTING, CLVOX_DEFORM_GREEDY};
    pair p;
    clvox_register_result r[3];
    double shooting, greedy, scale[2];
    pair_make(&p, (int[3]){31, 28, 25}, (double[3]){1, 1, 1.3}, true, .4, 61);
    for (int i = 0; i < 3; i++) {
        clvox_register_options o;
        pair_options(&o, models[i], CLVOX_METRIC_SSD);
        o.levels = 1;
        o.shrink[0] = o.iterations[0] = 1;
        o.smooth_voxels[0] = 1.5;
        o.step = o.finest_step = .1;
        o.alpha = i == 2 ? 2 : 1;
        o.gamma = 1;
        assert_ok(pair_register(harness_context(), p.fixed, p.moving, NULL, NULL, &o, &r[i]));
    }
    shooting = share_apart(r[1].warp, r[0].warp, &scale[0]);
    greedy = share_apart(r[2].warp, r[0].warp, &scale[1]);
    printf("# from lddmm: shooting %.3g, greedy %.3g; %.3f and %.3f times as long\n", shooting, greedy,
           scale[0], scale[1]);
    assert_that(shooting < .03 && fabs(scale[0] - 1) < .02, "%g, %g", shooting, scale[0]);
    /* The longest vector of each step is as long as asked for: greedy's lies nearer to the border. */
    assert_that(greedy < .08 && fabs(scale[1] - 1) < .2, "%g, %g", greedy, scale[1]);
    for (int i = 0; i < 3; i++)
        clvox_register_result_destroy(&r[i]);
    pair_free(&p);
}

/* Both find the flow of least energy: for a small one the same, whatever leads there. */
static void small_flows_end_alike(void **state)
{
    (void)state;
    pair p;
    clvox_register_result r[2];
    double scale;
    pair_make(&p, (int[3]){31, 28, 25}, (double[3]){1, 1, 1.3}, true, .2, 61);
    for (int i = 0; i < 2; i++) {
        clvox_register_options o;
        pair_options(&o, i ? CLVOX_DEFORM_SHOOTING : CLVOX_DEFORM_LDDMM, CLVOX_METRIC_SSD);
        o.momentum = .7;
        o.iterations[0] = o.iterations[1] = 30;
        o.smooth_voxels[0] = o.smooth_voxels[1] = 1.5;
        o.alpha = 2;
        o.beta = 4;
        o.gamma = 1;
        o.lambda = .02;
        assert_ok(pair_register(harness_context(), p.fixed, p.moving, NULL, NULL, &o, &r[i]));
    }
    double apart = share_apart(r[1].warp, r[0].warp, &scale);
    printf("# shooting from lddmm: %.3g, %.3f times as long\n", apart, scale);
    assert_that(apart < .05 && fabs(scale - 1) < .02, "%g, %g", apart, scale);
    for (int i = 0; i < 2; i++)
        clvox_register_result_destroy(&r[i]);
    pair_free(&p);
}

/* As many iterations that keep some of the step before get further. */
static void steps_that_are_kept_lead_further(void **state)
{
    (void)state;
    clvox_register_options o = shared.o;
    clvox_register_result r;
    assert_true(o.momentum == 0);
    o.momentum = .7;
    assert_ok(pair_register(harness_context(), shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r));
    printf("# lncc %.5f, without %.5f\n", r.metric_after, shared.r.metric_after);
    assert_that(r.metric_after > shared.r.metric_after + .002, "%g, %g", r.metric_after,
                shared.r.metric_after);
    clvox_register_result_destroy(&r);
}

static void its_momentum_gives_its_map(void **state)
{
    (void)state;
    clvox_shoot_options s;
    clvox_volume *warp = NULL, *inverse = NULL, *half = NULL, *back = NULL;
    double largest;
    clvox_shoot_defaults(&s);
    assert_ok(clvox_shoot(harness_context(), shared.r.momentum, &shared.p.fixed->grid, &s, &warp, &inverse));
    double apart = pair_distance(warp, shared.r.warp, NULL, &largest);
    /* The search for the inverse of one half begins elsewhere: single voxels may end apart. */
    assert_that(apart < 1e-5 && largest < 5e-3, "%g, %g", apart, largest);
    /* Other times: half of the way is about half as far, and T < 0 leads to the other side. */
    s.time = .5;
    assert_ok(clvox_shoot(harness_context(), shared.r.momentum, &shared.p.fixed->grid, &s, &half, NULL));
    s.time = -1;
    assert_ok(clvox_shoot(harness_context(), shared.r.momentum, &shared.p.fixed->grid, &s, &back, NULL));
    double one = 0, other = 0, opposite = 0;
    for (size_t i = 0; i < 3 * clvox_grid_voxels(&warp->grid); i++) {
        one += (double)warp->data[i] * (double)warp->data[i];
        other += (double)warp->data[i] * (double)half->data[i];
        opposite += (double)warp->data[i] * (double)back->data[i];
    }
    assert_that(fabs(other / one - .5) < .05 && opposite < -.8 * one, "%g, %g of %g", other, opposite, one);
    clvox_volume_destroy(&back);
    /* No momentum, no way. */
    s.time = 0;
    assert_ok(clvox_shoot(harness_context(), shared.r.momentum, &shared.p.fixed->grid, &s, &back, NULL));
    for (size_t i = 0; i < 3 * clvox_grid_voxels(&warp->grid); i++)
        assert_true(back->data[i] == 0);
    clvox_volume_destroy(&warp);
    clvox_volume_destroy(&inverse);
    clvox_volume_destroy(&half);
    clvox_volume_destroy(&back);
}

/* A reference with its axes in another order, and the momentum as it is or likewise. */
static void it_knows_every_storage(void **state)
{
    (void)state;
    clvox_shoot_options s;
    const clv_orientation other = {{2, 0, 1}, {true, false, true}};
    clvox_volume *reference = NULL, *momentum = NULL, *want = NULL, *warp = NULL, *inverse = NULL;
    clvox_shoot_defaults(&s);
    assert_ok(clv_orientation_volume(shared.p.fixed, &other, NULL, &reference));
    assert_ok(clv_orientation_volume(shared.r.momentum, &other, NULL, &momentum));
    assert_ok(clv_orientation_volume(shared.r.warp, &other, NULL, &want));
    assert_true(momentum->flow.gamma > 0);
    for (int i = 0; i < 2; i++) {
        double largest;
        assert_ok(clvox_shoot(harness_context(), i ? momentum : shared.r.momentum, &reference->grid, &s,
                              &warp, &inverse));
        assert_true(clvox_grid_equal(&warp->grid, &reference->grid) && clvox_grid_equal(&inverse->grid, &reference->grid));
        double apart = pair_distance(want, warp, NULL, &largest);
        assert_that(apart < 1e-5 && largest < 5e-3, "%g, %g", apart, largest);
        clvox_volume_destroy(&warp);
        clvox_volume_destroy(&inverse);
    }
    /* Outputs of a registration of such an image lie as the image does. */
    clvox_register_options o = shared.o;
    clvox_register_result r;
    o.iterations[0] = 1;
    o.iterations[1] = 0;
    assert_ok(pair_register(harness_context(), reference, shared.p.moving, NULL, NULL, &o, &r));
    assert_int_equal(r.momentum->grid.size[2], shared.r.momentum->grid.size[1]);
    assert_memory_equal(&r.momentum->flow, &shared.r.momentum->flow, sizeof r.momentum->flow);
    clvox_register_result_destroy(&r);
    clvox_volume_destroy(&reference);
    clvox_volume_destroy(&momentum);
    clvox_volume_destroy(&want);
}

static void what_it_takes_is_the_momentums(void **state)
{
    (void)state;
    const clvox_flow of = shared.r.momentum->flow;
    clvox_volume quiet = *shared.r.momentum;
    clvox_volume *warp = NULL;
    clvox_shoot_options s;
    clvox_shoot_defaults(&s);
    assert_ok(clvox_shoot_settle(shared.r.momentum, &s));
    assert_true(s.alpha == of.alpha && s.beta == of.beta && s.gamma == of.gamma && s.timesteps == of.timesteps);
    assert_ok(clvox_shoot_settle(shared.r.momentum, &s));
    quiet.flow = (clvox_flow){0};
    clvox_shoot_defaults(&s);
    assert_ok(clvox_shoot_settle(&quiet, &s));
    assert_true(s.gamma == 1 && s.timesteps == 8 && fabs(s.alpha - 3 * pow(1.3, 2 / 3.)) < 1e-5 &&
                fabs(s.beta - 2 * s.alpha) < 1e-5);
    s.beta = 1;
    assert_int_equal(clvox_shoot(harness_context(), shared.r.momentum, &shared.p.fixed->grid, &s, &warp, NULL),
                     CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "found with the operator"));
    s.beta = of.beta;
    s.time = 9;
    assert_int_equal(clvox_shoot(harness_context(), shared.r.momentum, &shared.p.fixed->grid, &s, &warp, NULL),
                     CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "72 steps"));
    s.gamma = 0;
    assert_int_equal(clvox_shoot_settle(&quiet, &s), CLVOX_ERROR_ARGUMENT);
}

/* Time steps too long for a momentum lead to no flow. */
static void what_steps_cannot_follow_is_refused(void **state)
{
    (void)state;
    flow_problem p;
    clvox_register_options o;
    clvox_volume *strong = NULL, *warp = NULL, *inverse = NULL;
    clvox_shoot_options s;
    level_options(&o, 4);
    flow_problem_make(harness_context(), &p, (int[3]){23, 21, 19}, (double[3]){1, 1.2, 1.5}, &o);
    float *m = flow_problem_field(&p, 3, 1);
    clv_flow_descent d = {.flow = p.flow, .lambda = p.flow.lambda};
    for (int k = 0; k < 2; k++) {
        double energy, mean;
        set(&p, m, m, k ? 1000 : 3);
        assert_ok(clv_shooting_steps.look(&d, &energy, &mean));
        assert_that(k ? energy == INFINITY : isfinite(energy), "%g", energy);
    }
    free(m);
    flow_problem_free(&p);
    assert_ok(clvox_volume_create(&shared.r.momentum->grid, 3, CLVOX_KIND_DISPLACEMENT, &strong));
    strong->flow = shared.r.momentum->flow;
    for (size_t i = 0; i < 3 * clvox_grid_voxels(&strong->grid); i++)
        strong->data[i] = 300 * shared.r.momentum->data[i];
    clvox_shoot_defaults(&s);
    assert_int_equal(clvox_shoot(harness_context(), strong, &shared.p.fixed->grid, &s, &warp, &inverse),
                     CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "cannot follow this momentum to time 1"));
    assert_true(!warp && !inverse);
    clvox_volume_destroy(&strong);
}

static void another_grid_is_refused(void **state)
{
    (void)state;
    clvox_shoot_options s;
    clvox_volume *warp = NULL;
    clvox_grid other = shared.p.fixed->grid;
    other.to_ras[0][3] += 40;
    clvox_shoot_defaults(&s);
    assert_int_equal(clvox_shoot(harness_context(), shared.r.momentum, &other, &s, &warp, NULL),
                     CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "another grid"));
    assert_null(warp);
    s.timesteps = 3;
    assert_int_equal(
        clvox_shoot(harness_context(), shared.r.momentum, &shared.p.fixed->grid, &s, &warp, NULL),
        CLVOX_ERROR_ARGUMENT);
}

int main(void)
{
    harness_open();
    test_case(the_energy_of_a_geodesic_is_kept, "the energy of a geodesic is kept, with order 4");
    test_case(the_total_momentum_is_kept, "the total momentum is kept away from the border");
    test_case(the_adjoint_of_a_geodesic, "the adjoint of a geodesic against differences and the reference");
    test_case(the_gradient_against_finite_differences, "the gradient against finite differences");
    test_set_up(maps_set_up);
    test_case(coarser_levels_take_fewer_steps, "coarser levels take fewer steps");
    test_case(it_recovers_a_known_warp_and_repeats, "recovers a known warp as syn and lddmm do, repeats");
    test_case(small_steps_of_all_models_agree, "small steps of greedy, lddmm and shooting agree");
    test_case(small_flows_end_alike, "small flows of lddmm and shooting end alike");
    test_case(steps_that_are_kept_lead_further, "a part of each step kept leads further");
    test_case(its_momentum_gives_its_map, "its momentum gives its map, and other times");
    test_case(it_knows_every_storage, "axes in another order give the same map");
    test_case(what_it_takes_is_the_momentums, "operator and time steps are the momentum's");
    test_case(what_steps_cannot_follow_is_refused, "a momentum that the time steps cannot follow is refused");
    test_case(another_grid_is_refused, "a momentum on another grid is refused");
    test_tear_down(maps_tear_down);
    return test_run("shooting", harness_close);
}
