/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "bench/papers/op/solvers/multigrid.h"
#include "bench/papers/op/solvers/sor.h"
#include "ref/fluid/fluid_operator.h"
#include "bench/papers/ref/sor.h"

static const clv_fluid_operator problems[] = {
    {{11, 7, 5}, {.8f, 1.25f, 2}, .01f, 0, .001f, false},
    {{12, 8, 6}, {.8f, 1.25f, 2}, .01f, 0, .001f, true},
    {{1, 1, 1}, {1, 1, 1}, 1, 0, .5f, false},
    {{1, 6, 4}, {1, 1, 3}, 1, 0, .5f, true},
    {{10, 1, 3}, {1, 1, 1}, 1, 0, .1f, false},
    {{2, 2, 2}, {1, 1, 1}, .3f, 0, .1f, true},
    {{67, 13, 11}, {1, 1, 1}, 1, 0, .1f, false},
    {{34, 36, 22}, {1, 1, 1}, 1, 0, .1f, true},
    {{41, 37, 35}, {1, 1, 1}, 1, 0, .01f, false},
    {{61, 29, 67}, {.8f, 1.25f, 2}, .01f, 0, .001f, false},
    {{6, 60, 130}, {1.5f, 1, .7f}, .01f, 0, .01f, true},
    {{38, 54, 1}, {1.5f, 1, .7f}, .01f, 0, .01f, true},
    {{37, 51, 1}, {1.5f, 1, .7f}, .01f, 0, .01f, false},
    {{52, 3, 20}, {1, 1, 1}, 1, 0, .1f, false},
    {{26, 2, 4}, {1, 1, 1}, 1, 0, .1f, true},
};
enum { PROBLEMS = sizeof problems / sizeof *problems, TINY = 6 };

/* For the simulator, whose time goes by work-items: blocks of the smallest tile meet along x and y, and
 * along z, as slabs do. */
static const clv_fluid_operator meeting[] = {
    {{30, 29, 2}, {.8f, 1.25f, 2}, .01f, 0, .001f, false},
    {{2, 2, 66}, {.8f, 1.25f, 2}, .01f, 0, .001f, true},
};

static size_t voxels_of(const clv_fluid_operator *op)
{
    return (size_t)op->size[0] * (size_t)op->size[1] * (size_t)op->size[2];
}

static void sweep(clvox_context *ctx, const clv_fluid_operator *op, int sweeps)
{
    size_t n = voxels_of(op), bytes = 3 * n * sizeof(float);
    float *v = malloc(2 * bytes), *f = v + 3 * n, *got = malloc(2 * bytes);
    double *want = malloc(6 * n * sizeof *want), *known = want + 3 * n, largest = 0;
    harness_random(v, 6 * n, 3 + (unsigned)n, -1, 1);
    for (size_t i = 0; i < 6 * n; i++)
        want[i] = (double)v[i];
    float omega = (float)clv_sor_omega(op);
    ref_sor(op, known, (double)omega, sweeps, want);
    for (size_t i = 0; i < 3 * n; i++)
        largest = fmax(largest, fabs(want[i]));
    clv_buffer *known_there = harness_upload_field(ctx, f, n), *other = harness_output(ctx, bytes);
    bool again = !harness_simulated(); /* it repeats itself */
    for (int twice = 0; twice <= again; twice++) {
        clv_buffer *there = harness_upload_field(ctx, v, n);
        assert_int_equal(clv_sor(ctx, op, known_there, omega, sweeps, there, other), CLVOX_OK);
        harness_download_field(ctx, there, got + (twice ? 3 * n : 0), n);
        clv_buffer_destroy(&there);
    }
    double error = harness_error(got, want, 3 * n, 4e-6 * largest, 0);
    assert_that(error <= 1, "%dx%dx%d%s, %d sweeps: error %g", op->size[0], op->size[1], op->size[2],
                op->periodic ? " periodic" : "", sweeps, error);
    if (again)
        assert_memory_equal(got, got + 3 * n, bytes);
    clv_buffer_destroy(&known_there);
    clv_buffer_destroy(&other);
    free(v);
    free(got);
    free(want);
}

