/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_SURFACE_H
#define CLVOX_SURFACE_H

#include <stddef.h>
#include <stdint.h>

#include "clvox/device.h"
#include "clvox/status.h"
#include "clvox/volume.h"

/* A triangle mesh in host memory. Vertices are in RAS millimetres; seen from
 * outside, the corners of a triangle run counter-clockwise. */
typedef struct clvox_surface {
    size_t vertices, triangles;
    double *points;   /* x, y, z of each vertex */
    int32_t *corners; /* three vertices of each triangle */
} clvox_surface;

/* A surface with all points and corners 0. On success *out is the caller's, to
 * be released with clvox_surface_destroy; on failure NULL. */
CLVOX_API int clvox_surface_create(size_t vertices, size_t triangles, clvox_surface **out);

/* Releases the surface and sets *surface to NULL. NULL is legal. */
CLVOX_API void clvox_surface_destroy(clvox_surface **surface);

/* Reads a surface, its format told by content, or by its ending where content
 * does not tell (OBJ, BYU); any of them may be compressed by gzip.
 *   GIFTI: ASCII, base64 and compressed base64, either byte and index order,
 *     one surface a file. Points in a named space (scanner, aligned, Talairach,
 *     MNI) are taken as they stand; from an unknown one, the matrix that leads
 *     to scanner or aligned RAS is applied, else FreeSurfer's VolGeom remarks.
 *     Matrices that lead on to Talairach or MNI space are not: they would take
 *     the surface out of the space of its images.
 *   FreeSurfer's binary triangles: tkRAS, taken to scanner RAS by the volume
 *     geometry behind the triangles; without one, tkRAS as it stands.
 *   Legacy VTK polydata, ASCII and binary (polygons and triangle strips, old
 *     and 5.x), PLY (ASCII and binary), STL (ASCII and binary; corners at equal
 *     coordinates become one vertex), OBJ, BYU: these state no frame and are
 *     taken as RAS mm. Files of ITK and its kin are often LPS: negate x and y.
 * Polygons become fans of triangles around their first corner; everything that
 * is no vertex or face is skipped. Where a matrix mirrors, triangles are turned,
 * so that outward stays outward. CLVOX_ERROR_FORMAT for damage, vertices that
 * are not finite, corners that name no vertex, points without faces. On success
 * *out is the caller's, to be released with clvox_surface_destroy; on failure
 * NULL. */
CLVOX_API int clvox_surface_read(const char *path, clvox_surface **out);

/* Writes a surface in the format of the ending: .gii, .vtk and .ply (binary),
 * .stl (binary), .obj, .byu, or FreeSurfer's, whose names begin with lh. or rh.
 * or end in .fs, .white or .pial. Vertices are written as float32 (as decimals
 * of that precision in text) in RAS mm, in GIFTI named as scanner RAS, in
 * FreeSurfer's with a geometry that makes tkRAS and RAS one. STL keeps neither
 * the order of vertices nor those that no triangle uses. The rename rule of
 * clvox_volume_write holds. CLVOX_ERROR_ARGUMENT for another ending or corners
 * that name no vertex, CLVOX_ERROR_DATA for vertices beyond float32. */
CLVOX_API int clvox_surface_write(const clvox_surface *surface, const char *path);

/* Signed distance in mm to where values, linear between voxels, cross iso; values
 * above it are inside and get a negative distance. A mask (1 inside, 0 outside)
 * takes iso 0.5, so that its surface lies half-way between voxels. Exact within
 * ten voxels of that surface and nearly so beyond; NaN lies outside; where the
 * surface leaves the grid it goes on. *out lies on the grid of values and is the
 * caller's on success, NULL on failure. CLVOX_ERROR_ARGUMENT for values that are
 * all above iso or none, several frames, axes not at right angles (to half a
 * degree) or longer than 2040 voxels; _MEMORY, _DEVICE, _BUILD as the device
 * gives them. */
CLVOX_API int clvox_distance_from_values(clvox_context *context, const clvox_volume *values, double iso,
                                         clvox_volume **out);

/* ---- non-local-means denoising ------------------------------------------ */

typedef enum clvox_denoise_update {
    CLVOX_DENOISE_PATCHES = 0, /* whole patches are averaged, and their overlaps */
    CLVOX_DENOISE_PAPER        /* explicit steps of Lee et al. 2012, equation 15 */
} clvox_denoise_update;

/* What patches are compared by: AUTO the blocked product; the others pair by
 * pair, from the paper's three kinds of memory. */
typedef enum clvox_denoise_memory {
    CLVOX_DENOISE_AUTO = 0,
    CLVOX_DENOISE_CONSTANT,
    CLVOX_DENOISE_GLOBAL,
    CLVOX_DENOISE_IMAGE
} clvox_denoise_memory;

/* Whether the level set keeps its components, handles and cavities (inside voxels
 * joined across faces, outside ones across corners too). AUTO: unless they look
 * like noise's own, which averaging loses: noise above 0.23 voxels, islands or
 * cavities of fewer than 27 voxels. Above 0.23 voxels handles, islands and
 * cavities are even taken away that shifting the level by twice the noise would
 * take away. */
