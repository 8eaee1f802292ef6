/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_FMA_RATE_H
#define CLV_OP_PAPERS_FMA_RATE_H

#include "runtime/runtime.h"

/* Floats that `out` holds. */
enum { CLV_FMA_ROOM = 1 << 17 };

/* Chains x := factor x + term of `steps` multiply-adds, started at start, start + 1 ... start + 15. */
typedef struct clv_fma_chains {
    bool twice; /* in double precision */
    float start, factor, term;
    int steps;
} clv_fma_chains;

/* Runs them in every lane of the device; out[i] is a work-item's sum of its
 * chains (16, or 16 times as many as a lane is wide). CLVOX_ERROR_DEVICE where
 * double precision is asked for and the device has none. Does not wait. in: 3
 * floats. operations: what it does, a multiply-add counted as two. */
int clv_fma_rate(clvox_context *ctx, const clv_fma_chains *chains, clv_buffer *in, clv_buffer *out,
                 double *operations);

extern const clv_entry clv_entry_fma_rate, clv_entry_fma_rate_double;

#endif
