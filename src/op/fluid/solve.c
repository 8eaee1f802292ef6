/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/solve.h"

#include <math.h>

const clv_solver_stand_in *clv_solver_instead;

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

int clv_solver_requests(const clv_fluid_operator *op, clv_solver *room, clv_request *list)
{
    int count = 0, wide[3];
    clv_solver_grid(op, wide);
    list[count++] = (clv_request){&room->spectrum, clv_fft_bytes(wide), "spectrum of the solver"};
    if (!op->periodic)
        list[count++] = (clv_request){&room->padded, 12 * (size_t)wide[0] * (size_t)wide[1] * (size_t)wide[2],
                                      "padded field of the solver"};
    return count;
}

int clv_solver_create(clvox_context *ctx, const clv_fluid_operator *op, clv_solver *s)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_fluid_operator_check(op));
    s->instead = clv_solver_instead;
    if (s->instead)
        return s->instead->begin(ctx, op);
    s->op = s->wide = *op;
    clv_solver_grid(op, s->wide.size);
    s->wide.periodic = true;
    CLV_TRY(clv_fft_create(ctx, s->wide.size, &s->fft));
end:
    return status;
}

void clv_solver_destroy(clv_solver *s)
{
    if (s->instead)
        s->instead->end();
    s->instead = NULL;
    clv_fft_destroy(&s->fft);
}

int clv_solver_solve(clvox_context *ctx, const clv_solver *s, int kind, const clv_buffer *f, clv_buffer *v)
{
    int status = CLVOX_OK;
    if (s->instead)
        return s->instead->solve(ctx, kind, f, v);
    if (s->op.periodic)
        return clv_fft_solve(ctx, &s->fft, &s->wide, f, v, s->spectrum);
    CLV_TRY(clv_fft_fit(ctx, f, s->op.size, s->padded, s->wide.size));
    CLV_TRY(clv_fft_solve(ctx, &s->fft, &s->wide, s->padded, s->padded, s->spectrum));
    CLV_TRY(clv_fft_fit(ctx, s->padded, s->wide.size, v, s->op.size));
end:
    return status;
}

int clv_solver_solve_twice(clvox_context *ctx, const clv_solver *s, int kind, const clv_buffer *f,
                           clv_buffer *v)
{
    int status = CLVOX_OK;
    if (!s->instead)
        return clv_fft_solve_twice(ctx, &s->fft, &s->op, f, v, s->spectrum);
    CLV_TRY(s->instead->solve(ctx, 2 * kind, f, v));
    CLV_TRY(s->instead->solve(ctx, 2 * kind + 1, v, v));
end:
    return status;
}
