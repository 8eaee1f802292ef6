/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FIELD_COMPOSITIVE_STEP_H
#define CLV_OP_FIELD_COMPOSITIVE_STEP_H

#include "runtime/runtime.h"

/* A compositive step of a displacement field:
 *   out(x) = s v(x) + u(x + s v(x)),   s = step / max(longest, tiny),
 * u trilinear, its border's vectors repeated outside;
 * longest = state[slot], the longest |v| in voxels (clv_reduce_longest, or a
 * filter's own maximum), read on the device: nothing waits. step in voxels.
 * rim (voxels, 0 or more): within that distance of the outermost voxels of an
 * axis of more than one, s falls linearly to 0, and out is 0 on them: a map that
 * leaves the border where it is maps the grid onto itself, and has an inverse
 * everywhere on it. rim 0: neither.
 * s = 0 where longest is 0 or not finite. v, u, out: fields on one grid, in mm along its
 * axes; out is neither of the others. */
int clv_compositive_step(clvox_context *ctx, const clv_buffer *u, const clv_buffer *v, const int size[3],
                const float spacing[3], float step, float rim, const clv_buffer *state, int slot, clv_buffer *out);

extern const clv_entry clv_entry_compositive_step;

#endif
