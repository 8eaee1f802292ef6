/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of bounding boxes over the triangles of a mesh: what lies nearest to a
 * point, exactly, edges and corners included. */
#ifndef CLV_MESH_TREE_H
#define CLV_MESH_TREE_H

#include <stdbool.h>

#include "clvox/surface.h"

/* The left child of a node follows it; a leaf has right = 0. */
typedef struct clv_tree_node {
    double low[3], high[3];
    int32_t right;
    int32_t first, count; /* its triangles: places in clv_tree.order */
} clv_tree_node;

typedef struct clv_tree {
    clv_tree_node *nodes; /* the root first */
    size_t node_count;
    int32_t *order;  /* triangles as the leaves hold them */
    double *corners; /* their three corners, in that order, 9 numbers each */
} clv_tree;

/* Over all triangles, those without area too. The same tree for the same
 * surface. On success *out is the caller's, to be released with
 * clv_tree_destroy; on failure NULL. CLVOX_ERROR_DATA without a triangle. */
int clv_tree_create(const clvox_surface *surface, clv_tree **out);
void clv_tree_destroy(clv_tree **tree); /* NULL is legal */

typedef struct clv_nearest {
    double squared;  /* distance */
    double point[3]; /* on the triangle */
    int32_t triangle;
} clv_nearest;

/* The point of the mesh nearest to p, of equally near triangles that with the
 * lowest number; false where nothing lies within sqrt(limit) of p (to rounding).
 * Any thread. */
bool clv_tree_nearest(const clv_tree *tree, const double p[3], double limit, clv_nearest *out);

/* Places (in order) of all triangles within sqrt(limit) of p and of those that
 * share a leaf with them or nearly touch, at most room of them, in an order that
 * depends on nothing else. Returns their number, which may be above room. Any
 * thread. */
size_t clv_tree_within(const clv_tree *tree, const double p[3], double limit, int32_t *out, size_t room);

/* Squared distance from p to a triangle of three corners (9 numbers), and the
 * point there. */
double clv_triangle_nearest(const double corners[9], const double p[3], double point[3]);

#endif
