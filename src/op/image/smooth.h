/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_SMOOTH_H
#define CLV_OP_IMAGE_SMOOTH_H

#include "runtime/runtime.h"

/* The widest kernel, in voxels to either side, and the floats of `partial`. */
enum { CLV_SMOOTH_MAX_RADIUS = 3, CLV_SMOOTH_PARTIALS = 4096 };

/* Whether clv_smooth takes these widths: up to 1 voxel along each axis. */
bool clv_smooth_takes(const float sigma[3]);

/* out = G_sigma * in along all axes in one pass over memory, the same to
 * rounding as clv_gaussian's separable form: sampled kernel, cut at 3 sigma (at
 * least 1 voxel), edge value repeated, NaN reaches as far as the radius. sigma
 * in voxels, 0 leaves an axis alone. vectors: in and out are vector fields,
 * else scalars. in and out are distinct; in is kept.
 * state not NULL (vectors alone): also state[slot] = the longest |(scale v)| of
 * out, component by component; 1/spacing gives voxels. NaN where out holds one.
 * partial: CLV_SMOOTH_PARTIALS floats. state NULL: partial, slot and scale do
 * not count. The same bits run after run. */
int clv_smooth(clvox_context *ctx, const clv_buffer *in, const int size[3], bool vectors,
               const float sigma[3], clv_buffer *out, clv_buffer *partial, clv_buffer *state, int slot,
               const float scale[3]);

extern const clv_entry clv_entry_smooth;
extern const clv_entry clv_entry_smooth_longest;

#endif
