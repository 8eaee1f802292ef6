/* SPDX-License-Identifier: Apache-2.0 */
/* Triangles, segments of curves or points whose vertices a map moves, as elements of currents, and the
 * derivative by the vertices or by the map. */
#ifndef CLV_OP_ANATOMY_MOVING_MESH_H
#define CLV_OP_ANATOMY_MOVING_MESH_H

#include "op/anatomy/currents.h"
#include "op/anatomy/landmark_force.h"

/* Ints of a mesh's topology: the vertices of each element; the first of the corners of each vertex, and
 * their number; the corners (corners * element + 0, 1 or 2) of each vertex after those of the vertex
 * before. */
#define CLV_TOPOLOGY_INTS(corners, vertices, elements) \
    ((size_t)(vertices) + 1 + 2 * (size_t)(corners) * (size_t)(elements))

typedef struct clv_moving_mesh {
    int corners; /* of an element: 3 of triangles, 2 of segments, 1 of points */
    int vertices, elements;
    clv_buffer *points; /* of the vertices, CLV_LANDMARK_POINT floats each, in voxels of the map's grid; the
                           last one is the weight of a point */
    clv_buffer *topology;
    clv_buffer *tracked; /* CLV_LANDMARK_TRACKED floats a vertex: its place in voxels, the weight; a vector,
                            0 */
    clv_buffer *element, *box; /* as of clv_elements, mm along the grid's axes */
} clv_moving_mesh;

/* The places a_k with a_k + u(a_k) = p_k (u NULL: p_k) as clv_landmark_track finds them, and the elements
 * there: of triangles with unit normal and area, of segments with direction and length, of points with the
 * vector (1, 0, 0), so that every product of two is 1, and weight. What has no size has no direction
 * either, and counts for nothing. */
int clv_moving_mesh_place(clvox_context *ctx, const clv_moving_mesh *mesh, const clv_buffer *u, const clv_image *grid);

/* With the derivative of F by the mesh's elements as clv_currents leaves it, the vectors dF/da_k, each
 * gathered from its elements in their order, so that the bits are the same run after run. With u the
 * derivative of -F by u(a_k) as clv_landmark_force spreads it, state[slot] D(x + u)(a_k)^-T dF/da_k. All
 * are multiplied by factor. */
typedef struct clv_mesh_pull_args {
    const clv_buffer *by_element;
    const clv_buffer *u; /* NULL: the derivative by the vertices; then axes and state do not count */
    clv_image grid;      /* of the map, in mm */
    float factor;
    const float *axes;   /* NULL, or what the components are multiplied by */
    const clv_buffer *state;
    int slot;
} clv_mesh_pull_args;

int clv_moving_mesh_pull(clvox_context *ctx, const clv_moving_mesh *mesh, const clv_mesh_pull_args *args);

extern const clv_entry clv_entry_moving_mesh_place;
extern const clv_entry clv_entry_moving_mesh_elements;
extern const clv_entry clv_entry_moving_mesh_boxes;
extern const clv_entry clv_entry_moving_mesh_pull;

#endif
