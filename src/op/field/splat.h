/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FIELD_SPLAT_H
#define CLV_OP_FIELD_SPLAT_H

#include "op/image.h"
#include "op/map.h"

/* Forward warping, the exact adjoint of clv_warp with CLV_LINEAR and outside 0: each voxel i of in adds
 * weight_j(p(i)) in(i) to the voxels j around p(i), p by the map and the field on in's grid,
 *   sums(j) = sum_i weight_j(p(i)) in(i),
 * so that <sums, v> = <in, warp of v>. Values that land more than half a voxel outside are lost; of all others
 * the sum is kept, and within the outermost centres the first moments too. Values that are not finite are left
 * out. Sums are whole numbers of 64 bits in units that even all values in one place do not overflow: the same
 * bits in any order and by every variant that finds the same positions. */
typedef struct clv_splat_args {
    clv_image in;
    const clv_map *map;
    const clv_buffer *field; /* NULL: none */
    int size[3];             /* of the grid that it lands on */
    float most;              /* no |value| is larger */
    bool ones;               /* adds 1 in the place of each finite value */
    clv_buffer *sums;        /* 8 bytes a voxel landed on, 0 before */
    clv_buffer *beyond;      /* an int, to which the number of values beyond most is added: these are left out */
    clv_buffer *boxes;       /* scratch of clv_splat_box_bytes(), for maps onto few voxels; NULL: none */
} clv_splat_args;

int clv_splat(clvox_context *ctx, const clv_splat_args *args);
int clv_splat_power(const clv_splat_args *args); /* of two: units to 1 */
size_t clv_splat_box_bytes(const clvox_context *ctx); /* 0: needs none */

/* out = factor sums; or, with weights (args of ones with sums of their own), their mean, factor times sums over
 * weights where these reach least, else outside. All sums are 0 again. */
typedef struct clv_splat_mean {
    const clv_splat_args *weights;
    float least, outside;
} clv_splat_mean;
int clv_splat_total(clvox_context *ctx, const clv_splat_args *args, float factor, const clv_splat_mean *mean,
                    clv_buffer *out);

/* Reads other sums of that kind, in units of 2^-power: so many as numbers, after which they are 0 again. */
int clv_splat_numbers(clvox_context *ctx, clv_buffer *sums, int power, int count, clv_buffer *out);

extern const clv_entry clv_entry_splat, clv_entry_splat_box, clv_entry_splat_boxes;
extern const clv_entry clv_entry_splat_total;

#endif
