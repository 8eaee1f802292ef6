/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_RESAMPLE_H
#define CLV_OP_IMAGE_RESAMPLE_H

#include "clvox/volume.h"
#include "op/image/gaussian.h"
#include "op/field/warp.h"

/* The grid of a pyramid level: each axis shrunk by factor[axis] (>= 1, any
 * real number), never below one voxel; the extent of the volume (from outer
 * voxel face to outer voxel face) is kept exactly. */
void clv_pyramid_grid(const clvox_grid *grid, const double factor[3], clvox_grid *level);

/* linear/shift for resampling from grid `from` onto grid `to` by `world`
 * (RAS mm on `to` -> RAS mm on `from`; NULL: identity). field_sign (+1 or -1)
 * multiplies shift: u in mm along the axes of `to`. */
void clv_map_between(const clvox_grid *to, const clvox_grid *from, const double world[4][4],
                     float field_sign, clv_map *map);

/* One scalar frame on another grid in the same world: trilinear, 0 outside. */
int clv_sample(clvox_context *ctx, const clv_buffer *in, const clvox_grid *from, clv_buffer *out,
               const clvox_grid *to);

/* Anti-aliased resampling of one scalar frame to a coarser grid of the same
 * extent: Gaussian of sigma = 0.5 sqrt(f^2 - 1) voxels an axis (f: ratio of
 * voxel edges), then trilinear. scratch: each as large as in. */
int clv_downsample(clvox_context *ctx, const clv_buffer *in, const clvox_grid *from,
                   clv_buffer *const scratch[2], clv_buffer *out, const clvox_grid *to);

#endif
