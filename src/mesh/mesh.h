/* SPDX-License-Identifier: Apache-2.0 */
/* What the surface pipelines share. Level sets are signed distances, negative
 * inside. */
#ifndef CLV_MESH_MESH_H
#define CLV_MESH_MESH_H

#include <stdbool.h>

#include "clvox/device.h"
#include "clvox/surface.h"
#include "clvox/volume.h"

/* Distances of two surfaces in mm, each way from points spread evenly over the
 * triangles (about `samples` of them, at fixed places) to the nearest point of
 * the other: [0] from a to b, [1] from b to a, [2] both. The largest looks from
 * the vertices too. CLVOX_ERROR_DATA where one has no triangle. */
typedef struct clv_surface_difference {
    double mean[3], rms[3], percentile95[3], largest[3];
    double normal_degrees; /* mean angle between the two triangles' normals, both ways */
    clvox_surface_facts facts[2];
} clv_surface_difference;

int clv_surface_compare(const clvox_surface *a, const clvox_surface *b, int samples,
                        clv_surface_difference *out);

/* 1 for the voxels of the grid that clvox_distance_from_surface finds inside, else 0. */
int clv_surface_inside(const clvox_surface *surface, const clvox_grid *grid, unsigned char *inside);

/* Dice of what two closed surfaces enclose, by voxels of a 192nd of the longest extent;
 * NaN where neither encloses one. */
int clv_surface_overlap(const clvox_surface *a, const clvox_surface *b, double *dice);

/* The zero level of a signed distance (mm) on a grid twice as fine, refined by
 * cubics, with about four times the triangles: nearer where the surface bends.
 * Too large a grid is taken as it is. */
int clv_surface_extract_fine(const clvox_volume *distance, clvox_surface **out);

/* The volume in mm^3 that the zero level of a signed distance bounds, without
 * what triangles cut off: that of its mesh and of the finer one, carried on to
 * triangles of no size. CLVOX_ERROR_ARGUMENT where there is no surface. */
int clv_surface_smooth_volume(const clvox_volume *distance, double *volume);

#endif
