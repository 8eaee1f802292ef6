/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of links, folded: affine[0], then warp[0], affine[1], warp[1] and so
 * on to affine[warps], in the order in which a point of the output grid passes
 * them. Neighbouring affines are one matrix; inverse warps are inverted. */
#ifndef CLV_TRANSFORM_CHAIN_H
#define CLV_TRANSFORM_CHAIN_H

#include "clvox/apply.h"
#include "runtime/runtime.h"

typedef struct clv_chain {
    int warps;
    double (*affine)[4][4];     /* warps + 1, RAS mm */
    const clvox_volume **warp;  /* warps */
    clvox_volume **inverted;    /* warps: those that the chain owns, else NULL */
} clv_chain;

/* Checks and folds. On success the chain is the caller's, to be released with
 * clv_chain_free (legal on a zeroed chain and after a failure). */
int clv_chain_make(clvox_context *ctx, const clvox_link *links, int count, clv_chain *chain);
void clv_chain_free(clv_chain *chain);

/* The whole chain as x -> matrix (x + u(x)) on grid. *field receives u (mm
 * along the axes of grid; NULL when the chain has no warp) and is the
 * caller's. Every warp is evaluated where the point really is, once: u has no
 * error but that of the warps' own trilinear interpolation. */
int clv_chain_field(clvox_context *ctx, const clv_chain *chain, const clvox_grid *grid,
                    clv_buffer **field, double matrix[4][4]);

/* One link's transform: usable or a sentence. */
int clv_link_check(const clvox_link *link, int number);

#endif
