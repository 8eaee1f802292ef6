/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_SHARPEN_H
#define CLV_OP_IMAGE_SHARPEN_H

#include "op/image/histogram.h"

/* r = u - E(u) where mask is above 0, and 0 elsewhere. E is given at equally spaced
 * places, 2 at least, the first at low, the last at high: table, floats on the
 * device; linear in between, constant beyond. This is the residual that the field
 * of N3 and N4 is fitted to (Sled et al. 1998, Tustison et al. 2010): E is what a
 * voxel's value should be by the image's sharpened histogram. */
int clv_sharpen(clvox_context *ctx, const clv_image *u, const clv_buffer *mask, const clv_bins *places,
                const clv_buffer *table, clv_buffer *r);

extern const clv_entry clv_entry_sharpen;

#endif
