/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/solvers/conjugate_gradient.h"
#include "bench/papers/op/solvers/multigrid.h"
#include "op/harness.h"
#include "ref/fluid/conjugate_gradient.h"
#include "ref/fluid/fluid_operator.h"

static const clv_fluid_operator problems[] = {
    {{11, 7, 5}, {.8f, 1.25f, 2}, .01f, .01f, .001f, false},
    {{11, 7, 5}, {.8f, 1.25f, 2}, .01f, 0, .001f, true},
    {{1, 1, 1}, {1, 1, 1}, 1, 1, .5f, false},
    {{1, 6, 5}, {1, 1, 3}, 1, 2, .5f, true},
    {{10, 1, 3}, {1, 1, 1}, 1, .5f, .1f, false},
    {{37, 13, 11}, {1, 1, 1}, .01f, .02f, .001f, true},
    {{67, 13, 11}, {1, 1, 1.5f}, .02f, 0, .001f, false},
    {{33, 34, 31}, {1, 1, 1}, .01f, .01f, .001f, false},
};
enum { PROBLEMS = sizeof problems / sizeof *problems, TINY = 5, SMALL = 2 };
/* In place of the first where there is not the time for hundreds of iterations on them. */
static const clv_fluid_operator small[SMALL] = {
    {{5, 3, 4}, {.8f, 1.25f, 2}, .01f, .01f, .001f, false},
    {{5, 3, 4}, {.8f, 1.25f, 2}, .01f, 0, .001f, true},
};

typedef struct given {
    clvox_context *ctx;
    size_t n, bytes;
    double *v, *f, *got; /* f = L v */
    float *host;
    clv_buffer *known, *there;
    clv_cg_workspace workspace;
} given;

static void begin(clvox_context *ctx, const clv_fluid_operator *op, given *g)
{
    g->ctx = ctx;
    g->n = (size_t)op->size[0] * (size_t)op->size[1] * (size_t)op->size[2];
    g->bytes = 3 * g->n * sizeof(float);
    g->host = malloc(g->bytes);
    g->v = malloc(9 * g->n * sizeof *g->v);
    g->f = g->v + 3 * g->n;
    g->got = g->f + 3 * g->n;
    harness_random(g->host, 3 * g->n, 5, -1, 1);
    for (size_t i = 0; i < 3 * g->n; i++)
        g->v[i] = (double)g->host[i];
    ref_fluid_operator(op, g->v, g->f);
    for (size_t i = 0; i < 3 * g->n; i++) {
        g->host[i] = (float)g->f[i];
        g->f[i] = (double)g->host[i];
    }
    g->known = harness_upload_field(ctx, g->host, g->n);
    g->there = harness_output(ctx, g->bytes);
    clv_buffer **fields[] = {&g->workspace.residual, &g->workspace.direction, &g->workspace.product};
    for (int i = 0; i < 3; i++)
        *fields[i] = harness_output(ctx, g->bytes);
    g->workspace.partial = harness_output(ctx, 4 * CLV_FLUID_OPERATOR_PARTIALS);
    g->workspace.state = harness_output(ctx, 4 * CLV_CG_STATE);
    assert_ok(clv_buffer_fill(ctx, g->there, 0, 0, g->bytes));
}

static void download(given *g)
{
    harness_download_field(g->ctx, g->there, g->host, g->n);
    for (size_t i = 0; i < 3 * g->n; i++)
        g->got[i] = (double)g->host[i];
}

static void end(given *g)
{
    clv_buffer **all[] = {&g->known,
                          &g->there,
                          &g->workspace.residual,
                          &g->workspace.direction,
                          &g->workspace.product,
                          &g->workspace.partial,
                          &g->workspace.state};
    for (int i = 0; i < 7; i++)
        clv_buffer_destroy(all[i]);
    free(g->host);
    free(g->v);
}

/* The first iterations are those of the reference. */
static void follow(clvox_context *ctx, const clv_fluid_operator *op, int iterations)
{
    given g;
    clv_fluid_report report;
    double largest = 1e-30;
    begin(ctx, op, &g);
    const clv_fluid_problem problem = {*op, g.known, g.there, 0, iterations};
    assert_int_equal(clv_cg_solve(ctx, &problem, &g.workspace, &report), CLVOX_OK);
    download(&g);
    double *want = calloc(3 * g.n, sizeof *want);
    ref_conjugate_gradient(op, g.f, iterations, want);
    for (size_t i = 0; i < 3 * g.n; i++)
        largest = fmax(largest, fabs(want[i]));
    double error = harness_error(g.host, want, 3 * g.n, 2e-5 * largest, 0);
    assert_that(error <= 1, "%dx%dx%d, %d iterations: error %g", op->size[0], op->size[1], op->size[2],
                report.iterations, error);
    free(want);
    end(&g);
}

