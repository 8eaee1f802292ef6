/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FLUID_SOR_H
#define CLV_OP_FLUID_SOR_H

#include "op/fluid/fluid_operator.h"

/* Successive over-relaxation of L v = f in two colours (Ha 2011, section 2.3.5),
 * for beta = 0: first all voxels with x + y + z even, then the others. */
typedef enum clv_sor_form {
    CLV_SOR_AUTO,
    CLV_SOR_BLOCK,  /* both colours in one pass over memory, blocks in local memory */
    CLV_SOR_COLOURS /* a pass over memory for each colour */
} clv_sor_form;

/* Whether L has two colours: beta is 0, and no side of a periodic volume is odd
 * but those of one voxel. CLVOX_ERROR_ARGUMENT where not. */
int clv_sor_check(const clv_fluid_operator *op);

/* The omega of fastest convergence, 2 / (1 + sqrt(1 - mu^2)), where mu is the
 * spectral radius of Jacobi's iteration: the error shrinks by omega - 1 a sweep
 * in the end. The thesis prints mu for gamma = 0 alone: clv_sor_omega_plain. */
double clv_sor_omega(const clv_fluid_operator *op);
double clv_sor_omega_plain(const clv_fluid_operator *op);

/* Sweeps over v, which holds the first guess and then the result. other: room
 * for a field. */
int clv_sor(clvox_context *ctx, const clv_fluid_operator *op, clv_sor_form form, const clv_buffer *f, float omega,
            int sweeps, clv_buffer *v, clv_buffer *other);

/* Sweeps until |f - L v| <= tolerance |f|, looked at every few sweeps, or `most`
 * are done. other: room for a field; partial: CLV_NAVIER_PARTIALS floats; state:
 * 2. *sweeps: how many it took; *left: what |f - L v| / |f| is then. */
int clv_sor_solve(clvox_context *ctx, const clv_fluid_operator *op, const clv_buffer *f, double tolerance, int most,
                  clv_buffer *v, clv_buffer *other, clv_buffer *partial, clv_buffer *state, int *sweeps,
                  double *left);

extern const clv_entry clv_entry_sor_block;
extern const clv_entry clv_entry_sor_colour;

#endif
