/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_ADVANCE_H
#define CLV_OP_ADVANCE_H

#include "runtime/runtime.h"

/* A compositive step of a displacement field:
 *   out(x) = s v(x) + u(x + s v(x)),   s = step / max(longest, tiny),
 * u trilinear, its border's vectors repeated outside;
 * longest = state[slot], the longest |v| in voxels (clv_reduce_longest, or a
 * filter's own maximum), read on the device: nothing waits. step in voxels.
 * s = 0 where longest is 0 or not finite. v, u, out: fields on one grid, in mm along its
 * axes; out is neither of the others. */
int clv_advance(clvox_context *ctx, const clv_buffer *u, const clv_buffer *v, const int size[3],
                const float spacing[3], float step, const clv_buffer *state, int slot, clv_buffer *out);

extern const clv_entry clv_entry_advance;

#endif
