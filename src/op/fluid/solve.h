/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FLUID_SOLVE_H
#define CLV_OP_FLUID_SOLVE_H

#include "op/fluid/fourier.h"
#include "runtime/runtime.h"

/* Solves in the place of the transform, for those who compare solvers. v may be f. */
typedef struct clv_solver_stand_in {
    int (*begin)(clvox_context *ctx, const clv_fluid_operator *op);
    int (*solve)(clvox_context *ctx, int kind, const clv_buffer *f, clv_buffer *v);
    void (*end)(void);
} clv_solver_stand_in;

/* Solvers that are created from now on take it; NULL: none. */
extern const clv_solver_stand_in *clv_solver_instead;

/* v = K f with K = 1 / L by the Fourier transform: exact but for rounding, and as fast for any
 * alpha, beta and gamma. Of a periodic L it takes the grid as it is. Of one that
 * is 0 outside it works on a larger periodic grid, whose sides are products of 2,
 * 3, 5 and 7 and where f is 0 beyond the volume (clv_solver_grid): v is then what
 * f does in space without borders. That is the border for heads: images are cut
 * close, K reaches sqrt((alpha + beta) / gamma) mm, and on a periodic grid what
 * pulls at one ear would pull at the other. */
typedef struct clv_solver {
    clv_fluid_operator op, wide; /* wide: what is transformed */
    clv_buffer *spectrum, *padded;
    clv_fft fft;
    const clv_solver_stand_in *instead;
} clv_solver;

enum { CLV_SOLVER_REQUESTS = 2 };

/* The buffers that a grid needs, for a zeroed solver; returns the number of requests. Grids that are no
 * finer along any axis need no more, and may take them over (clv_solver_create). */
int clv_solver_requests(const clv_fluid_operator *op, clv_solver *room, clv_request *list);

/* The grid that is transformed. */
void clv_solver_grid(const clv_fluid_operator *op, int size[3]);

/* For one grid, in the spectrum and padded that *s has and keeps; builds what transforms need, tables of
 * some KiB among it. To be destroyed before its context, also after a failure. */
int clv_solver_create(clvox_context *ctx, const clv_fluid_operator *op, clv_solver *s);
void clv_solver_destroy(clv_solver *s); /* one that was never created, too */

/* v = K f. kind: solves of one kind resemble the one before, which the transform does not use. Never
 * waits. */
int clv_solver_solve(clvox_context *ctx, const clv_solver *s, int kind, const clv_buffer *f, clv_buffer *v);

/* v = K K f of a periodic L, in as many transforms; v may be f. */
int clv_solver_solve_twice(clvox_context *ctx, const clv_solver *s, int kind, const clv_buffer *f,
                           clv_buffer *v);

#endif
