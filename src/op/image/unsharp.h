/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_UNSHARP_H
#define CLV_OP_IMAGE_UNSHARP_H

#include "op/image/gaussian.h"

/* Unsharp masking (mueller2008): out = in + amount (in - G_sigma * in), sigma
 * in voxels as in clv_gaussian. in, tmp and out are distinct and equally
 * large; in is kept. */
int clv_unsharp(clvox_context *ctx, const clv_image *in, const float sigma[3], float amount, clv_buffer *tmp,
                clv_buffer *out);

#endif
