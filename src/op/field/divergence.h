/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FIELD_DIVERGENCE_H
#define CLV_OP_FIELD_DIVERGENCE_H

#include "op/image.h"

/* out = div v, a number a voxel: central differences along the axes, in which v, in mm, is 0 outside of its grid; an axis
 * of one voxel has none. A voxel that is not finite takes those beside it along. */
int clv_divergence(clvox_context *ctx, const clv_image *v, clv_buffer *out);

/* v += weight grad s, each component by its weight and the same differences: for the sums over a grid
 * <grad s, v> = -<s, div v>. weight: mm^2 where s is a divergence. */
int clv_add_gradient(clvox_context *ctx, const clv_buffer *s, const float weight[3], const clv_image *v);

extern const clv_entry clv_entry_divergence, clv_entry_add_gradient;

#endif
