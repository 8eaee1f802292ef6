/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/fourier.h"
#include "op/fluid/solve.h"
#include "op/harness.h"
#include "ref/fluid/fluid_operator.h"
#include "ref/fluid/solve.h"

/* Anisotropic, prime and even sides, sheets and lines, components apart and together, both borders; kernels of
 * one to three voxels, so that padded grids stay small. */
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
    return kind != CLV_SOLVER_SOR || !(op->beta > 0 || (op->periodic && odd));
}

/* A solver with its workspace, a force and a place for what comes of it. */
typedef struct given {
    clvox_context *ctx;
    clv_fluid_operator op;
    size_t n;
    clv_solver_workspace workspace;
    clv_request list[CLV_SOLVER_REQUESTS];
    int count;
    clv_solver *solver;
    clv_buffer *known, *there;
    float *host;
    double *f, *want, *got;
} given;

static void begin(given *g, const clv_fluid_operator *op, const clv_solver_options *o)
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
    g->count = clv_solver_requests(op, o, &g->workspace, g->list);
    assert_true(g->count <= CLV_SOLVER_REQUESTS);
    assert_true(clv_pool_bytes(g->list, g->count) == clv_solver_bytes(op, o));
    assert_ok(clv_pool_take(g->ctx, g->list, g->count));
    assert_ok(clv_solver_create(g->ctx, op, o, &g->workspace, &g->solver));
}

static void run(given *g, bool warm, clv_solver_report *report)
{
    assert_ok(clv_solver_solve(g->ctx, g->solver, g->known, g->there, warm, report));
    harness_download_field(g->ctx, g->there, g->host, g->n);
    for (size_t i = 0; i < 3 * g->n; i++)
        g->got[i] = (double)g->host[i];
}

static void end(given *g)
{
    clv_solver_destroy(&g->solver);
    clv_pool_release(g->list, g->count);
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
    const clv_solver_options o = {(clv_solver_kind)kind, TOLERANCE, 400};
    const char *name = clv_solver_name(kind);
    given g;
    int wide[3];
    clv_solver_report report;
    begin(&g, op, &o);
    bool padded = kind == CLV_SOLVER_FFT && !op->periodic;
    clv_solver_grid(op, wide);
    ref_solve(op, padded ? wide : NULL, g.f, g.want);
    run(&g, false, &report);
    if (kind == CLV_SOLVER_HYBRID && !op->periodic)
        run(&g, true, &report);
    double scale = largest_of(g.want, 3 * g.n), least, most;
    clv_fluid_operator_bounds(op, &least, &most);
    double allowed = kind == CLV_SOLVER_FFT ? 1e-5 * scale : 1e-5 * scale + TOLERANCE * sqrt(3.0 * (double)g.n) / least;
    double error = harness_error(g.host, g.want, 3 * g.n, allowed, 0);
    assert_that(error <= 1, "%s, %dx%dx%d: off by %g", name, op->size[0], op->size[1], op->size[2], error);
    double left = ref_fluid_operator_residual(op, g.got, g.f);
    assert_that(padded || left <= 1.1 * TOLERANCE + 1e-6, "%s, %dx%dx%d: %g is left", name, op->size[0], op->size[1],
                op->size[2], left);
    assert_true(report.iterations >= 1 && report.iterations < 400 && report.left <= TOLERANCE && report.bytes > 0);
    float *first = malloc(12 * g.n);
    memcpy(first, g.host, 12 * g.n);
    run(&g, true, &report);
    for (size_t i = 0; i < 3 * g.n; i++)
        assert_true(fabs((double)(g.host[i] - first[i])) <= allowed);
    assert_that(report.iterations <= 8, "%s: %d iterations from the solution", name, report.iterations);
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
    const clv_solver_options o = {(clv_solver_kind)((const int *)*state)[0], 1e-7, 400};
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
    /* Of beta only what is beside the diagonal acts in the plane across the sines: take a v with
     * v . s = 0 and correct for what second differences and products of first ones differ by. */
    const double direction[3] = {s[1] * 2, -s[0] * 2, 0};
    for (int c = 0; c < 3; c++)
        for (size_t i = 0; i < g.n; i++) {
            double phase = angle[0] * (double)(i % 14) + angle[1] * (double)(i / 14 % 9) + angle[2] * (double)(i / 126);
            double own = pow(2 * sin(angle[c] / 2) / (double)op.spacing[c], 2) - s[c] * s[c];
            g.want[(size_t)c * g.n + i] = direction[c] * cos(phase);
            g.host[(size_t)c * g.n + i] = (float)((value + (double)op.beta * own) * direction[c] * cos(phase));
        }
    clv_buffer_destroy(&g.known);
    g.known = harness_upload_field(g.ctx, g.host, g.n);
    run(&g, false, NULL);
    double error = harness_error(g.host, g.want, 3 * g.n, 1e-5 * largest_of(g.want, 3 * g.n), 0);
    assert_that(error <= 1, "%s: off by %g", clv_solver_name((int)o.kind), error);
    end(&g);
}

