/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_LABEL_VOTE_H
#define CLV_OP_LABEL_VOTE_H

#include "op/label/weights.h"

/* Voters around each voxel of the list. */
typedef struct clv_label_voters {
    clv_buffer *place; /* int32_t for each voxel of the padded grid: its number in the list, -1: all atlases
                          have one label around it, -2: it does not vote */
    clv_buffer *weights, *shifts; /* by clv_label_weights; NULL: every atlas counts as one */
    int reach;                    /* voxels that vote along each axis, to either side; at most the margin */
} clv_label_voters;

/* The label (int32_t; -1: nobody votes) and its share of the votes (float) at each voxel of the list, then
 * the second label (-1: there is none) and its share at each: out and share hold twice the list. */
int clv_label_vote(clvox_context *ctx, const clv_label_stack *stack, const clv_label_list *list,
                   const clv_label_voters *voters, clv_buffer *out, clv_buffer *share);

/* The same by the patches of every voxel within the search, as cl/label/vote.cl says. */
int clv_label_vote_patches(clvox_context *ctx, const clv_label_stack *stack, const clv_label_list *list,
                           float width, clv_buffer *out, clv_buffer *share);

extern const clv_entry clv_entry_label_vote, clv_entry_label_vote_patches;

#endif
