/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the surface pipelines. Level sets are signed distances, negative inside. */
#ifndef CLV_MESH_MESH_H
#define CLV_MESH_MESH_H

#include <stdbool.h>

#include "clvox/device.h"
#include "clvox/surface.h"
#include "clvox/volume.h"

/* 1 for the voxels of the grid that clvox_distance_from_surface finds inside, else 0. */
int clv_surface_inside(const clvox_surface *surface, const clvox_grid *grid, unsigned char *inside);

/* The volume in mm^3 that the facets of a closed mesh cut off a smooth surface through its vertices, and the
 * integral of that surface's mean curvature, mm; negative where the mesh faces inward. Noise of vertices has
 * little part in either. */
int clv_surface_facets(const clvox_surface *surface, double *cut_off, double *curvature);

/* The zero level of a signed distance (mm) on a grid twice as fine, refined by
 * cubics, with about four times the triangles: nearer where the surface bends.
 * Too large a grid is taken as it is. */
int clv_surface_extract_fine(const clvox_volume *distance, clvox_surface **out);

/* The volume in mm^3 that the zero level of a signed distance bounds, without
 * what triangles cut off: that of its mesh and of the finer one, carried on to
 * triangles of no size. CLVOX_ERROR_ARGUMENT where there is no surface. */
int clv_surface_smooth_volume(const clvox_volume *distance, double *volume);

#endif