/* What pulls at one face is not felt at the other, and on a periodic grid it is. */
static void a_head_does_not_feel_its_other_side(void **state)
{
    const clv_solver_options o = {CLV_SOLVER_FFT, 0, 1};
    double felt[2];
    (void)state;
    for (int periodic = 0; periodic < 2; periodic++) {
        const clv_fluid_operator op = {{20, 7, 6}, {2, 2, 2}, .02f, .01f, .002f, periodic};
        given g;
        begin(&g, &op, &o);
        memset(g.host, 0, 12 * g.n);
        for (size_t i = 0; i < g.n; i += 20)
            g.host[g.n + i] = 1;
        clv_buffer_destroy(&g.known);
        g.known = harness_upload_field(g.ctx, g.host, g.n);
        run(&g, false, NULL);
        felt[periodic] = fabs(g.got[g.n + 20 * 24 + 19] / g.got[g.n + 20 * 24]);
        end(&g);
    }
    assert_that(felt[0] < 1e-3 && felt[1] > .2, "the other side feels %g, on a periodic grid %g", felt[0], felt[1]);
}

static void fields_fit_larger_and_smaller_grids(void **state)
{
    const int sizes[][2][3] = {{{5, 4, 3}, {9, 6, 4}}, {{9, 6, 4}, {5, 4, 3}}, {{7, 1, 5}, {4, 3, 6}}};
    clvox_context *ctx = harness_context();
    (void)state;
    for (int k = 0; k < 3; k++) {
        const int *a = sizes[k][0], *b = sizes[k][1];
        size_t n = (size_t)(a[0] * a[1] * a[2]), m = (size_t)(b[0] * b[1] * b[2]);
        float *from = malloc(12 * n), *to = malloc(12 * m);
        harness_random(from, 3 * n, 4, -1, 1);
        clv_buffer *in = harness_upload_field(ctx, from, n), *out = harness_output(ctx, 12 * m);
        assert_ok(clv_fft_fit(ctx, in, a, out, b));
        harness_download_field(ctx, out, to, m);
        for (int c = 0; c < 3; c++)
            for (int z = 0; z < b[2]; z++)
                for (int y = 0; y < b[1]; y++)
                    for (int x = 0; x < b[0]; x++) {
                        bool there = x < a[0] && y < a[1] && z < a[2];
                        float want = there ? from[((c * a[2] + z) * a[1] + y) * a[0] + x] : 0;
                        float got = to[((c * b[2] + z) * b[1] + y) * b[0] + x];
                        assert_true(!memcmp(&want, &got, sizeof got));
                    }
        clv_buffer_destroy(&in);
        clv_buffer_destroy(&out);
        free(from);
        free(to);
    }
}

static void what_no_solver_takes_is_refused(void **state)
{
    clv_solver_options o = {CLV_SOLVER_SOR, 1e-3, 10};
    clv_fluid_operator op = problems[0];
    const clv_solver_workspace workspace = {{NULL}, NULL, NULL, {NULL}};
    clv_solver *solver;
    (void)state;
    assert_int_equal(clv_solver_create(harness_context(), &op, &o, &workspace, &solver),
                     CLVOX_ERROR_ARGUMENT);
    o.kind = CLV_SOLVER_CG;
    o.most = 0;
    assert_int_equal(clv_solver_create(harness_context(), &op, &o, &workspace, &solver),
                     CLVOX_ERROR_ARGUMENT);
    o.kind = CLV_SOLVER_FFT;
    op.gamma = 0;
    assert_int_equal(clv_solver_create(harness_context(), &op, &o, &workspace, &solver),
                     CLVOX_ERROR_ARGUMENT);
    assert_true(strstr(clvox_message(), "gamma") && !solver);
}

int main(void)
{
    harness_open();
    /* Solvers' kernels are simulated by the tests of their operations; here they would take an hour. */
    for (int kind = 0; kind < CLV_SOLVERS && !harness_simulated(); kind++) {
        test_case_at(all_find_what_the_reference_does, TEST_AT(kind), "%s finds what the reference does",
                     clv_solver_name(kind));
        if (kind != CLV_SOLVER_SOR)
            test_case_at(waves_come_back_by_their_eigenvalue, TEST_AT(kind), "%s: waves come back by their eigenvalue",
                         clv_solver_name(kind));
    }
    if (!harness_simulated())
        test_case(a_head_does_not_feel_its_other_side, "a head does not feel its other side");
    harness_cases(&clv_entry_fft_fit, fields_fit_larger_and_smaller_grids, NULL, 0,
                  "fields fit larger and smaller grids");
    test_case(what_no_solver_takes_is_refused, "what no solver takes is refused");
    return test_run("solver", harness_close);
}
