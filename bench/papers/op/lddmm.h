/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_LDDMM_H
#define CLV_OP_PAPERS_LDDMM_H

#include "bench/papers/op/greedy.h"

enum { CLV_LDDMM_MOST = 16 };

/* LDDMM as Ha 2011 has it (section 2.2.1.2), in voxels. An iteration, with steps j = 0 to steps - 1:
 *   p_j = p_(j+1) o (x + v_j) and D_j = D_(j+1) |I + D v_j| backward from the identity and 1 (the determinant
 *   of the rest stays where it is, as printed), q_(j+1) = q_j o (x - v_j) forward from the identity,
 *   u_j = K (D_j (J0 - J1) grad J0) with J0 = I0 o q_j, J1 = I1 o p_j,
 *   v_j <- v_j - e (2 v_j - 2 / sigma^2 u_j).
 * The thesis prints L u = -F, by which the images would be driven apart: this has the other sign.
 * I0 o q_steps is brought onto I1. */
typedef struct clv_lddmm {
    clv_greedy greedy;
    int steps;
    float sigma;
    float epsilon; /* e; 0: the first iteration finds it, so that no vector becomes longer than `first` */
    float first;
    clv_buffer *v[CLV_LDDMM_MOST], *moved[CLV_LDDMM_MOST], *weight[CLV_LDDMM_MOST]; /* v_j, J1, D_j */
    clv_buffer *u[2], *image;
    clv_request list[3 * CLV_LDDMM_MOST + 3];
    int requests;
} clv_lddmm;

/* With v = 0; to be destroyed, also after a failure. */
int clv_lddmm_create(clvox_context *ctx, const clv_fluid_operator *op, int steps, clv_lddmm *out);
void clv_lddmm_destroy(clv_lddmm *l);
int clv_lddmm_iterate(clvox_context *ctx, clv_lddmm *l, const clv_buffer *i0, const clv_buffer *i1);
/* x + u = q_steps, at which I0 looks like I1. */
int clv_lddmm_map(clvox_context *ctx, clv_lddmm *l, clv_buffer *u);

#endif
