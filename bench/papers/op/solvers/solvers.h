/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_SOLVERS_H
#define CLV_OP_PAPERS_SOLVERS_H

#include "bench/papers/op/solvers/multigrid.h"
#include "op/fluid/solve.h"

/* v = K f with K = 1 / L, by the solvers that Ha 2011 compares and by multigrid.
 *
 * fft is that of op/fluid/solve.h. The others have v = 0 beyond a border that is not
 * periodic, exactly; the two differ within the reach of K from it.
 *
 * hybrid is fft where there is no guess, and conjugate gradients from one. sor
 * takes beta 0 alone, and no odd side of a periodic grid. multigrid takes all;
 * a cycle is an iteration. */
typedef enum clv_solvers_kind {
    CLV_SOLVERS_FFT,
    CLV_SOLVERS_SOR,
    CLV_SOLVERS_CG,
    CLV_SOLVERS_HYBRID,
    CLV_SOLVERS_MULTIGRID,
    CLV_SOLVERS
} clv_solvers_kind;

/* "fft", ...; NULL: there is none. */
const char *clv_solvers_name(int kind);

typedef struct clv_solvers_options {
    clv_solvers_kind kind;
    double tolerance; /* of iterative ones: the end is |f - L v| <= tolerance |f|. 0: after `most` */
    int most;         /* iterations */
} clv_solvers_options;

typedef struct clv_solvers_report {
    long solves;
    long iterations; /* 1 a solve: of fft */
    double left;     /* |f - L v| / |f|, the largest; fft does not look: 0 */
} clv_solvers_report;

/* For one grid, with what it works in. */
typedef struct clv_solvers {
    clv_fluid_operator op;
    clv_solvers_options options;
    clv_solver fft;
    clv_buffer *field[3], *partial, *state, *coarse[2 * CLV_MG_COARSER];
    clv_request list[CLV_SOLVER_REQUESTS + 5 + 2 * CLV_MG_COARSER];
    int requests;
} clv_solvers;

/* CLVOX_ERROR_ARGUMENT where the solver does not take the operator. *s is to be destroyed before its
 * context, also after a failure. */
int clv_solvers_create(clvox_context *ctx, const clv_fluid_operator *op, const clv_solvers_options *options,
                       clv_solvers *s);
void clv_solvers_destroy(clv_solvers *s); /* a zeroed one, too */

/* v = K f; v is not f. warm: v holds a guess, from which iterative solvers start
 * (else from 0). report may be NULL, and is added to. fft never waits; others look at their residual
 * now and then, unless the tolerance is 0. The same bits run after run. */
int clv_solvers_solve(clvox_context *ctx, clv_solvers *s, const clv_buffer *f, clv_buffer *v, bool warm,
                      clv_solvers_report *report);

/* Registrations solve by this one, each solve from the last one of its kind, until this is called with
 * NULL; fft, too, ends that. report: NULL, or living as long. On a periodic grid with an odd side sor
 * takes 0 beyond the border. One at a time. */
void clv_solvers_stand_in(const clv_solvers_options *options, clv_solvers_report *report);

#endif