/* A solution that is known: f = L v, from 0. */
static void solve(clvox_context *ctx, const clv_fluid_operator *op, double tolerance)
{
    size_t n = voxels_of(op), bytes = 3 * n * sizeof(float);
    float *host = malloc(bytes);
    double *v = malloc(9 * n * sizeof *v), *f = v + 3 * n, *got = f + 3 * n;
    double least, most, square = 0, off = 0;
    clv_fluid_report report;
    harness_random(host, 3 * n, 5, -1, 1);
    for (size_t i = 0; i < 3 * n; i++)
        v[i] = (double)host[i];
    ref_fluid_operator(op, v, f);
    for (size_t i = 0; i < 3 * n; i++)
        host[i] = (float)f[i];
    clv_buffer *known = harness_upload_field(ctx, host, n), *there = harness_output(ctx, bytes);
    clv_buffer *other = harness_output(ctx, bytes), *state = harness_output(ctx, 8);
    clv_buffer *partial = harness_output(ctx, 4 * CLV_FLUID_OPERATOR_PARTIALS);
    assert_ok(clv_buffer_fill(ctx, there, 0, 0, bytes));
    clv_fluid_problem problem = {*op, known, there, tolerance, 400};
    const clv_sor_workspace workspace = {other, partial, state};
    assert_int_equal(clv_sor_solve(ctx, &problem, &workspace, &report), CLVOX_OK);
    double left = report.left;
    int first = report.iterations;
    harness_download_field(ctx, there, host, n);
    for (size_t i = 0; i < 3 * n; i++) {
        got[i] = (double)host[i];
        off += (got[i] - v[i]) * (got[i] - v[i]);
        square += f[i] * f[i];
    }
    double really = ref_fluid_operator_residual(op, got, f);
    assert_that(left <= tolerance && first < 400, "%g is left after %d sweeps", left, first);
    assert_that(really <= 1.05 * tolerance + 1e-7, "in truth %g is left, not %g", really, left);
    clv_mg_bounds(op, &least, &most);
    assert_that(sqrt(off) <= 1.1 * (tolerance + 1e-7) * sqrt(square) / least, "off by %g", sqrt(off));
    problem.tolerance = 1.5 * tolerance;
    assert_int_equal(clv_sor_solve(ctx, &problem, &workspace, &report), CLVOX_OK);
    assert_that(report.iterations == 0, "from the solution %d sweeps, from 0 %d", report.iterations, first);
    clv_buffer_destroy(&known);
    clv_buffer_destroy(&there);
    clv_buffer_destroy(&other);
    clv_buffer_destroy(&partial);
    clv_buffer_destroy(&state);
    free(host);
    free(v);
}

/* By how much the error shrinks a sweep in the end, of the reference from the
 * slowest waves: an estimate of the spectral radius. */
static double rate(const clv_fluid_operator *op, double omega)
{
    const double pi = acos(-1);
    enum { FIRST = 40, LAST = 70 };
    size_t n = voxels_of(op);
    double *v = calloc(6 * n, sizeof *v), *f = v + 3 * n, before = 0, after = 0;
    for (size_t i = 0; i < n; i++) {
        double wave = 1;
        size_t rest = i;
        for (int a = 0; a < 3; a++) {
            wave *= op->periodic ? 1 : sin(pi * (double)(rest % (size_t)op->size[a] + 1) / (op->size[a] + 1));
            rest /= (size_t)op->size[a];
        }
        v[i] = wave;
    }
    ref_sor(op, f, omega, FIRST, v);
    for (size_t i = 0; i < n; i++)
        before += v[i] * v[i];
    ref_sor(op, f, omega, LAST - FIRST, v);
    for (size_t i = 0; i < n; i++)
        after += v[i] * v[i];
    free(v);
    return pow(after / before, .5 / (LAST - FIRST));
}

