/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_SMOOTH_H
#define CLV_OP_IMAGE_SMOOTH_H

#include "op/image.h"

/* The widest kernel, in voxels to either side, and the floats of `partial`. */
enum { CLV_SMOOTH_MAX_RADIUS = 3, CLV_SMOOTH_PARTIALS = 4096 };

/* Whether clv_smooth takes these widths: up to 1 voxel along each axis. */
bool clv_smooth_takes(const float sigma[3]);

/* Destination of a result's longest vector: the longest |(scale v)|, component by component, into state[slot];
 * 1/spacing gives voxels. NaN where it holds one. */
typedef struct clv_longest {
    clv_buffer *partial; /* CLV_SMOOTH_PARTIALS floats */
    clv_buffer *state;
    int slot;
    float scale[3];
} clv_longest;

/* out = G_sigma * in along all axes in one pass over memory, the same to
 * rounding as clv_gaussian's separable form: sampled kernel, cut at 3 sigma (at
 * least 1 voxel), edge value repeated, NaN reaches as far as the radius. sigma
 * in voxels, 0 leaves an axis alone. out: another buffer of the same kind; in is
 * kept. longest (of vector fields alone; NULL: not asked for): also the longest
 * vector of out. The same bits run after run. */
int clv_smooth(clvox_context *ctx, const clv_image *in, const float sigma[3], clv_buffer *out,
               const clv_longest *longest);

extern const clv_entry clv_entry_smooth;
extern const clv_entry clv_entry_smooth_longest;

#endif
