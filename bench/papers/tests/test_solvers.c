/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/solvers/solvers.h"

#include "op/harness.h"
#include "ref/fluid/fluid_operator.h"
#include "ref/fluid/solve.h"

/* Anisotropic, prime and even sides, sheets and lines, components apart and together, both borders;
 * kernels of one to three voxels, so that padded grids stay small. */
static const clv_fluid_operator problems[] = {
    {{11, 7, 5}, {.8f, 1.25f, 2}, .01f, .01f, .01f, false},
    {{10, 6, 4}, {.8f, 1.25f, 2}, .01f, 0, .001f, true},
    {{1, 6, 5}, {1, 1, 3}, 1, 2, .5f, true},
    {{9, 1, 3}, {1, 1, 1}, 1, .5f, .5f, false},
    {{13, 7, 5}, {1, 1, 1.5f}, .02f, .01f, .02f, true},
    {{11, 7, 4}, {1, 1, 1.5f}, .02f, 0, .04f, false},
};
enum { PROBLEMS = sizeof problems / sizeof *problems, TINY = 4 };
static const double TOLERANCE = 1e-5;

static int problem_count(void)
{
    return getenv("CLVOX_TEST_TINY") ? TINY : PROBLEMS;
}

static size_t voxels_of(const clv_fluid_operator *op)
{
    return (size_t)op->size[0] * (size_t)op->size[1] * (size_t)op->size[2];
}

/* Whether a solver takes an operator: sor wants two colours. */
static bool takes(int kind, const clv_fluid_operator *op)
{
    bool odd = false;
    for (int a = 0; a < 3; a++)
        odd |= op->size[a] > 1 && op->size[a] % 2;
    return kind != CLV_SOLVERS_SOR || !(op->beta > 0 || (op->periodic && odd));
}

/* A solver with its workspace, a force and a place for what comes of it. */
typedef struct given {
    clvox_context *ctx;
    clv_fluid_operator op;
    size_t n;
    clv_solvers solver;
    clv_buffer *known, *there;
    float *host;
    double *f, *want, *got;
} given;

static void begin(given *g, const clv_fluid_operator *op, const clv_solvers_options *o)
{
    size_t n = voxels_of(op);
    *g = (given){.ctx = harness_context(), .op = *op, .n = n};
    g->host = malloc(12 * n);
    g->f = malloc(9 * n * sizeof *g->f);
    g->want = g->f + 3 * n;
    g->got = g->want + 3 * n;
    harness_random(g->host, 3 * n, 11, -1, 1);
    for (size_t i = 0; i < 3 * n; i++)
        g->f[i] = (double)g->host[i];
    g->known = harness_upload_field(g->ctx, g->host, n);
    g->there = harness_output(g->ctx, 12 * n);
    assert_ok(clv_solvers_create(g->ctx, op, o, &g->solver));
}

static void run(given *g, bool warm, clv_solvers_report *report)
{
    if (report)
        *report = (clv_solvers_report){0};
    assert_ok(clv_solvers_solve(g->ctx, &g->solver, g->known, g->there, warm, report));
    harness_download_field(g->ctx, g->there, g->host, g->n);
    for (size_t i = 0; i < 3 * g->n; i++)
        g->got[i] = (double)g->host[i];
}

static void end(given *g)
{
    clv_solvers_destroy(&g->solver);
    clv_buffer_destroy(&g->known);
    clv_buffer_destroy(&g->there);
    free(g->host);
    free(g->f);
}

static double largest_of(const double *v, size_t count)
{
    double largest = 1e-30;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(v[i]));
    return largest;
}

/* v is the reference's, and what the residual says of it; a guess that is the solution stays. */
static void finds(int kind, const clv_fluid_operator *op)
{
    const clv_solvers_options o = {(clv_solvers_kind)kind, TOLERANCE, 400};
    const char *name = clv_solvers_name(kind);
    given g;
    int wide[3];
    clv_solvers_report report;
    begin(&g, op, &o);
    bool padded = kind == CLV_SOLVERS_FFT && !op->periodic;
    clv_solver_grid(op, wide);
    ref_solve(op, padded ? wide : NULL, g.f, g.want);
    run(&g, false, &report);
    if (kind == CLV_SOLVERS_HYBRID && !op->periodic)
        run(&g, true, &report);
    double scale = largest_of(g.want, 3 * g.n), least, most;
    clv_mg_bounds(op, &least, &most);
    double allowed =
        kind == CLV_SOLVERS_FFT ? 1e-5 * scale : 1e-5 * scale + TOLERANCE * sqrt(3.0 * (double)g.n) / least;
    double error = harness_error(g.host, g.want, 3 * g.n, allowed, 0);
    assert_that(error <= 1, "%s, %dx%dx%d: off by %g", name, op->size[0], op->size[1], op->size[2], error);
    double left = ref_fluid_operator_residual(op, g.got, g.f);
    assert_that(padded || left <= 1.1 * TOLERANCE + 1e-6, "%s, %dx%dx%d: %g is left", name, op->size[0],
                op->size[1], op->size[2], left);
    assert_true(report.iterations >= 1 && report.iterations < 400 && report.left <= TOLERANCE);
    float *first = malloc(12 * g.n);
    memcpy(first, g.host, 12 * g.n);
    run(&g, true, &report);
    for (size_t i = 0; i < 3 * g.n; i++)
        assert_true(fabs((double)(g.host[i] - first[i])) <= allowed);
    assert_that(report.iterations <= 8, "%s: %ld iterations from the solution", name, report.iterations);
    free(first);
    end(&g);
}

