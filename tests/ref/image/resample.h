/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_RESAMPLE_H
#define REF_IMAGE_RESAMPLE_H

/* Gaussian of 0.5 sqrt(f^2 - 1) voxels an axis, f = in_size / out_size, sampled
 * and cut at 3 sigma (at least 1 voxel), border repeated; then trilinear. */
void ref_downsample(const float *in, const int in_size[3], double *out, const int out_size[3]);

#endif
