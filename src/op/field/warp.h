/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FIELD_WARP_H
#define CLV_OP_FIELD_WARP_H

#include "runtime/runtime.h"

/* Where voxel i of the output grid looks in the input grid, in voxels:
 * p = linear (i, 1) + shift u(i), u a field on the output grid in mm along its
 * axes. Rows are x, y, z. */
typedef struct clv_map {
    float linear[3][4];
    float shift[3][3];
} clv_map;

typedef enum clv_interpolation {
    CLV_NEAREST,
    CLV_LINEAR,
    CLV_CUBIC /* interpolating Catmull-Rom */
} clv_interpolation;

/* out(i) = in(p(i)) for one scalar frame. field may be NULL (affine only).
 * Outside of the input grid beyond half a voxel: outside; up to half a voxel
 * beyond, the border value. Interpolation never reads outside. */
int clv_warp(clvox_context *ctx, const clv_buffer *in, const int in_size[3], const clv_map *map,
             const clv_buffer *field, clv_interpolation interpolation, float outside,
             clv_buffer *out, const int out_size[3]);

/* As clv_warp for label images: each corner's trilinear weight votes for its
 * label, the largest total wins, ties go to the smaller label. */
int clv_warp_label(clvox_context *ctx, const clv_buffer *in, const int in_size[3],
                   const clv_map *map, const clv_buffer *field, float outside, clv_buffer *out,
                   const int out_size[3]);

extern const clv_entry clv_entry_warp;

#endif
