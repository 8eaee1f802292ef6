/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FIELD_WARP_H
#define CLV_OP_FIELD_WARP_H

#include "op/image.h"
#include "op/map.h"
#include "op/within.h"

typedef enum clv_interpolation {
    CLV_NEAREST,
    CLV_LINEAR,
    CLV_CUBIC, /* interpolating Catmull-Rom */
    CLV_LABEL, /* for label images: each corner's trilinear weight votes for its label, the
                  largest total wins, ties go to the smaller label */
    CLV_BSPLINE, /* cubic B-spline; in holds its coefficients (clv_spline_samples of image/spline.h), mirrored
                    beyond the outermost centres */
    CLV_LANCZOS, /* sinc under Lanczos' window of three lobes, weights that add up to 1 */
    CLV_GAUSSIAN /* voxels by their shares of a Gaussian of sigma 1, up to 1 from the place; those beyond the
                    border do not count, and weights add up to 1 */
} clv_interpolation;

/* out(i) = in(p(i)), p by the map, for one scalar frame. field may be NULL (affine only).
 * Outside of the input grid beyond half a voxel: outside; up to half a voxel
 * beyond, the border value. Interpolation never reads outside. */
int clv_warp(clvox_context *ctx, const clv_image *in, const clv_map *map, const clv_buffer *field,
             clv_interpolation interpolation, float outside, const clv_image *out);

/* The same within a part of out (op/within.h); NaN elsewhere. */
int clv_warp_within(clvox_context *ctx, const clv_image *in, const clv_map *map, const clv_buffer *field,
                    clv_interpolation interpolation, float outside, clv_within within, const clv_image *out);

extern const clv_entry clv_entry_warp;

#endif
