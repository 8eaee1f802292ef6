/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FLUID_SOR_H
#define CLV_OP_FLUID_SOR_H

#include "op/fluid/fluid_operator.h"

/* Successive over-relaxation of L v = f in two colours (Ha 2011, section 2.3.5),
 * for beta = 0: first all voxels with x + y + z even, then the others. */

/* Whether L has two colours: beta is 0, and no side of a periodic volume is odd
 * but those of one voxel. CLVOX_ERROR_ARGUMENT where not. */
int clv_sor_check(const clv_fluid_operator *op);

/* The omega of fastest convergence, 2 / (1 + sqrt(1 - mu^2)), where mu is the
 * spectral radius of Jacobi's iteration: the error shrinks by omega - 1 a sweep
 * in the end. The thesis prints mu for gamma = 0 alone: clv_sor_omega_plain. */
double clv_sor_omega(const clv_fluid_operator *op);
double clv_sor_omega_plain(const clv_fluid_operator *op);

/* Sweeps over v, which holds the first guess and then the result: a colour a
 * launch, or some sweeps by blocks. other: room for a field. */
int clv_sor(clvox_context *ctx, const clv_fluid_operator *op, const clv_buffer *f, float omega, int sweeps,
            clv_buffer *v, clv_buffer *other);

typedef struct clv_sor_workspace {
    clv_buffer *other;   /* a field */
    clv_buffer *partial; /* CLV_FLUID_OPERATOR_PARTIALS floats */
    clv_buffer *state;   /* 2 floats */
} clv_sor_workspace;

/* Sweeps with the best omega; the residual is looked at every few sweeps. */
int clv_sor_solve(clvox_context *ctx, const clv_fluid_problem *problem, const clv_sor_workspace *workspace,
                  clv_fluid_report *report);

extern const clv_entry clv_entry_sor;

#endif
