/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FORCE_H
#define CLV_OP_FORCE_H

#include "op/warp.h"

/* How the penalty's stencil is computed (Lee et al. 2012, section 4). */
typedef enum clv_force_form {
    CLV_FORCE_AUTO,
    CLV_FORCE_RECOMPUTE, /* only u in local memory; neighbours' Jacobians again */
    CLV_FORCE_REUSE,     /* cofactors times L' in local memory, marching through z */
    CLV_FORCE_CAPPED,    /* recompute with fewer registers */
    CLV_FORCE_TWOPASS    /* nine products to global memory, then the divergence */
} clv_force_form;

/* The unbiased force of Lee et al. 2012, equation 10, as the exact negative
 * gradient of the discrete energy
 *   E(u) = 1/2 sum m (T(p) - R)^2 + lambda sum (J - 1) log J,
 * p = map.linear (i, 1) - map.shift u(i)   (h = x - u),
 * J = det(I - Du), Du by clv_gradient's differences,
 * divided by the number of voxels' volume: one value a voxel, in intensity^2
 * per mm. T is interpolated trilinearly and its derivative is that of the
 * interpolant; outside of T the image term is 0. m is the fixed mask (NULL: 1).
 *   force  = -dE/du
 * partial receives one (image energy, penalty energy, smallest J) triple per
 * work-group when not NULL; clv_force_energy reduces them. nine: scratch of 9
 * floats a voxel, needed by the two-pass form alone (may be NULL otherwise).
 * log J is continued below J = 1e-3 so that a folded u still gives a force. */
typedef struct clv_force_args {
    const clv_buffer *moving;
    int moving_size[3];
    const clv_buffer *fixed;
    const clv_buffer *mask;
    const clv_buffer *u;
    int size[3];
    float spacing[3];
    clv_map map;
    float lambda;
    clv_buffer *nine;
    clv_buffer *force;
} clv_force_args;

int clv_force(clvox_context *ctx, clv_force_form form, const clv_force_args *args);

/* The energies at u: out[slot] = image term, out[slot+1] = sum (J-1) log J,
 * out[slot+2] = smallest J, out[slot+3] = number of J <= 0. Fixed order. */
int clv_force_energy(clvox_context *ctx, const clv_force_args *args, clv_buffer *partial,
                     clv_buffer *out, int slot);

#endif
