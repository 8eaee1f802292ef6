/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FLUID_SOLVE_H
#define CLV_OP_FLUID_SOLVE_H

#include "clvox/registration.h"
#include "op/fluid/multigrid.h"
#include "runtime/runtime.h"

/* v = K f with K = 1 / L, by whichever solver.
 *
 * fft is the default of pipelines: exact but for rounding, and as fast for any
 * alpha, beta and gamma. Of a periodic L it takes the grid as it is. Of one that
 * is 0 outside it works on a larger periodic grid, whose sides are products of 2,
 * 3, 5 and 7 and where f is 0 beyond the volume (clv_solver_grid): v is then what
 * f does in space without borders. That is the border for heads: images are cut
 * close, K reaches sqrt((alpha + beta) / gamma) mm, and on a periodic grid what
 * pulls at one ear would pull at the other. The others have v = 0 beyond the
 * border, exactly; the two differ within the reach of K from it.
 *
 * hybrid is fft where there is no guess, and conjugate gradients from one. sor
 * takes beta 0 alone, and no odd side of a periodic grid. multigrid takes all;
 * a cycle is an iteration. */
typedef enum clv_solver_kind {
    CLV_SOLVER_FFT,
    CLV_SOLVER_SOR,
    CLV_SOLVER_CG,
    CLV_SOLVER_HYBRID,
    CLV_SOLVER_MULTIGRID,
    CLV_SOLVERS
} clv_solver_kind;

/* "fft", ...; NULL: there is none. */
const char *clv_solver_name(int kind);

typedef struct clv_solver_options {
    clv_solver_kind kind;
    double tolerance; /* of iterative ones: the end is |f - L v| <= tolerance |f|. 0: after `most` */
    int most;         /* iterations */
} clv_solver_options;

/* What solvers work in, the caller's, zeroed at first: he asks for what his largest
 * grid needs, and has solvers of all his grids share it (one at a time). */
typedef struct clv_solver_workspace {
    clv_buffer *field[3], *partial, *state;
    clv_buffer *coarse[2 * CLV_MG_COARSER];
} clv_solver_workspace;
enum { CLV_SOLVER_REQUESTS = 5 + 2 * CLV_MG_COARSER };

/* Returns the number of requests. Grids that are no finer along any axis need no more. */
int clv_solver_requests(const clv_fluid_operator *op, const clv_solver_options *options,
                        clv_solver_workspace *workspace, clv_request *list);
size_t clv_solver_bytes(const clv_fluid_operator *op, const clv_solver_options *options);

/* The grid that fft transforms. */
void clv_solver_grid(const clv_fluid_operator *op, int size[3]);

typedef struct clv_solver_report {
    int iterations; /* 1: of fft */
    double left;    /* |f - L v| / |f|; fft does not look: 0 */
    double bytes;   /* read and written at least */
} clv_solver_report;

/* Adds a solve to what many come to. */
void clv_solver_count(clvox_solver_summary *summary, const clv_solver_report *report);

/* Of a transform there and back on that grid. */
double clv_solver_transform_bytes(const int size[3], bool coupled);

typedef struct clv_solver clv_solver;

/* For one grid; builds what transforms need, tables of some KiB among it. workspace: set, and
 * living longer. CLVOX_ERROR_ARGUMENT where the solver does not take the operator. On
 * success *out is to be destroyed before its context. */
int clv_solver_create(clvox_context *ctx, const clv_fluid_operator *op, const clv_solver_options *options,
                      const clv_solver_workspace *workspace, clv_solver **out);
void clv_solver_destroy(clv_solver **solver); /* NULL is legal */

/* v = K f; v is not f. warm: v holds a guess, from which iterative solvers start
 * (else from 0). report may be NULL. fft never waits; others look at their residual
 * now and then, unless the tolerance is 0. The same bits run after run. */
int clv_solver_solve(clvox_context *ctx, clv_solver *solver, const clv_buffer *f, clv_buffer *v, bool warm,
                     clv_solver_report *report);

#endif