static void all_find_what_the_reference_does(void **state)
{
    const int *at = *state;
    for (int i = 0; i < problem_count(); i++)
        if (takes(at[0], &problems[i]))
            finds(at[0], &problems[i]);
}

/* A wave along the diagonal whose components point one way: an eigenvector of the periodic L with beta, by
 * hand. L of K of it is itself to 1e-5. */
static void waves_come_back_by_their_eigenvalue(void **state)
{
    const clv_fluid_operator op = {{14, 9, 5}, {1, .8f, 1.5f}, .02f, .03f, .004f, true};
    const clv_solvers_options o = {(clv_solvers_kind)((const int *)*state)[0], 1e-7, 400};
    const double pi = acos(-1);
    const int waves[] = {2, 1, 1};
    double s[3], value = (double)op.gamma, angle[3];
    given g;
    begin(&g, &op, &o);
    for (int a = 0; a < 3; a++) {
        angle[a] = 2 * pi * waves[a] / op.size[a];
        s[a] = sin(angle[a]) / (double)op.spacing[a];
        value += (double)op.alpha * pow(2 * sin(angle[a] / 2) / (double)op.spacing[a], 2);
    }
    /* Only the off-diagonal part of beta acts in the plane across the sines: take a v with v . s = 0 and correct
     * for what second differences and products of first ones differ by. */
    const double direction[3] = {s[1] * 2, -s[0] * 2, 0};
    for (int c = 0; c < 3; c++)
        for (size_t i = 0; i < g.n; i++) {
            double phase =
                angle[0] * (double)(i % 14) + angle[1] * (double)(i / 14 % 9) + angle[2] * (double)(i / 126);
            double own = pow(2 * sin(angle[c] / 2) / (double)op.spacing[c], 2) - s[c] * s[c];
            g.want[(size_t)c * g.n + i] = direction[c] * cos(phase);
            g.host[(size_t)c * g.n + i] =
                (float)((value + (double)op.beta * own) * direction[c] * cos(phase));
        }
    clv_buffer_destroy(&g.known);
    g.known = harness_upload_field(g.ctx, g.host, g.n);
    run(&g, false, NULL);
    double error = harness_error(g.host, g.want, 3 * g.n, 1e-5 * largest_of(g.want, 3 * g.n), 0);
    assert_that(error <= 1, "%s: off by %g", clv_solvers_name((int)o.kind), error);
    end(&g);
}

static void what_no_solver_takes_is_refused(void **state)
{
    clv_solvers_options o = {CLV_SOLVERS_SOR, 1e-3, 10};
    clv_fluid_operator op = problems[0];
    clv_solvers solver;
    (void)state;
    assert_int_equal(clv_solvers_create(harness_context(), &op, &o, &solver), CLVOX_ERROR_ARGUMENT);
    o.kind = CLV_SOLVERS_CG;
    o.most = 0;
    assert_int_equal(clv_solvers_create(harness_context(), &op, &o, &solver), CLVOX_ERROR_ARGUMENT);
    o.kind = CLV_SOLVERS_FFT;
    op.gamma = 0;
    assert_int_equal(clv_solvers_create(harness_context(), &op, &o, &solver), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "gamma"));
}

int main(void)
{
    harness_open();
    /* Solvers' kernels are simulated by the tests of their operations; here they would take an hour. */
    for (int kind = 0; kind < CLV_SOLVERS && !harness_simulated(); kind++) {
        test_case_at(all_find_what_the_reference_does, TEST_AT(kind), "%s finds what the reference does",
                     clv_solvers_name(kind));
        if (kind != CLV_SOLVERS_SOR)
            test_case_at(waves_come_back_by_their_eigenvalue, TEST_AT(kind),
                         "%s: waves come back by their eigenvalue", clv_solvers_name(kind));
    }
    test_case(what_no_solver_takes_is_refused, "what no solver takes is refused");
    return test_run("solvers", harness_close);
}
