/* SPDX-License-Identifier: Apache-2.0 */
/* Generalised winding numbers of meshes (Jacobson et al. 2013), exact and fast
 * on grids: where the mesh is open, caps over its borders close it. Of the
 * closed mesh the winding number is an integer that one walk along each row of
 * the grid counts; the share of the caps, which is seldom more than nothing, is
 * taken off again with a tree of dipoles (Barill et al. 2018). */
#ifndef CLV_MESH_WINDING_H
#define CLV_MESH_WINDING_H

#include "mesh/edges.h"
#include "clvox/volume.h"
#include "mesh/mesh.h"

/* Lets triangles share a vertex where theirs lie in one place; counts the vertices
 * that are then out of use. */
int clv_surface_weld(clvox_surface *surface, int *welded);

/* Flips triangles so that neighbours across edges of two triangles run
 * alike, in each patch the smaller area; patches that have no two sides (a
 * Moebius band) stay as they are. Returns the number of triangles flipped. */
int clv_surface_orient(clvox_surface *surface, const clv_side *sides, size_t count, int *flipped);

/* Flips closed parts that face inward, times sign, and lie in no other part:
 * what they bound is no cavity. Adds the number of triangles flipped. */
int clv_surface_flip_parts(clvox_surface *surface, const clv_side *sides, size_t count, int sign,
                           int *flipped);

/* The caps: a mesh whose border is that of the surface the other way round, so
 * that both together are closed. No triangle where the surface is closed. On
 * success *out is the caller's. */
int clv_surface_caps(const clvox_surface *surface, const clv_side *sides, size_t count,
                     clvox_surface **out);

/* winding[i] = the winding number of surface and caps about each voxel, clipped
 * to the range of the type. The voxel is looked at from some 1e-6 voxels beside
 * its centre, so that meshes on the lattice of the grid mean no ties. */
int clv_winding_rows(const clvox_surface *surface, const clvox_surface *caps, const clvox_grid *grid,
                     int16_t *winding);

/* Corrects voxels for which the caps' own share changes the side of 1/2 on which the winding number lies: inside[i]
 * = 1 where the winding number of the surface alone, times sign, is above 1/2, else 0. */
int clv_winding_inside(const clvox_surface *caps, const clvox_grid *grid, const int16_t *winding,
                       int sign, unsigned char *inside);

/* The share of one triangle in the winding number about a point. */
double clv_winding_of(const clvox_surface *surface, size_t triangle, const double p[3]);

#endif