typedef enum clvox_denoise_topology {
    CLVOX_TOPOLOGY_AUTO = 0,
    CLVOX_TOPOLOGY_KEEP,
    CLVOX_TOPOLOGY_FREE
} clvox_denoise_topology;

/* Called from time to time with what is being done and the share of the whole
 * that is done, from 0 to 1 and never falling. A result other than 0 stops with
 * CLVOX_ERROR_STOPPED. */
typedef int (*clvox_denoise_progress)(void *user, const char *stage, double fraction);

/* Lengths are in voxels of the smallest edge. */
typedef struct clvox_denoise_options {
    clvox_denoise_update update;
    clvox_denoise_memory memory;
    clvox_denoise_topology topology;
    int patch;       /* samples along an edge of a patch: 3, 5 or 7 */
    int neighbours;  /* patches averaged, 1 to 256 */
    double band;     /* half width of the band; at least the longest edge is taken */
    double c1;       /* w = exp(-|x - y|^2 / c1) exp(-D / c2); 0: infinite */
    double c2;       /* 0: strength times the noise */
    double strength; /* 0: 1.5 */
    int planes;      /* PATCHES without c1: compare and average patches less the plane nearest
                        to each, planes apart: anatomy gains, so that it is the default */
    double radius;   /* compare only patches so near; 0: all of the band */
    int rounds;      /* of patches; 0: by the noise. With a mesh and noise below 0.23 voxels, from the
                        second on the result tells which patches are alike, the input's are averaged */
    int steps;       /* of PAPER */
    int interval;    /* steps of PAPER between re-distancings */
    int free_volume; /* leave the level where averaging put it */
    double volume;   /* mm^3 to keep where the level is not placed; 0: that of the level set, a little less
                        than that of the mask or mesh it was made of */
    const clvox_surface *mesh; /* that the level set was made of, or NULL. With it the level is put where its
                        vertices lie around it alike; without it, where as many voxels were inside as outside
                        if that is blurred as by noise of 0.25 voxels: either knows better than the volume,
                        which noise and the chords of triangles make wrong */
    int everywhere;  /* make the result a distance on the whole grid, not only near the surface */
    clvox_denoise_progress progress; /* may be NULL */
    void *user;
} clvox_denoise_options;

/* The defaults: what `clvox surface denoise` does without options. */
CLVOX_API void clvox_denoise_defaults(clvox_denoise_options *options);

typedef struct clvox_denoise_result {
    clvox_volume *distance; /* on the input's grid, mm, negative inside; the caller's */
    int size[3];            /* of the box that was worked on */
    int band_voxels;        /* of the last round */
    int neighbours;         /* of each, as many as the band has */
    double noise;           /* 20th percentile over the first round's band of the squared residual of a patch
                               from its quadratic fit, voxels^2: what is no shape */
    double deviation;       /* the same as standard deviation of one sample, voxels */
    double nearest;         /* median of D to the nearest patch, voxels^2 */
    double c2;              /* of the last round */
    int rounds, steps;      /* done */
    double volume_before, volume_after; /* mm^3 */
    int placed;             /* 1: the level lies where vertices or voxels say, 0: where the volume is kept */
    double shift_mm;        /* of the level, outward, in all */
    double mean_mm, largest_mm; /* movement of the surface */
    double energy[2];       /* PAPER: 1/4 sum w (phi_l - phi_j)^2 before and after the steps, else NaN */
    int topology_kept;      /* 1: the zero level has as many components and the Euler characteristic that the
                               input's has on this grid */
    long held_voxels;       /* that had to stay on their side of it for that; beside them it is no distance */
    long simplified_voxels; /* that changed sides for a handle, island or cavity of the noise to go */
    long not_finite;        /* values of the input, taken to lie outside */
    double seconds_prepare, seconds_search, seconds_update, seconds_redistance, seconds_finish;
    size_t device_bytes;    /* most that the run held at once */
} clvox_denoise_result;

/* What a run will take. */
typedef struct clvox_denoise_plan {
    int size[3];           /* of the box around the surface that is worked on */
    int band_voxels;       /* about */
    size_t device_bytes;   /* most at once */
    double search_seconds; /* a guess from the device's speed */
} clvox_denoise_plan;

/* Looks at the level set without working on it. Errors are clvox_surface_denoise's. */
CLVOX_API int clvox_denoise_plan_make(clvox_context *context, const clvox_volume *distance,
                                      const clvox_denoise_options *options, clvox_denoise_plan *plan);

/* Denoises the surface where a signed distance (mm, negative inside) is 0; only
 * near it must the input be a distance. Values that are not finite count as
 * outside; a surface that reaches the border goes on straight beyond it. On
 * success result->distance is the caller's; on failure it is NULL.
 * CLVOX_ERROR_DATA where there is no surface, _ARGUMENT for label volumes, grids
 * with sheared axes and options out of range. */
CLVOX_API int clvox_surface_denoise(clvox_context *context, const clvox_volume *distance,
                                    const clvox_denoise_options *options, clvox_denoise_result *result);

/* Releases the result's volume; the numbers stay. NULL is legal. */
CLVOX_API void clvox_denoise_result_free(clvox_denoise_result *result);

#endif
