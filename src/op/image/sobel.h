/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_SOBEL_H
#define CLV_OP_IMAGE_SOBEL_H

#include "op/image.h"

/* Edges of a scalar: the length of the Sobel gradient per mm (after
 * mueller2008, in three dimensions). Each component is the central difference
 * smoothed by 1/4 1/2 1/4 along the two other axes, the edge value repeated. out may not be in. */
int clv_sobel(clvox_context *ctx, const clv_image *in, clv_buffer *out);

extern const clv_entry clv_entry_sobel;

#endif
