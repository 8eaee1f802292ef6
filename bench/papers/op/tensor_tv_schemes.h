/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_TENSOR_TV_SCHEMES_H
#define CLV_OP_PAPERS_TENSOR_TV_SCHEMES_H

#include "bench/papers/op/tensor_tv.h"

/* How the blocks of a tensor field wait for one another while its total variation
 * descends: the comparison of Moazeni et al. 2009. Users run the exact steps. */
typedef enum clv_tensor_scheme {
    CLV_TENSOR_EXACT,   /* all for all: a launch a step, as clv_tensor_tv_descend */
    CLV_TENSOR_OVERLAP, /* several steps in a block that overlaps its neighbours by as many
                           voxels: exact for local; for paper the weights lag by these steps */
    CLV_TENSOR_BLOCK,   /* several steps in a block, its surroundings as they were before; the
                           weights of paper are those of the block */
    CLV_TENSOR_NONE     /* blocks of 2 x 2 x 2 voxels that never learn of one another */
} clv_tensor_scheme;

enum { CLV_TENSOR_BLOCK_STEPS = 4 /* of a launch with CLV_TENSOR_BLOCK */ };

/* The fields of a steps' scheme: it ends in `field`, `other` is as large and overwritten. *scratch: NULL, or
 * the caller's from a call before; variants that keep blocks in global memory, as ThreadSync and UnSync of
 * the paper do, make it large enough. The caller destroys it, once the device has finished. */
typedef struct clv_tensor_fields {
    clv_buffer *field, *other, **scratch;
} clv_tensor_fields;

/* `steps` steps (and with paper the sums that they need) by a scheme. */
int clv_tensor_tv_schemes(clvox_context *ctx, const clv_tensor_tv_args *args, clv_tensor_scheme scheme,
                          int steps, const clv_tensor_fields *fields);

extern const clv_entry clv_entry_tensor_tv_block;
extern const clv_entry clv_entry_tensor_tv_none;
extern const clv_entry clv_entry_tensor_tv_overlap;

#endif
