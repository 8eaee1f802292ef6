/* SPDX-License-Identifier: Apache-2.0 */
/* Meshes whose shape is known. All face outward. */
#ifndef MESH_MESHES_H
#define MESH_MESHES_H

#include "clvox/surface.h"

/* 20 * 4^levels triangles with vertices on the sphere. */
clvox_surface *mesh_sphere(const double centre[3], double radius, int levels);
/* Around the z axis: tube of that radius about a circle of radius ring. */
clvox_surface *mesh_torus(const double centre[3], double ring, double tube, int around, int across);
/* Twelve triangles times n^2. */
clvox_surface *mesh_box(const double low[3], const double high[3], int n);
/* The same pushed out to an ellipsoid of these axes: other triangles than mesh_sphere's. */
clvox_surface *mesh_ellipsoid(const double centre[3], const double axes[3], int n);
/* Both, one after the other. */
clvox_surface *mesh_both(const clvox_surface *a, const clvox_surface *b);
/* A copy without the triangles whose numbers are first, first + 1 .. below end. */
clvox_surface *mesh_without(const clvox_surface *a, size_t first, size_t end);
/* Turns triangles first .. below end over. */
void mesh_turn(clvox_surface *a, size_t first, size_t end);

/* Pairs of triangles without a common vertex that cut each other. */
int mesh_crossings(const clvox_surface *a);

#endif
