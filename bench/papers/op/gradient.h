/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_GRADIENT_H
#define CLV_OP_IMAGE_GRADIENT_H

#include "op/image.h"

/* Physical gradient along the grid's axes: central differences inside,
 * one-sided at the borders, 0 along an axis of one voxel. spacing in mm.
 * out: vector field. */
int clv_gradient(clvox_context *ctx, const clv_image *a, clv_buffer *out);
/* The same from an image object of a (texture.h), where the variant that is forced reads one; NULL: one for this call. */
int clv_gradient_from(clvox_context *ctx, const clv_image *a, const clv_buffer *image, clv_buffer *out);

extern const clv_entry clv_entry_gradient;

#endif
