/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FLUID_FLUID_STEP_H
#define CLV_OP_FLUID_FLUID_STEP_H

#include "op/image.h"

extern const clv_entry clv_entry_fluid_rate, clv_entry_fluid_bend, clv_entry_fluid_largest,
    clv_entry_fluid_update;

/* Floats that clv_fluid_rate needs in partial. */
enum { CLV_FLUID_PARTIALS = 4096 };

/* The scalars of a fluid step, kept on the device (floats in this order). */
enum {
    CLV_FLUID_LONGEST = 0, /* longest |v - Du v| in voxels */
    CLV_FLUID_BEND = 1,    /* largest Frobenius norm of A^-1 Dp, A = I + Du */
    CLV_FLUID_STEP = 2,    /* dt of the last update */
    CLV_FLUID_MOVED = 3,   /* dt times LONGEST: the largest displacement, voxels */
    CLV_FLUID_SLOTS = 16
};

/* p = v + Du v (Lee et al. 2012, equation 12, of h = x + u), Du by
 * cl/common/difference.clh; sets CLV_FLUID_LONGEST and CLV_FLUID_BEND in state (of
 * CLV_FLUID_SLOTS floats). Both are NaN where p is somewhere; BEND is 1e19 where
 * det A is 1e-6 or less, so that the update stands still. p may not be u or v. */
int clv_fluid_rate(clvox_context *ctx, const clv_image *u, const clv_buffer *v, clv_buffer *p,
                   clv_buffer *partial, clv_buffer *state);

/* u += dt p with dt = min(largest / LONGEST, 0.5 / BEND), computed on the
 * device; 0 where LONGEST is 0 or one of the two is not finite. Sets
 * CLV_FLUID_STEP and CLV_FLUID_MOVED. |dt A^-1 Dp| <= 1/2 keeps det(I + D(u +
 * dt p)) above an eighth of what it was, so a step never folds (the proof is in
 * cl/fluid/fluid_step.cl). largest in voxels. */
int clv_fluid_update(clvox_context *ctx, const clv_image *u, const clv_buffer *p, float largest,
                     clv_buffer *state);

#endif
