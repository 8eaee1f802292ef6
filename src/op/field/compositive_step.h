/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FIELD_COMPOSITIVE_STEP_H
#define CLV_OP_FIELD_COMPOSITIVE_STEP_H

#include "op/image.h"
#include "op/within.h"

/* How far a step goes. */
typedef struct clv_step_length {
    float step;              /* voxels that the longest vector moves */
    float rim;               /* voxels, 0 or more */
    const clv_buffer *state; /* state[slot]: the longest |v| in voxels (clv_reduce_longest, or a filter's
                                own maximum), read on the device: nothing waits */
    int slot;
} clv_step_length;

/* A compositive step of a displacement field:
 *   out(x) = s v(x) + u(x + s v(x)),   s = step / max(longest, tiny),
 * u trilinear, its border's vectors repeated outside.
 * Within rim of the outermost voxels of an axis of more than one, s falls linearly
 * to 0, and out is 0 on them: a map that leaves the border where it is maps the grid
 * onto itself, and has an inverse everywhere on it. rim 0: neither.
 * s = 0 where longest is 0 or not finite. v, u, out: fields on one grid, in mm along its
 * axes; out is neither of the others. Outside of `within` (op/within.h) v does not count, and out is u,
 * but 0 on the border. */
int clv_compositive_step(clvox_context *ctx, const clv_image *u, const clv_buffer *v,
                         const clv_step_length *length, clv_within within, clv_buffer *out);

extern const clv_entry clv_entry_compositive_step;

#endif
