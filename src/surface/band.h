/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_SURFACE_BAND_H
#define CLV_SURFACE_BAND_H

#include "mesh/tree.h"
#include "clvox/device.h"
#include "clvox/volume.h"

/* Unsigned distances in mm to the triangles of a tree, for all voxels within
 * band mm of them and some of their neighbours: distance[i] and the nearest
 * triangle[i]. Other voxels are left as they are. Returns the number of voxels
 * written. */
int64_t clv_surface_band(clvox_context *ctx, const clvox_surface *surface, const clv_tree *tree,
                         const clvox_grid *grid, double band, float *distance, int32_t *triangle);

/* The same for the voxels that triangle says -1 of: from neighbour to neighbour
 * the nearest triangles are handed on and measured exactly, which finds the
 * nearest or one that is nearly as near. Without any voxel to start from all are
 * measured from the tree. with_border: the outermost voxels are measured from
 * the tree first, so that triangles beyond the grid count too. */
int clv_surface_beyond(const clvox_surface *surface, const clv_tree *tree, const clvox_grid *grid,
                       bool with_border, float *distance, int32_t *triangle);

#endif
