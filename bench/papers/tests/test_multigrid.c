/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/solvers/multigrid.h"
#include "bench/papers/op/solvers/solvers.h"
#include "op/harness.h"
#include "bench/papers/ref/multigrid.h"

/* Pairs of grids as coarsening makes them: even, odd, prime and thin sides, both borders, spacings that halve some
 * axes alone. */
static const clv_fluid_operator problems[] = {
    {{11, 7, 4}, {1, 1, 1}, .1f, 0, .001f, false}, {{11, 7, 4}, {1, 1, 1}, .1f, .1f, .001f, true},
    {{8, 6, 5}, {1, 1, 3}, .1f, 0, .001f, false},  {{13, 1, 4}, {2, 1, 1}, .1f, 0, .001f, true},
    {{1, 12, 1}, {1, 1, 1}, .1f, 0, .001f, false},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static size_t voxels_of(const clv_fluid_operator *op)
{
    return (size_t)op->size[0] * (size_t)op->size[1] * (size_t)op->size[2];
}

static void transfer(const clv_fluid_operator *fine, bool back)
{
    clvox_context *ctx = harness_context();
    clv_fluid_operator coarse;
    assert_true(clv_mg_coarsen(fine, &coarse));
    size_t n = voxels_of(fine), m = voxels_of(&coarse), given = back ? n : m, made = back ? m : n;
    float *in = malloc(12 * n), *out = malloc(12 * n);
    double *from = malloc(24 * n), *want = malloc(24 * n);
    harness_random(in, 3 * given, 4, -1, 1);
    harness_random(out, 3 * made, 5, -1, 1);
    for (size_t i = 0; i < 3 * n; i++) {
        from[i] = i < 3 * given ? (double)in[i] : 0;
        want[i] = i < 3 * made ? (double)out[i] : 0;
    }
    clv_buffer *a = harness_upload_field(ctx, in, given), *b = harness_upload_field(ctx, out, made);
    if (back) {
        assert_ok(clv_mg_restrict(ctx, fine, &coarse, a, b));
        ref_mg_restrict(fine, &coarse, from, want);
    } else {
        assert_ok(clv_mg_prolong(ctx, fine, &coarse, a, b));
        ref_mg_prolong(fine, &coarse, from, want);
    }
    harness_download_field(ctx, b, out, made);
    double error = harness_error(out, want, 3 * made, 2e-5, 0);
    assert_that(error <= 1, "%dx%dx%d: off by %g", fine->size[0], fine->size[1], fine->size[2], error);
    clv_buffer_destroy(&a);
    clv_buffer_destroy(&b);
    free(in);
    free(out);
    free(from);
    free(want);
}

static void fields_are_carried(void **state)
{
    for (int i = 0; i < PROBLEMS; i++)
        transfer(&problems[i], ((const int *)*state)[0]);
}

/* Mean share of the residual left by a cycle, for a force of all wave lengths. */
static double factor_of(const clv_fluid_operator *op)
{
    enum { CYCLES = 4 };
    const clv_solvers_options o = {CLV_SOLVERS_MULTIGRID, 1e-30, CYCLES};
    clvox_context *ctx = harness_context();
    clv_solvers solver;
    clv_solvers_report report = {0};
    size_t n = voxels_of(op);
    float *host = malloc(12 * n);
    harness_random(host, 3 * n, 7, -1, 1);
    for (size_t i = 0; i < 3 * n; i++)
        host[i] += 1;
    clv_buffer *f = harness_upload_field(ctx, host, n), *v = harness_output(ctx, 12 * n);
    assert_ok(clv_solvers_create(ctx, op, &o, &solver));
    assert_ok(clv_solvers_solve(ctx, &solver, f, v, false, &report));
    assert_int_equal(report.iterations, CYCLES);
    clv_solvers_destroy(&solver);
    clv_buffer_destroy(&f);
    clv_buffer_destroy(&v);
    free(host);
    return pow(report.left, 1. / CYCLES);
}

/* K reaches across the whole grid in each, which a single grid feels. */
static void the_factor_does_not_depend_on_the_size(void **state)
{
    static const struct {
        clv_fluid_operator op;
        double most;
    } cases[] = {
        {{{8, 8, 8}, {1, 1, 1}, 1, 0, 1e-3f, false}, .3},     {{{16, 16, 16}, {1, 1, 1}, 1, 0, 1e-3f, false}, .3},
        {{{32, 32, 32}, {1, 1, 1}, 1, 0, 1e-3f, false}, .3},  {{{31, 29, 23}, {1, 1, 1}, 1, 0, 1e-3f, false}, .3},
        {{{32, 32, 32}, {1, 1, 1}, 1, 0, 1e-3f, true}, .3},   {{{29, 23, 31}, {1, 1, 1}, 1, 0, 1e-3f, true}, .3},
        {{{31, 29, 11}, {1, 1, 3}, 1, 0, 1e-3f, false}, .3},  {{{31, 30, 17}, {1, 1.2f, 2}, 1, 1, 1e-3f, false}, .45},
        {{{16, 15, 17}, {1, 1, 1}, 1, 1, 1e-3f, true}, .45},  {{{40, 1, 33}, {1, 1, 1}, 1, 1, 1e-3f, false}, .45},
    };
    (void)state;
    int count = getenv("CLVOX_TEST_TINY") ? 1 : sizeof cases / sizeof *cases;
    for (int i = 0; i < count; i++) {
        const clv_fluid_operator *op = &cases[i].op;
        double factor = factor_of(op);
        printf("# %dx%dx%d, beta %g%s: a cycle leaves %.3f\n", op->size[0], op->size[1], op->size[2], (double)op->beta,
               op->periodic ? ", periodic" : "", factor);
        assert_that(factor < cases[i].most, "%dx%dx%d: %.3f", op->size[0], op->size[1], op->size[2], factor);
    }
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_mg_prolong, fields_are_carried, TEST_AT(0), "interpolation against the reference");
    harness_cases(&clv_entry_mg_restrict, fields_are_carried, TEST_AT(1), "its adjoint against the reference");
    test_case(the_factor_does_not_depend_on_the_size, "the factor does not depend on the size");
    return test_run("multigrid", harness_close);
}
