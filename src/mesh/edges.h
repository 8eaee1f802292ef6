/* SPDX-License-Identifier: Apache-2.0 */
/* The edges of a triangle mesh, found by sorting: the same list whatever the
 * machine. */
#ifndef CLV_MESH_EDGES_H
#define CLV_MESH_EDGES_H

#include "clvox/surface.h"

/* One side of a triangle. at: 3 times the triangle and the number of the
 * corner it starts from, so that it runs from corners[at] to the next corner. */
typedef struct clv_side {
    int32_t low, high; /* its vertices */
    int32_t at;
} clv_side;

/* Checks that corners are vertices and points are numbers; CLVOX_ERROR_DATA
 * names the first that is not. */
int clv_surface_check(const clvox_surface *surface);

/* 1 for a triangle whose corners are not three vertices: it has no edges. */
static inline int clv_triangle_collapsed(const int32_t corner[3])
{
    return corner[0] == corner[1] || corner[1] == corner[2] || corner[2] == corner[0];
}

/* All sides of the triangles that are not collapsed, those of one edge side by
 * side, in ascending order of low, high, at. On success *out is the caller's to
 * free and *count their number. */
int clv_sides(const clvox_surface *surface, clv_side **out, size_t *count);

/* End in that list of the sides of the edge that sides[i] begins. */
size_t clv_sides_end(const clv_side *sides, size_t count, size_t i);

/* How often the triangles of sides i to end, all of one edge, run along it from
 * low to high, less how often back. */
int clv_sides_net(const clvox_surface *surface, const clv_side *sides, size_t i, size_t end);

#endif
