/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FIELD_COMPOSE_ADJOINT_H
#define CLV_OP_FIELD_COMPOSE_ADJOINT_H

#include "op/image.h"

/* The adjoint of a step of positions along a velocity,
 *   next(i) = d(i) + s w(i + d(i))
 * (clv_compose_extended of w after d with reorient s I): with g = dS/dnext
 *   dS/dd = g + s (Dw(i + d(i)))^T g     written over g
 *   dS/dw = s sum_i weight_j(i + d(i)) g(i)
 * exact for the trilinear w, which goes on beyond its border. dS/dw is summed in
 * whole units of 2^-20 of the longest g, which state[slot] holds (clv_reduce_longest
 * with scale 1): the same bits in any order. A place may get as much as 2000 times
 * that. sums: 3 ints a voxel, 0 before; clv_compose_adjoint_total turns them
 * into numbers. rows: scratch, an int for each row of voxels along x. d, w, g: finite fields on one grid, in
 * mm along its axes. */
typedef struct clv_compose_adjoint_args {
    clv_image d;
    const clv_buffer *w;
    float s;
    clv_buffer *g, *sums, *rows;
    const clv_buffer *state;
    int slot;
} clv_compose_adjoint_args;

int clv_compose_adjoint(clvox_context *ctx, const clv_compose_adjoint_args *args);

/* out = factor sum_i weight_j(i + d(i)) g(i); sums are 0 again. */
int clv_compose_adjoint_total(clvox_context *ctx, const clv_compose_adjoint_args *args, float factor,
                              clv_buffer *out);

extern const clv_entry clv_entry_compose_adjoint;
extern const clv_entry clv_entry_compose_adjoint_reach;
extern const clv_entry clv_entry_compose_adjoint_total;
extern const clv_entry clv_entry_compose_adjoint_turn;

#endif
