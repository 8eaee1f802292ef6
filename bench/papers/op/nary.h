/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_NARY_H
#define CLV_OP_PAPERS_NARY_H

#include "runtime/runtime.h"

enum { CLV_NARY_MOST = 8 };

/* The mean of 1 to CLV_NARY_MOST volumes of n floats in one pass over memory (Ha 2011, figure 2.6), and the
 * larger of two. out may be one of them. */
int clv_mean(clvox_context *ctx, const clv_buffer *const *in, int count, int n, clv_buffer *out);
int clv_largest(clvox_context *ctx, const clv_buffer *a, const clv_buffer *b, int n, clv_buffer *out);

extern const clv_entry clv_entry_nary;

#endif
