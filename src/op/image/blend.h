/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_BLEND_H
#define CLV_OP_IMAGE_BLEND_H

#include "op/image.h"

extern const clv_entry clv_entry_blend;

/* u += w (v - u) for vector fields u and v, with one weight a voxel: v where w
 * is 1, u where it is 0. */
int clv_blend(clvox_context *ctx, const clv_image *u, const clv_buffer *v, const clv_buffer *w);

#endif
