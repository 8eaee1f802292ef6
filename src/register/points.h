/* SPDX-License-Identifier: Apache-2.0 */
/* Landmarks as a term of a deformation. A model raises
 *   metric a voxel - options.points_weight mean_k |a_k - b_k|^2,
 * a_k and b_k the places in the middle (of one-sided models the fixed image) that
 * the maps lead to landmark k of the moving and of the fixed image, in mm after the linear part.
 * clv_registration.points.count is 0 where there is no such term, and nothing here is called then. */
#ifndef CLV_REGISTER_POINTS_H
#define CLV_REGISTER_POINTS_H

#include "register/register.h"

/* The landmarks in voxels of a level's grid, once run->matrix is settled. */
int clv_points_place(clv_registration *run, const clvox_grid *grid);

/* n points of the fixed image, or of the moving one as the linear part leads to them, in voxels of grid:
 * CLV_LANDMARK_POINT floats each. */
int clv_points_to_voxels(const clv_registration *run, const clvox_grid *grid, bool moving, const double *points, int n,
                         float *out);

typedef struct clv_points_pull {
    const int *size; /* of the level's grid */
    const float *spacing;
    const clv_buffer *u, *u_fixed;         /* u_fixed NULL: the fixed image stays */
    clv_buffer *force, *force_fixed;       /* to which d(voxels term)/du is added; NULL: none is wanted */
    const float *axes;                     /* NULL, or what components are multiplied by */
    const clv_buffer *state;
    int slot;                              /* voxels that were compared: a metric's sum is so many times its mean */
    bool smooth;                           /* spread by options.points_width instead of over the voxels around */
    clv_buffer *scratch[2];                /* where smooth: fields, overwritten where there are shapes */
} clv_points_pull;

/* Sigma of a pull that is spread, in voxels of its grid. */
void clv_points_sigma(const clv_registration *run, const clv_points_pull *pull, float sigma[3]);

int clv_points_force(clv_registration *run, const clv_points_pull *pull);

/* The term a voxel, 0 or below, as the last pull found it. Blocking. */
int clv_points_term(clv_registration *run, double *term);

#endif
