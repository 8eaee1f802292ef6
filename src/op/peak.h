/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PEAK_H
#define CLV_OP_PEAK_H

#include "runtime/runtime.h"

/* Floats that `out` holds. */
enum { CLV_PEAK_ROOM = 1 << 17 };

/* Chains x := factor x + term, started at start, start + 1 ... start + 15, of
 * `steps` multiply-adds in every lane of the device; out[i] is a work-item's sum
 * of its chains (16 of floats, or 128 where a lane is eight wide). Does not
 * wait. operations: what it does, a multiply-add counted as two. */
int clv_peak(clvox_context *ctx, float start, float factor, float term, int steps, clv_buffer *in,
             clv_buffer *out, double *operations);

extern const clv_entry clv_entry_peak;

#endif
