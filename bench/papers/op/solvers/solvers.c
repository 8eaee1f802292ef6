/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/solvers/solvers.h"

#include <math.h>
#include <string.h>

#include "bench/papers/op/solvers/conjugate_gradient.h"
#include "bench/papers/op/solvers/sor.h"

/* Each kind: its first step from nothing, and its iterations. */
static const struct {
    const char *name;
    bool transforms, iterates;
    int fields; /* besides v and f */
} kinds[CLV_SOLVERS] = {
    [CLV_SOLVERS_FFT] = {"fft", true, false, 0},
    [CLV_SOLVERS_SOR] = {"sor", false, true, 1},
    [CLV_SOLVERS_CG] = {"cg", false, true, 3},
    [CLV_SOLVERS_HYBRID] = {"hybrid", true, true, 3},
    [CLV_SOLVERS_MULTIGRID] = {"multigrid", false, true, 2},
};

const char *clv_solvers_name(int kind)
{
    return kind >= 0 && kind < CLV_SOLVERS ? kinds[kind].name : NULL;
}

static size_t field_bytes(const clv_fluid_operator *op)
{
    return 12 * (size_t)op->size[0] * (size_t)op->size[1] * (size_t)op->size[2];
}

/* Buffers of a solver. */
static int requests(clv_solvers *s, clv_request *list)
{
    const clv_solvers_kind kind = s->options.kind;
    int count = kinds[kind].transforms ? clv_solver_requests(&s->op, &s->fft, list) : 0;
    for (int i = 0; i < kinds[kind].fields; i++)
        list[count++] = (clv_request){&s->field[i], field_bytes(&s->op), "field of the solver"};
    if (kinds[kind].iterates) {
        list[count++] =
            (clv_request){&s->partial, CLV_FLUID_OPERATOR_PARTIALS * sizeof(float), "sums of the solver"};
        list[count++] = (clv_request){&s->state, CLV_CG_STATE * sizeof(float), "state of the solver"};
    }
    clv_fluid_operator level = s->op;
    for (int i = 0; i < CLV_MG_COARSER && kind == CLV_SOLVERS_MULTIGRID && clv_mg_coarsen(&level, &level);
         i++)
        for (int k = 0; k < 2; k++)
            list[count++] =
                (clv_request){&s->coarse[2 * i + k], field_bytes(&level), "coarser field of the solver"};
    return count;
}

int clv_solvers_create(clvox_context *ctx, const clv_fluid_operator *op, const clv_solvers_options *o,
                       clv_solvers *s)
{
    int status = CLVOX_OK;
    *s = (clv_solvers){.op = *op, .options = *o};
    CLV_TRY(clv_fluid_operator_check(op));
    if (!clv_solvers_name((int)o->kind) || !(o->tolerance >= 0) || (kinds[o->kind].iterates && o->most < 1))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "solver %d, tolerance %g, %d iterations: there is no such solver", (int)o->kind,
                          o->tolerance, o->most);
    if (o->kind == CLV_SOLVERS_SOR)
        CLV_TRY(clv_sor_check(op));
    int count = requests(s, s->list);
    CLV_TRY(clv_pool_take(ctx, s->list, count));
    s->requests = count;
    if (kinds[o->kind].transforms)
        CLV_TRY(clv_solver_create(ctx, op, &s->fft));
end:
    return status;
}

void clv_solvers_destroy(clv_solvers *s)
{
    clv_solver_destroy(&s->fft);
    clv_pool_release(s->list, s->requests);
    *s = (clv_solvers){.requests = 0};
}

static int iterate(clvox_context *ctx, const clv_solvers *s, const clv_fluid_problem *problem,
                   clv_fluid_report *report)
{
    if (s->options.kind == CLV_SOLVERS_SOR) {
        const clv_sor_workspace w = {s->field[0], s->partial, s->state};
        return clv_sor_solve(ctx, problem, &w, report);
    }
    if (s->options.kind == CLV_SOLVERS_MULTIGRID) {
        clv_mg_workspace w = {
            .residual = s->field[0], .other = s->field[1], .partial = s->partial, .state = s->state};
        for (int i = 0; i < CLV_MG_COARSER; i++) {
            w.v[i] = s->coarse[2 * i];
            w.f[i] = s->coarse[2 * i + 1];
        }
        return clv_mg_solve(ctx, problem, &w, report);
    }
    const clv_cg_workspace w = {s->field[0], s->field[1], s->field[2], s->partial, s->state};
    return clv_cg_solve(ctx, problem, &w, report);
}

