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

#endif
