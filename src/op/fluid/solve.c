/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/fluid/conjugate_gradient.h"
#include "op/fluid/fourier.h"
#include "op/fluid/sor.h"

struct clv_solver {
    clv_fluid_operator op;
    clv_solver_options options;
    clv_solver_workspace workspace;
    clv_fluid_operator wide; /* what the transform solves */
    clv_fft fft;
};

/* What a solver of a kind is: its first step from nothing, and its iterations. */
static const struct {
    const char *name;
    bool transforms, iterates;
    int fields; /* besides v and f */
} kinds[CLV_SOLVERS] = {
    [CLV_SOLVER_FFT] = {"fft", true, false, 0},
    [CLV_SOLVER_SOR] = {"sor", false, true, 1},
    [CLV_SOLVER_CG] = {"cg", false, true, 3},
    [CLV_SOLVER_HYBRID] = {"hybrid", true, true, 3},
    [CLV_SOLVER_MULTIGRID] = {"multigrid", false, true, 2},
};

const char *clv_solver_name(int kind)
{
    return kind >= 0 && kind < CLV_SOLVERS ? kinds[kind].name : NULL;
}

/* From border to border the padding is so many times the length over which K falls
 * to 1 / e: what comes round is below 1e-3 of what a layer of forces does in its
 * own place (exp(-7)). A volume never feels more of itself than at its own width. */
static const double REACH = 7;

void clv_solver_grid(const clv_fluid_operator *op, int size[3])
{
    double length = sqrt(((double)op->alpha + (double)op->beta) / (double)op->gamma);
    for (int a = 0; a < 3; a++) {
        int n = op->size[a];
        size[a] = n;
        if (op->periodic || n == 1)
            continue;
        size[a] = clv_fft_length(n + (int)fmin(n, ceil(REACH * length / (double)op->spacing[a])));
    }
}

static size_t voxels_of(const int size[3])
{
    return (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
}

int clv_solver_requests(const clv_fluid_operator *op, const clv_solver_options *o,
                        clv_solver_workspace *workspace, clv_request *list)
{
    int count = 0, wide[3];
    size_t bytes[3] = {0};
    clv_solver_grid(op, wide);
    for (int i = 0; i < kinds[o->kind].fields; i++)
        bytes[i] = 12 * voxels_of(op->size);
    if (kinds[o->kind].transforms) {
        size_t padded = op->periodic ? 0 : 12 * voxels_of(wide), spectrum = clv_fft_bytes(wide);
        bytes[0] = spectrum > bytes[0] ? spectrum : bytes[0];
        bytes[1] = padded > bytes[1] ? padded : bytes[1];
    }
    for (int i = 0; i < 3; i++)
        if (bytes[i])
            list[count++] = (clv_request){&workspace->field[i], bytes[i], "field of the solver"};
    if (kinds[o->kind].iterates) {
        list[count++] = (clv_request){&workspace->partial, CLV_FLUID_OPERATOR_PARTIALS * sizeof(float),
                                      "sums of the solver"};
        list[count++] = (clv_request){&workspace->state, CLV_CG_STATE * sizeof(float), "state of the solver"};
    }
    clv_fluid_operator level = *op;
    for (int i = 0; i < CLV_MG_COARSER && o->kind == CLV_SOLVER_MULTIGRID && clv_mg_coarsen(&level, &level); i++)
        for (int k = 0; k < 2; k++)
            list[count++] = (clv_request){&workspace->coarse[2 * i + k], 12 * voxels_of(level.size),
                                          "coarser field of the solver"};
    return count;
}

size_t clv_solver_bytes(const clv_fluid_operator *op, const clv_solver_options *options)
{
    clv_solver_workspace workspace = {{NULL}, NULL, NULL, {NULL}};
    clv_request list[CLV_SOLVER_REQUESTS];
    return clv_pool_bytes(list, clv_solver_requests(op, options, &workspace, list));
}

int clv_solver_create(clvox_context *ctx, const clv_fluid_operator *op, const clv_solver_options *o,
                      const clv_solver_workspace *workspace, clv_solver **out)
{
    int status = CLVOX_OK;
    *out = NULL;
    CLV_TRY(clv_fluid_operator_check(op));
    if (!clv_solver_name((int)o->kind) || !(o->tolerance >= 0) || (kinds[o->kind].iterates && o->most < 1))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "solver %d, tolerance %g, %d iterations: there is no such solver", (int)o->kind,
                          o->tolerance, o->most);
    if (o->kind == CLV_SOLVER_SOR)
        CLV_TRY(clv_sor_check(op));
    *out = calloc(1, sizeof **out);
    if (!*out)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a solver");
    **out = (clv_solver){.op = *op, .options = *o, .workspace = *workspace, .wide = *op};
    clv_solver_grid(op, (*out)->wide.size);
    (*out)->wide.periodic = true;
    if (kinds[o->kind].transforms)
        CLV_TRY(clv_fft_create(ctx, (*out)->wide.size, &(*out)->fft));
end:
    if (status < 0)
        clv_solver_destroy(out);
    return status;
}