static void check_rate(const clv_fluid_operator *op)
{
    double omega = clv_sor_omega(op), low = omega - .1, high = omega + .1;
    double best = rate(op, omega), less = rate(op, low), more = rate(op, high);
    double near, centre = (double)op->gamma, mu = 0;
    for (int a = 0; a < 3; a++) {
        near = (double)op->alpha / ((double)op->spacing[a] * (double)op->spacing[a]);
        centre += 2 * near;
        mu += 2 * near * (op->periodic ? 1 : cos(acos(-1) / (op->size[a] + 1)));
    }
    mu /= centre;
    /* With too little, the larger root of rate - omega mu sqrt(rate) + omega - 1. */
    double root = (low * mu + sqrt(low * low * mu * mu - 4 * (low - 1))) / 2;
    assert_that(fabs(less - root * root) < .005, "omega %g: rate %g, not %g", low, less, root * root);
    /* With too much, the roots are complex: the error swings about as it falls. */
    assert_that(fabs(more - (high - 1)) < .06, "omega %g: rate %g, not %g", high, more, high - 1);
    /* At the best one the root is double: an error that falls as k rate^k. */
    assert_that(best > omega - 1 - .005 && best < (omega - 1) * 1.05, "rate %g, not %g", best, omega - 1);
}

static void sor_sweeps_against_the_reference(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    const clv_tile *tile = &harness_variant()->tiles[harness_tile()];
    /* In the simulator blocks cost as much for a voxel as for many. */
    int count = harness_simulated() && tile->march > 1 ? TINY / 2 : harness_problems(TINY, PROBLEMS);
    static const int few[TINY] = {1, 2, 3, 1, 2, 1};
    for (int i = 0; i < count; i++)
        sweep(ctx, &problems[i], harness_simulated() ? few[i] : 1 + i % 5);
    bool smallest = (tile->march > 1 || harness_variant()->item[1] == CLV_WHOLE) && !tile[1].x;
    for (int i = 0; i < 2 && harness_simulated() && smallest; i++)
        sweep(ctx, &meeting[i], 2 - i);
}

static void known_solutions_are_found(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    int count = harness_problems(TINY, PROBLEMS);
    for (int i = 0; i < count; i++) {
        /* In the simulator blocks, which cost as much for a voxel as for many, solve for one voxel alone. */
        bool rows = harness_simulated() && voxels_of(&problems[i]) > 1;
        assert_ok(clv_force_variant(ctx, clv_entry_sor.name, rows ? "row" : NULL, -1));
        solve(ctx, &problems[i], 1e-5);
    }
}

static void the_rate_of_convergence_is_the_theorys(void **state)
{
    (void)state;
    check_rate(&(clv_fluid_operator){{12, 10, 9}, {1, 1, 1}, .01f, 0, .001f, false});
    check_rate(&(clv_fluid_operator){{12, 10, 8}, {1, 1.5f, 1}, .01f, 0, .001f, true});
}

static void operators_without_two_colours_are_refused(void **state)
{
    (void)state;
    clv_fluid_operator bad = problems[1];
    bad.beta = 1;
    assert_int_equal(clv_sor_check(&bad), CLVOX_ERROR_ARGUMENT);
    bad = problems[1];
    bad.size[2] = 7;
    assert_int_equal(clv_sor_check(&bad), CLVOX_ERROR_ARGUMENT);
    bad.periodic = false;
    assert_int_equal(clv_sor_check(&bad), CLVOX_OK);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_sor, sor_sweeps_against_the_reference, NULL, 0, "sweeps against the reference");
    test_case(known_solutions_are_found, "known solutions are found");
    test_case(the_rate_of_convergence_is_the_theorys, "the rate of convergence is the theory's");
    test_case(operators_without_two_colours_are_refused, "operators without two colours are refused");
    return test_run("sor", harness_close);
}
