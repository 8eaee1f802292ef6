/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_TENSOR_TV_LISTING_H
#define CLV_OP_PAPERS_TENSOR_TV_LISTING_H

#include "bench/papers/op/tensor_tv.h"

/* The kernels of Moazeni et al. 2009, table 1, as the paper composes them: L L', the total variation of each
 * entry, their reduction, P of each entry with the curvature of Listing 1, and the solver of each (Listing
 * 2). No mask, no floor: L's diagonal may cross 0, and D stays positive semi-definite. */
typedef enum clv_tensor_stage {
    CLV_TENSOR_LLT,
    CLV_TENSOR_NORM,
    CLV_TENSOR_REDUCTION,
    CLV_TENSOR_P,
    CLV_TENSOR_SOLVER,
    CLV_TENSOR_STAGES
} clv_tensor_stage;

/* Six planes each but for weights; of args data, lambda, eps and dt count. */
typedef struct clv_tensor_listing {
    const clv_tensor_tv_args *args;
    clv_buffer *l, *next, *d, *p;
    clv_buffer *partial; /* sums of groups, of which there are as many as voxels at most */
    clv_buffer *weights; /* six numbers */
} clv_tensor_listing;

/* One stage of a step, with a launch for each of its entries. */
int clv_tensor_listing_stage(clvox_context *ctx, const clv_tensor_listing *of, clv_tensor_stage stage);

/* `steps` steps: l ends as the factor after them, next is overwritten. */
int clv_tensor_listing_steps(clvox_context *ctx, const clv_tensor_listing *of, int steps);

extern const clv_entry clv_entry_listing_llt, clv_entry_listing_norm, clv_entry_listing_reduction,
    clv_entry_listing_p, clv_entry_listing_solver;

#endif
