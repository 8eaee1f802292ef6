/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_FMA_RATE_H
#define CLV_OP_PAPERS_FMA_RATE_H

#include "runtime/runtime.h"

/* Floats that `out` holds. */
enum { CLV_PEAK_ROOM = 1 << 17 };

/* Chains x := factor x + term, started at start, start + 1 ... start + 15, of
 * `steps` multiply-adds in every lane of the device; out[i] is a work-item's sum
 * of its chains (16, or 16 times as many as a lane is wide). In double precision
 * with twice; CLVOX_ERROR_DEVICE where the device has none. Does not wait.
 * operations: what it does, a multiply-add counted as two. */
int clv_fma_rate(clvox_context *ctx, bool twice, float start, float factor, float term, int steps, clv_buffer *in,
             clv_buffer *out, double *operations);

extern const clv_entry clv_entry_fma_rate, clv_entry_fma_rate_double;

#endif
