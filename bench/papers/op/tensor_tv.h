/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_TENSOR_TV_H
#define CLV_OP_PAPERS_TENSOR_TV_H

#include "op/tensor/links.h"

/* Total variation of tensor fields D = L L^T by explicit steps in the lower
 * triangle L (Moazeni et al. 2009, after Christiansen et al. 2007). A field is
 * 6 n floats, planar, Dxx Dxy Dxz Dyy Dyz Dzz. Over all nine entries ij
 *     paper: E = sqrt(sum_ij TV[d_ij]^2) + lambda/2 sum_ij |d_ij - f_ij|^2,
 *            TV[d] = sum_x sqrt(|grad d|^2 + eps)
 *     local: E = sum_x sqrt(sum_ij |grad d_ij|^2 + eps) + the same
 * with forward differences times w_a = (smallest edge)/(edge along a), along
 * links only, and sums over the voxels inside. dE/dL is the lower triangle of
 * 2 G L, G_ij = -(TV[d_ij]/TV[D]) div(grad d_ij/|grad d_ij|) + lambda (d_ij - f_ij)
 * (local: the one norm that all entries share, and no weight), div the negative
 * adjoint of grad. */
typedef enum clv_tensor_coupling { CLV_TENSOR_LOCAL, CLV_TENSOR_PAPER } clv_tensor_coupling;

/* Places in the state, which kernels get too. */
#define CLV_TENSOR_TV_SUM 0     /* six: TV[d_ij] */
#define CLV_TENSOR_TV_WEIGHT 8  /* six: TV[d_ij] / TV[D] */
#define CLV_TENSOR_TV_TOTAL 16  /* TV[D], the regulariser of paper */
#define CLV_TENSOR_TV_SHARED 17 /* that of local */
#define CLV_TENSOR_TV_DATA 18   /* lambda/2 sum |d - f|^2 */
#define CLV_TENSOR_TV_ENERGY 19 /* of the coupling asked for */
enum {
    CLV_TENSOR_TV_STATE = 20, /* floats in all */
    CLV_TENSOR_TV_PARTIALS = 8 * 2048
};

typedef struct clv_tensor_tv_args {
    clv_image data;          /* f, and the grid of all; of the spacing only the ratios count */
    const clv_buffer *links; /* clv_tensor_links */
    clv_tensor_coupling coupling;
    float lambda, eps;
    float dt;                /* the fixed step of equation 9 */
    float floor;             /* > 0: least pivot of D, what L's diagonal squared stays above */
    clv_buffer *partial;     /* CLV_TENSOR_TV_PARTIALS floats */
    clv_buffer *state;       /* CLV_TENSOR_TV_STATE floats */
} clv_tensor_tv_args;

/* TV[d_ij], TV[D] and the weights of field into the state, in fixed order. */
int clv_tensor_tv_sums(clvox_context *ctx, const clv_tensor_tv_args *args, const clv_buffer *field);

/* All of the state, the energy too. */
int clv_tensor_tv_energy(clvox_context *ctx, const clv_tensor_tv_args *args, const clv_buffer *field);

/* One step L - dt dE/dL, from one field into another; with paper the state must
 * hold the weights of `from`. E falls with every step while dt is below
 * 2 / ((4 sum_a w_a^2 / sqrt(eps) + lambda) 4 |D|), |D| the largest eigenvalue;
 * well above that flat regions swing by a little and E still ends near its
 * minimum, much sooner. L's diagonal falls to no less than half in a step, so
 * that D stays positive definite. Voxels outside are copied. */
int clv_tensor_tv_step(clvox_context *ctx, const clv_tensor_tv_args *args, const clv_buffer *from,
                       clv_buffer *to);

/* An iteration: the same and before it, for paper, the sums that it needs. */
int clv_tensor_tv_iterate(clvox_context *ctx, const clv_tensor_tv_args *args, const clv_buffer *from,
                          clv_buffer *to);

/* So many iterations; the field ends in `field`, `other` is as large and overwritten. */
int clv_tensor_tv_descend(clvox_context *ctx, const clv_tensor_tv_args *args, int iterations,
                          clv_buffer *field, clv_buffer *other);

/* An argument of the kernels: w_a, and 0. */
void clv_tensor_tv_weights(const clv_tensor_tv_args *args, float w[4]);

extern const clv_entry clv_entry_tensor_tv_sums;
extern const clv_entry clv_entry_tensor_tv_last;
extern const clv_entry clv_entry_tensor_tv_step;

#endif
