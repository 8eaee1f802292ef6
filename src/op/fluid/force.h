/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FLUID_FORCE_H
#define CLV_OP_FLUID_FORCE_H

#include "op/field/warp.h"

/* With the penalty, whose stencil can be computed in several forms (the
 * variants), and without. */
extern const clv_entry clv_entry_force, clv_entry_force_image;

/* The unbiased force of Lee et al. 2012, equation 10, as the exact negative
 * gradient of the discrete energy
 *   E(u) = 1/2 sum m (T(p) - R)^2 + lambda sum (J - 1) log J,
 * p = map.linear (i, 1) + map.shift u(i)   (h = x + u),
 * J = det(I + Du), Du by cl/common/difference.clh, so that
 *   force = -dE/du = -m (T(p) - R) map.shift^T dT/dp - sum_j D_j^T (lambda L' C_j),
 * L' = log J + 1 - 1/J, C_j the column j of the cofactors of I + Du, D_j^T the
 * adjoint of the difference along j with its one-sided ends. The sums are over
 * voxels, without their volume: force is in intensity^2 per mm.
 * T is trilinear and dT/dp the interpolant's own derivative (the one to the
 * right at a voxel's centre); up to half a voxel beyond T its border value
 * counts, further out the image term is 0, and so it is where T or R is not
 * finite. m is the fixed mask (NULL: 1). lambda 0 leaves the penalty out.
 * Below J = 1e-3 the penalty goes on as its quadratic Taylor polynomial: L' is
 * continuous and finite, so that a folded u is still pushed back.
 * force may not be u. */
typedef struct clv_force_args {
    clv_image moving; /* T */
    clv_image fixed;  /* R, and the grid of all but T */
    const clv_buffer *mask;
    const clv_buffer *u;
    clv_map map;
    float lambda;
    clv_buffer *force;
} clv_force_args;

int clv_force(clvox_context *ctx, const clv_force_args *args);

#endif
