/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_SURFACE_H
#define CLVOX_SURFACE_H

#include <stddef.h>
#include <stdint.h>

#include "clvox/status.h"

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

#endif
