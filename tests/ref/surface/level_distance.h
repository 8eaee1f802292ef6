/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_SURFACE_LEVEL_DISTANCE_H
#define REF_SURFACE_LEVEL_DISTANCE_H

/* The distance to the level of values that are linear between voxels, in double
 * precision: every voxel is compared with points of the level all over the grid,
 * found by cutting each cell `fine` times an axis. Too large by at most the
 * square of half the points' distance over twice the result. NaN is outside. */
void ref_level(const float *values, const int size[3], const float spacing[3], double iso, double reach,
               int fine, double *out);

#endif
