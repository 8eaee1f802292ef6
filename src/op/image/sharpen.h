/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_SHARPEN_H
#define CLV_OP_IMAGE_SHARPEN_H

#include "runtime/runtime.h"

/* r = u - E(u) where mask is above 0, and 0 elsewhere, for n voxels. E is given at
 * `bins` (2 at least) equally spaced places from low to high: table, floats on the
 * device; linear in between, constant beyond. This is the residual that the field
 * of N3 and N4 is fitted to (Sled et al. 1998, Tustison et al. 2010): E is what a
 * voxel's value should be by the image's sharpened histogram. */
int clv_sharpen(clvox_context *ctx, const clv_buffer *u, const clv_buffer *mask, const clv_buffer *table,
                float low, float high, int bins, clv_buffer *r, int n);

extern const clv_entry clv_entry_sharpen;

#endif
