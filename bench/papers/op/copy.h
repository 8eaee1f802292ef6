/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_COPY_H
#define CLV_OP_PAPERS_COPY_H

#include "runtime/runtime.h"

extern const clv_entry clv_entry_copy;

/* out = in by a kernel of 16-byte accesses, for measuring the bandwidth that
 * every other operation is compared with. n is a multiple of 4 floats. */
int clv_copy(clvox_context *ctx, const clv_buffer *in, clv_buffer *out, int n);

#endif
