/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FLUID_MULTIGRID_H
#define CLV_OP_FLUID_MULTIGRID_H

#include "op/fluid/fluid_operator.h"

/* Bounds of the eigenvalues of L. */
void clv_mg_bounds(const clv_fluid_operator *op, double *least, double *most);

/* Multigrid for L v = f, any beta, any sides and spacings. Each level halves the
 * axes whose voxels are not clearly longer than the shortest, for which smoothing
 * works there; the grids' zeros (or period) stay in the same places, so that odd
 * and prime sides need nothing else. Smoothing is a Chebyshev polynomial of L
 * over the waves that the coarser grid does not carry; the coarsest level, where
 * K reaches no further than a voxel or sides are too short, is solved by one over
 * all waves. A cycle leaves about a tenth, whatever the size. */
enum { CLV_MG_COARSER = 12 }; /* levels beside the finest */

typedef struct clv_mg_workspace {
    clv_buffer *residual, *other;            /* fields */
    clv_buffer *v[CLV_MG_COARSER], *f[CLV_MG_COARSER]; /* fields of coarser levels; NULL or too small: there the
                                                          levels end */
    clv_buffer *partial, *state;             /* CLV_FLUID_OPERATOR_PARTIALS floats, 2 floats */
} clv_mg_workspace;

/* L on the next coarser grid; false: op is the coarsest. */
bool clv_mg_coarsen(const clv_fluid_operator *op, clv_fluid_operator *coarser);

/* Cycles from the v that is there. tolerance 0: exactly `most`, and nobody looks at the residual. */
int clv_mg_solve(clvox_context *ctx, const clv_fluid_problem *problem, const clv_mg_workspace *workspace,
                 clv_fluid_report *report);

/* fine += coarse, interpolated, and the adjoint with weights that add up to 1, from
 * fine to coarse. */
int clv_mg_prolong(clvox_context *ctx, const clv_fluid_operator *fine, const clv_fluid_operator *coarse,
                   const clv_buffer *in, clv_buffer *out);
int clv_mg_restrict(clvox_context *ctx, const clv_fluid_operator *fine, const clv_fluid_operator *coarse,
                    const clv_buffer *in, clv_buffer *out);

extern const clv_entry clv_entry_mg_prolong;
extern const clv_entry clv_entry_mg_restrict;

#endif