static void solve(clvox_context *ctx, const clv_fluid_operator *op, double tolerance)
{
    given g;
    clv_fluid_report report;
    double least, most, off = 0, square = 0;
    begin(ctx, op, &g);
    float *first = malloc(g.bytes);
    clv_fluid_problem problem = {*op, g.known, g.there, tolerance, 400};
    assert_int_equal(clv_cg_solve(ctx, &problem, &g.workspace, &report), CLVOX_OK);
    int took = report.iterations;
    double left = report.left;
    download(&g);
    memcpy(first, g.host, g.bytes);
    double really = ref_fluid_operator_residual(op, g.got, g.f);
    assert_that(left <= tolerance && took < 400, "%g is left after %d iterations", left, took);
    assert_that(really <= 1.05 * tolerance + 3e-7, "in truth %g is left, not %g", really, left);
    clv_mg_bounds(op, &least, &most);
    for (size_t i = 0; i < 3 * g.n; i++) {
        off += (g.got[i] - g.v[i]) * (g.got[i] - g.v[i]);
        square += g.f[i] * g.f[i];
    }
    assert_that(sqrt(off) <= 1.1 * (tolerance + 3e-7) * sqrt(square) / least, "off by %g", sqrt(off));
    /* |e_k|_L <= 2 ((sqrt c - 1) / (sqrt c + 1))^k |e_0|_L, and |r| within sqrt c of it. */
    double c = most / least, slope = (sqrt(c) - 1) / (sqrt(c) + 1);
    int bound = slope > 0 ? (int)ceil(log(tolerance / (2 * sqrt(c))) / log(slope)) : 1;
    assert_that(took <= bound, "%d iterations, at most %d", took, bound);
    assert_ok(clv_buffer_fill(ctx, g.there, 0, 0, g.bytes));
    assert_int_equal(clv_cg_solve(ctx, &problem, &g.workspace, &report), CLVOX_OK);
    download(&g);
    assert_true(report.iterations == took && !memcmp(first, g.host, g.bytes));
    problem.tolerance = 1.5 * tolerance;
    assert_int_equal(clv_cg_solve(ctx, &problem, &g.workspace, &report), CLVOX_OK);
    download(&g);
    assert_that(report.iterations == 0 && !memcmp(first, g.host, g.bytes), "from the solution %d iterations",
                report.iterations);
    free(first);
    end(&g);
}

static const clv_entry *const entries[] = {&clv_entry_cg_descend, &clv_entry_cg_direction,
                                           &clv_entry_cg_total};

static void four_iterations_against_the_reference(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    int count = harness_problems(TINY, PROBLEMS);
    for (int i = 0; i < count; i++)
        follow(ctx, &problems[i], 4);
}

static void known_solutions_are_found_within_the_bound(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    int count = harness_problems(SMALL + 1, PROBLEMS);
    for (int i = 0; i < count; i++)
        solve(ctx, i < SMALL && count < PROBLEMS ? &small[i] : &problems[i], 1e-5);
}

static void of_nothing_comes_nothing(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    given g;
    clv_fluid_report report;
    begin(ctx, &problems[0], &g);
    assert_ok(clv_buffer_fill(ctx, g.known, 0, 0, g.bytes));
    assert_int_equal(clv_cg_solve(ctx, &(clv_fluid_problem){problems[0], g.known, g.there, 1e-5, 10},
                                  &g.workspace, &report),
                     CLVOX_OK);
    assert_true(report.iterations == 0 && !(report.left > 0));
    end(&g);
}

int main(void)
{
    harness_open();
    for (int e = 0; e < 3; e++)
        harness_cases(entries[e], four_iterations_against_the_reference, NULL, 0,
                      "four iterations against the reference");
    test_case(known_solutions_are_found_within_the_bound,
              "known solutions are found, within the bound, twice the same");
    test_case(of_nothing_comes_nothing, "of nothing comes nothing");
    return test_run("conjugate gradient", harness_close);
}
