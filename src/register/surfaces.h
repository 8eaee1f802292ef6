/* SPDX-License-Identifier: Apache-2.0 */
/* Surfaces as a term of a deformation. A model raises
 *   metric a voxel - options.surface_weight mean_i |S_i - T_i|^2 / (|S_i|^2 + |T_i|^2),
 * S_i and T_i the surfaces of the moving and of the fixed image as currents or varifolds, where the maps lead to them in the
 * middle (of one-sided models the fixed image), after the linear part. The norms below are those of the surfaces before the
 * deformation, so that they do not change on the way. clv_registration.surfaces.count is 0 where there is no such term. */
#ifndef CLV_REGISTER_SURFACES_H
#define CLV_REGISTER_SURFACES_H

#include "register/points.h"

/* From images, of which surfaces alone are looked at. */
void clv_surfaces_describe(clv_registration *run, const clvox_register_images *images);
int clv_surfaces_requests(clv_registration *run, clv_request *list);

/* Of the kernel on that grid, mm. */
double clv_surfaces_width(const clvox_register_options *options, const clvox_grid *grid, int index);

/* The surfaces in voxels of the grid of level `index`, whose width counts from here on; once run->matrix is settled.
 * CLVOX_ERROR_DATA where both have no area. Blocking. */
int clv_surfaces_place(clv_registration *run, const clvox_grid *grid, int index);

/* Finds the surfaces and adds their pull, as clv_points_force does. */
int clv_surfaces_force(clv_registration *run, const clv_points_pull *pull);

/* Adds the term a voxel, 0 or below, as the last pull found it. Blocking. */
int clv_surfaces_term(clv_registration *run, double *term);

#endif
