/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_CONVOLVE_H
#define CLV_OP_PAPERS_CONVOLVE_H

#include "runtime/runtime.h"

enum { CLV_CONVOLVE_MAX_RADIUS = 5 };

/* Every plane z under a full mask of (2 radius + 1)^2 weights, x fastest:
 * out(x, y, z) = sum over dx, dy of mask(dx, dy) in(x + dx, y + dy, z); the edge
 * value is repeated. For masks that cannot be split, and for comparing those
 * that can with clv_gaussian. radius: 1 to CLV_CONVOLVE_MAX_RADIUS. NaN reaches
 * as far as the mask. in and out are distinct; in is kept. */
int clv_convolve(clvox_context *ctx, const clv_buffer *in, const int size[3], int radius,
                 const clv_buffer *mask, clv_buffer *out);

extern const clv_entry clv_entry_convolve;

#endif
