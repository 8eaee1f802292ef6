/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_MATCH_BOUNDARY_H
#define CLV_OP_MATCH_BOUNDARY_H

#include "op/image.h"

/* What boundary-based registration sums over the points of a surface (Greve and Fischl, NeuroImage 48,
 * 2009): with w and g the image, trilinear, at map (in, 1) and map (out, 1), in voxels, and
 *   Q = 100 (g - w) / ((g + w) / 2),   h = 1 + tanh(slope Q),
 * the sum of h, the points that count, and the derivatives of the sum of h by the twelve numbers of map. A
 * point counts where both places lie inside (up to half a voxel beyond the outermost centres), no corner
 * of their cells is NaN, and g + w is above 0. */
typedef struct clv_boundary_args {
    clv_image image;
    const clv_buffer *points; /* CLV_BOUNDARY_POINT floats each: in (x, y, z, 0) and out (x, y, z, 0) */
    int count;
    float slope;
    float map[3][4]; /* from the points' frame to voxels */
} clv_boundary_args;

enum { CLV_BOUNDARY_POINT = 8, CLV_BOUNDARY_SUMS = 14, CLV_BOUNDARY_MOST_ITEMS = 8192 };

/* sums: h, counted points, dh by map row by row; of partial sums in a fixed order. Blocking. partial:
 * CLV_BOUNDARY_MOST_ITEMS * CLV_BOUNDARY_SUMS floats. */
int clv_boundary(clvox_context *ctx, const clv_boundary_args *args, clv_buffer *partial,
                 double sums[CLV_BOUNDARY_SUMS]);

extern const clv_entry clv_entry_boundary;

#endif
