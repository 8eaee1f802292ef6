/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_SURFACE_MESH_DISTANCE_H
#define CLV_OP_SURFACE_MESH_DISTANCE_H

#include "runtime/runtime.h"

/* Floats of a triangle as the device reads it. */
#define CLV_MESH_RECORD 24

/* The record of a triangle with these three corners, relative to origin: small
 * numbers keep their digits in float32. Without area: its longest edges. */
void clv_mesh_record(const double corners[9], const double origin[3], float record[CLV_MESH_RECORD]);

/* Cells of 2 x 2 x 2 voxels, each with a list of triangles.
 * triangles: records. cells: count + 1 times int x, y, z of the lowest voxel and
 * where in list its triangles start, which the next one's start ends.
 * to_position: rows that lead from voxel indices to the position, in the frame of the
 * records. */
typedef struct clv_mesh_cells {
    const clv_buffer *triangles, *cells, *list;
    int count;
    float to_position[3][4];
} clv_mesh_cells;

/* squared[8 c + l] = squared distance of voxel l (x fastest) of cell c to the
 * nearest listed triangle, exact but for rounding (some 1e-7 of the largest
 * coordinate in the distance), and nearest[8 c + l] its number, of equally near
 * ones the lowest. Without a triangle: infinity, -1. The same bits run after
 * run. Voxels of a cell beyond the grid are computed like any. */
int clv_mesh_distance(clvox_context *ctx, const clv_mesh_cells *cells, clv_buffer *squared,
                      clv_buffer *nearest);

extern const clv_entry clv_entry_mesh_distance;

#endif