void clv_solver_destroy(clv_solver **solver)
{
    if (!*solver)
        return;
    clv_fft_destroy(&(*solver)->fft);
    free(*solver);
    *solver = NULL;
}

void clv_solver_count(clvox_solver_summary *summary, const clv_solver_report *report)
{
    summary->solves++;
    summary->iterations += report->iterations;
    summary->residual = fmax(summary->residual, report->left);
    summary->bytes += report->bytes;
}

/* Six passes, one more where components meet. */
double clv_solver_transform_bytes(const int size[3], bool coupled)
{
    return (coupled ? 168. : 144.) * (double)voxels_of(size);
}

static int transform(clvox_context *ctx, const clv_solver *s, const clv_buffer *f, clv_buffer *v)
{
    int status = CLVOX_OK;
    clv_buffer *spectrum = s->workspace.field[0], *padded = s->workspace.field[1];
    if (s->op.periodic)
        return clv_fft_solve(ctx, &s->fft, &s->wide, f, v, spectrum);
    CLV_TRY(clv_fft_fit(ctx, f, s->op.size, padded, s->wide.size));
    CLV_TRY(clv_fft_solve(ctx, &s->fft, &s->wide, padded, padded, spectrum));
    CLV_TRY(clv_fft_fit(ctx, padded, s->wide.size, v, s->op.size));
end:
    return status;
}

int clv_solver_solve(clvox_context *ctx, clv_solver *s, const clv_buffer *f, clv_buffer *v, bool warm,
                     clv_solver_report *report)
{
    int status = CLVOX_OK;
    double n = (double)voxels_of(s->op.size), wide = (double)voxels_of(s->wide.size);
    clv_solver_report own;
    clv_fluid_report iterated = {0, 0};
    const clv_fluid_problem problem = {s->op, f, v, s->options.tolerance, s->options.most};
    report = report ? report : &own;
    *report = (clv_solver_report){0, 0, 0};
    if (kinds[s->options.kind].transforms && !warm) {
        CLV_TRY(transform(ctx, s, f, v));
        report->iterations = 1;
        report->bytes = clv_solver_transform_bytes(s->wide.size, s->op.beta > 0) +
                        (s->op.periodic ? 0 : 24 * (wide + n)); /* of the padding */
        goto end;
    }
    if (s->options.kind == CLV_SOLVER_FFT) {
        status = clv_solver_solve(ctx, s, f, v, false, report);
        goto end;
    }
    if (!warm)
        CLV_TRY(clv_buffer_fill(ctx, v, 0, 0, (size_t)(12 * n)));
    if (s->options.kind == CLV_SOLVER_SOR) {
        const clv_sor_workspace w = {s->workspace.field[0], s->workspace.partial, s->workspace.state};
        CLV_TRY(clv_sor_solve(ctx, &problem, &w, &iterated));
        report->bytes = 72 * n * iterated.iterations;
    } else if (s->options.kind == CLV_SOLVER_MULTIGRID) {
        clv_mg_workspace w = {.residual = s->workspace.field[0],
                              .other = s->workspace.field[1],
                              .partial = s->workspace.partial,
                              .state = s->workspace.state};
        for (int i = 0; i < CLV_MG_COARSER; i++) {
            w.v[i] = s->workspace.coarse[2 * i];
            w.f[i] = s->workspace.coarse[2 * i + 1];
        }
        CLV_TRY(clv_mg_solve(ctx, &problem, &w, &iterated));
        /* A residual, and twice as many steps as a polynomial has; a third more on coarser levels at most. */
        report->bytes = (36 + (s->op.beta > 0 ? 8 : 4) * 84) * n * iterated.iterations;
    } else {
        const clv_cg_workspace w = {s->workspace.field[0], s->workspace.field[1], s->workspace.field[2],
                                    s->workspace.partial, s->workspace.state};
        CLV_TRY(clv_cg_solve(ctx, &problem, &w, &iterated));
        report->bytes = 120 * n * iterated.iterations;
    }
    report->iterations = iterated.iterations;
    report->left = iterated.left;
end:
    return status;
}
