/* SPDX-License-Identifier: Apache-2.0 */
/* A triangle mesh whose vertices a map moves, as elements of currents, and the derivative by its vertices or by the map. */
#ifndef CLV_OP_ANATOMY_MOVING_MESH_H
#define CLV_OP_ANATOMY_MOVING_MESH_H

#include "op/anatomy/currents.h"
#include "op/anatomy/landmark_force.h"

/* Ints of a mesh's topology: the three vertices of each triangle; the first of the corners of each vertex, and their
 * number; the corners (3 triangle + 0, 1 or 2) of each vertex after those of the vertex before. */
#define CLV_TOPOLOGY_INTS(vertices, triangles) ((size_t)(vertices) + 1 + 6 * (size_t)(triangles))

typedef struct clv_moving_mesh {
    int vertices, triangles;
    clv_buffer *points;   /* of the vertices, CLV_LANDMARK_POINT floats each, in voxels of the map's grid */
    clv_buffer *topology;
    clv_buffer *tracked;  /* CLV_LANDMARK_TRACKED floats a vertex: its place in voxels, 0; a vector, 0 */
    clv_buffer *element, *box; /* as of clv_elements, mm along the grid's axes */
} clv_moving_mesh;

/* The places a_k with a_k + u(a_k) = p_k (u NULL: p_k) as clv_landmark_track finds them, and the elements there. A triangle
 * without area has no normal, and its element counts for nothing. */
int clv_moving_mesh_place(clvox_context *ctx, const clv_moving_mesh *mesh, const clv_buffer *u, const clv_image *grid);

/* With the derivative of F by the mesh's elements as clv_currents leaves it, the vectors dF/da_k, each gathered from its
 * triangles in their order, so that the bits are the same run after run. With u the derivative of -F by u(a_k) as
 * clv_landmark_force spreads it, state[slot] D(x + u)(a_k)^-T dF/da_k. All are multiplied by factor. */
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