int clv_solvers_solve(clvox_context *ctx, clv_solvers *s, const clv_buffer *f, clv_buffer *v, bool warm,
                      clv_solvers_report *report)
{
    int status = CLVOX_OK;
    clv_fluid_report found = {1, 0};
    const clv_fluid_problem problem = {s->op, f, v, s->options.tolerance, s->options.most};
    if (s->options.kind == CLV_SOLVERS_FFT || (s->options.kind == CLV_SOLVERS_HYBRID && !warm)) {
        CLV_TRY(clv_solver_solve(ctx, &s->fft, 0, f, v));
    } else {
        if (!warm)
            CLV_TRY(clv_buffer_fill(ctx, v, 0, 0, field_bytes(&s->op)));
        CLV_TRY(iterate(ctx, s, &problem, &found));
    }
    if (report) {
        report->solves++;
        report->iterations += found.iterations;
        report->left = fmax(report->left, found.left);
    }
end:
    return status;
}

/* ---- in registrations ----------------------------------------------------- */

enum { KINDS = 64 };

static struct {
    clv_solvers_options options;
    clv_solvers_report *report;
    clv_solvers solver;
    clv_buffer *guess[KINDS]; /* what the last solve of each kind found; NULL: there was none */
} now;

static int begin(clvox_context *ctx, const clv_fluid_operator *op)
{
    int status = CLVOX_OK;
    clv_fluid_operator own = *op;
    for (int a = 0; a < 3 && now.options.kind == CLV_SOLVERS_SOR; a++)
        own.periodic = own.periodic && (own.size[a] == 1 || own.size[a] % 2 == 0);
    /* A hybrid's transform is none of those that this stands in for. */
    const clv_solver_stand_in *self = clv_solver_instead;
    clv_solver_instead = NULL;
    status = clv_solvers_create(ctx, &own, &now.options, &now.solver);
    clv_solver_instead = self;
    return status;
}

static int solve_from(clvox_context *ctx, int kind, const clv_buffer *f, bool warm)
{
    clv_solvers_report found = {0};
    int status = clv_solvers_solve(ctx, &now.solver, f, now.guess[kind], warm, &found);
    /* A step that went too far may have left a guess that is not finite. */
    if (status >= 0 && warm && !isfinite(found.left)) {
        found = (clv_solvers_report){0};
        status = clv_solvers_solve(ctx, &now.solver, f, now.guess[kind], false, &found);
    }
    if (now.report) {
        now.report->solves += found.solves;
        now.report->iterations += found.iterations;
        now.report->left = fmax(now.report->left, found.left);
    }
    return status;
}

static int solve(clvox_context *ctx, int kind, const clv_buffer *f, clv_buffer *v)
{
    int status = CLVOX_OK;
    const bool warm = now.guess[kind] != NULL;
    if (!warm)
        CLV_TRY(
            clv_buffer_create(ctx, field_bytes(&now.solver.op), "solution of the solver", &now.guess[kind]));
    CLV_TRY(solve_from(ctx, kind, f, warm));
    CLV_TRY(clv_buffer_copy(ctx, now.guess[kind], 0, v, 0, field_bytes(&now.solver.op)));
end:
    return status;
}

static void finish(void)
{
    for (int k = 0; k < KINDS; k++)
        clv_buffer_destroy(&now.guess[k]);
    clv_solvers_destroy(&now.solver);
}

void clv_solvers_stand_in(const clv_solvers_options *options, clv_solvers_report *report)
{
    static const clv_solver_stand_in self = {begin, solve, finish};
    clv_solver_instead = options && options->kind != CLV_SOLVERS_FFT ? &self : NULL;
    now.report = report;
    if (options)
        now.options = *options;
}
