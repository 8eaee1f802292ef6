/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_DCT_H
#define CLV_OP_IMAGE_DCT_H

#include "op/image.h"

/* out (n floats): each voxel the mean of the 64 cubes of 4^3 voxels that hold it, after the coefficients of
 * a cube's orthonormal discrete cosine transform within `threshold` times sigma, but the mean, have become
 * 0. sigma (n floats): the noise, of which a cube takes that of its second voxel along each axis; 0: nothing
 * is left out. Beyond the border images repeat the edge value. */
int clv_dct_denoise(clvox_context *ctx, const clv_image *in, const clv_buffer *sigma, float threshold,
                    clv_buffer *out);

extern const clv_entry clv_entry_dct_denoise;

#endif
