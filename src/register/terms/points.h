/* SPDX-License-Identifier: Apache-2.0 */
/* Landmarks as a term of a deformation. A model raises
 *   metric a voxel - options.points_weight mean_k |a_k - b_k|^2,
 * a_k and b_k the places in the middle (of one-sided models the fixed image) that
 * the maps lead to landmark k of the moving and of the fixed image, in mm after the linear part.
 * They are the term clv_term_points. */
#ifndef CLV_REGISTER_POINTS_H
#define CLV_REGISTER_POINTS_H

#include "register/terms/terms.h"

/* n points of the fixed image, or of the moving one as the linear part leads to them, in voxels of grid:
 * CLV_LANDMARK_POINT floats each. */
int clv_points_to_voxels(const clv_registration *run, const clvox_grid *grid, bool moving, const double *points, int n,
                         float *out);

/* Sigma of a pull that is spread, in voxels of its grid. */
void clv_points_sigma(const clv_registration *run, const clv_pull *pull, float sigma[3]);

#endif
