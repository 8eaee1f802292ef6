/* SPDX-License-Identifier: Apache-2.0 */
/* Solids whose signed distance is known: no difference of a true distance and
 * what min and max of distances give. */
#ifndef CLV_PHANTOM_SURFACE_H
#define CLV_PHANTOM_SURFACE_H

#include <stdbool.h>
#include <stdint.h>

#include "clvox/phantom.h"

/* A solid in world space. Its size goes by the half extent of the grid's
 * thinnest axis (of more than one voxel); it is turned against the grid and off
 * its centre by a part of a voxel, so that no face runs along voxels. */
typedef struct clv_solid {
    clvox_solid kind;
    double to_solid[4][4]; /* RAS mm -> the solid's own frame, mm; a rigid map */
    double unit;           /* half extent, mm */
    double voxel;          /* smallest spacing of the grid, mm */
    struct clv_gyroid *gyroid; /* owned */
} clv_solid;

/* Release with clv_solid_free. CLVOX_ERROR_ARGUMENT for a gyroid whose grid has
 * too few voxels to show it. */
int clv_solid_make(clvox_solid kind, const clvox_grid *grid, clv_solid *out);
void clv_solid_free(clv_solid *solid);

/* Negative inside, 0 on the surface, cheap; a distance only near smooth parts
 * of the gyroid, exactly the signed distance for the others. x in RAS mm. */
double clv_solid_implicit(const clv_solid *solid, const double x[3]);
/* The signed distance in mm: closed forms, but for the gyroid, where the nearest
 * of densely sampled points is refined by Newton's method: within 1e-3 voxel. */
double clv_solid_distance(const clv_solid *solid, const double x[3]);

/* The distance at the voxels of a grid. The caller's. */
int clv_solid_sample(const clv_solid *solid, const clvox_grid *grid, clvox_volume **out);

/* A mesh with vertices on the surface, where it crosses the lines between the
 * voxels of the grid refined so many times. Edges of the solid are cut off within
 * a refined voxel. The caller's. */
int clv_solid_mesh(const clv_solid *solid, const clvox_grid *grid, int refined, clvox_surface **out);

/* 1 where distance + sigma * noise < 0, else 0: kind LABEL, type uint8. The
 * noise is normal of variance 1, white, or smoothed by a Gaussian of that width
 * in voxels; distance in mm, sigma in mm. The caller's. */
int clv_solid_mask(const clvox_volume *distance, double sigma, double width, uint64_t seed,
                   clvox_volume **out);

/* Moves vertices along their normals (area-weighted) by sigma mm times normal noise. */
int clv_surface_shake(clvox_surface *surface, double sigma, uint64_t seed);

/* ---- the gyroid, in its own frame --------------------------------------- */

typedef struct clv_gyroid clv_gyroid;

/* Within a ball of that radius about 0; accurate to a thousandth of voxel. */
int clv_gyroid_make(double period, double radius, double voxel, clv_gyroid **out);
void clv_gyroid_free(clv_gyroid *gyroid);
double clv_gyroid_implicit(const clv_gyroid *gyroid, const double p[3]);
double clv_gyroid_distance(const clv_gyroid *gyroid, const double p[3]);

#endif
