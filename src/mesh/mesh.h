/* SPDX-License-Identifier: Apache-2.0 */
/* What the surface pipelines share. Level sets are signed distances, negative
 * inside. */
#ifndef CLV_MESH_MESH_H
#define CLV_MESH_MESH_H

#include <stdbool.h>

#include "clvox/device.h"
#include "clvox/surface.h"
#include "clvox/volume.h"

/* Facts about a mesh as it stands. A triangle whose corners are not three
 * vertices counts as degenerate and for nothing else. */
typedef struct clv_surface_facts {
    int components;      /* of triangles that share edges */
    int euler;           /* vertices in use - edges + triangles */
    int open_edges;      /* of one triangle */
    int crowded_edges;   /* of more than two */
    int flipped_edges;   /* whose two triangles run in the same direction */
    int degenerate;      /* triangles without area */
    int unused_vertices;
    double area, volume; /* mm^2, mm^3; volume positive where triangles face outward */
    double bounds[2][3]; /* least and largest x, y, z of the vertices in use; 0 without */
} clv_surface_facts;

/* CLVOX_ERROR_DATA where a corner is no vertex or a point no number. */
int clv_surface_inspect(const clvox_surface *surface, clv_surface_facts *facts);

/* Distances of two surfaces in mm, each way from points spread evenly over the
 * triangles (about `samples` of them, at fixed places) to the nearest point of
 * the other: [0] from a to b, [1] from b to a, [2] both. The largest looks from
 * the vertices too. CLVOX_ERROR_DATA where one has no triangle. */
typedef struct clv_surface_difference {
    double mean[3], rms[3], percentile95[3], largest[3];
    double normal_degrees; /* mean angle between the two triangles' normals, both ways */
    clv_surface_facts facts[2];
} clv_surface_difference;

int clv_surface_compare(const clvox_surface *a, const clvox_surface *b, int samples,
                        clv_surface_difference *out);

/* What the way from a mesh to a distance found to say to its user. */
typedef struct clv_surface_notes {
    clv_surface_facts facts; /* once vertices in one place are one */
    int vertices_welded;
    int triangles_turned; /* so that neighbours run alike, and parts that lie in no other outward */
    bool turned;          /* faced inward as a whole and was taken the other way round */
    bool crossing;        /* parts lie inside of others, by crossing or nesting: the
                             distance is to what bounds their union */
    bool leaves_grid;     /* reaches beyond the outermost voxel centres */
    size_t voxels_inside;
} clv_surface_notes;

/* Signed distance in mm to a mesh on grid, whatever its axes: exact within
 * `band` mm of the surface; beyond, to the nearest triangle that neighbours hand
 * on, seldom more than a tenth of a voxel too far. An infinite band is exact
 * everywhere. The sign is that of the generalised winding number (Jacobson et al.
 * 2013) of the mesh with its triangles turned alike, so that small holes,
 * crossings and turned triangles do no harm. notes may be NULL. The same bits run
 * after run, whatever the number of threads. CLVOX_ERROR_DATA without a triangle. */
int clv_surface_to_distance(clvox_context *ctx, const clvox_surface *surface, const clvox_grid *grid,
                            double band, clv_surface_notes *notes, clvox_volume **out);

/* 1 for the voxels of the grid that clv_surface_to_distance finds inside, else 0. */
int clv_surface_inside(const clvox_surface *surface, const clvox_grid *grid, unsigned char *inside);

/* Signed distance in mm to where values cross `iso` (values above it are
 * inside), sub-voxel by linear interpolation; a mask or label is 1 inside, 0
 * outside, with iso 0.5. */
int clv_values_to_distance(clvox_context *ctx, const clvox_volume *values, double iso,
                           clvox_volume **out);

/* The surface where values cross `level`; inside is below it (a signed
 * distance) or, with above, above it. A marching cubes with the topology of the
 * trilinear function: asymptotic deciders on faces, tunnels inside of cells.
 * Always a closed 2-manifold without cracks, double vertices or degenerate
 * triangles, oriented outward on mirrored grids too; it may still touch itself
 * closely. Vertices stay a thousandth of an edge away from voxels, and tunnels
 * narrower than that are closed. A value at the level, or NaN, is outside;
 * beside a value that is not finite the surface runs halfway. Where inside
 * reaches the border of the grid, a cap half a voxel beyond it closes the
 * surface. Bit-identical for any number of threads. CLVOX_ERROR_ARGUMENT where
 * the level is not reached. */
int clv_surface_extract(const clvox_volume *values, double level, bool above, clvox_surface **out);

/* The zero level of a signed distance (mm) on a grid twice as fine, refined by
 * cubics, with about four times the triangles: nearer where the surface bends.
 * Too large a grid is taken as it is. */
int clv_surface_extract_fine(const clvox_volume *distance, clvox_surface **out);

/* The volume in mm^3 that the zero level of a signed distance bounds, without
 * what triangles cut off: that of its mesh and of the finer one, carried on to
 * triangles of no size. CLVOX_ERROR_ARGUMENT where there is no surface. */
int clv_surface_smooth_volume(const clvox_volume *distance, double *volume);

#endif
