/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_STATISTICS_H
#define CLV_OP_IMAGE_STATISTICS_H

#include "base/matrix.h"
#include "op/image.h"

/* Floats that the functions below need in partial. */
enum { CLV_STATISTICS_PARTIALS = 6 * 1024 };

/* Statistics of the finite voxels whose weight (NULL: 1) is above 0. */
typedef struct clv_statistics {
    double smallest, largest; /* of nothing: +infinity, -infinity */
    double sum, sum_squares;
    long not_above; /* values <= 0 */
    long voxels;
} clv_statistics;

/* Statistics of determinants: smallest, largest and not_above are those of the values, the sums those of
 * log(max(value, 1e-6)). Blocking; in fixed order, partial sums in float32, the rest in double. */
int clv_statistics_determinants(clvox_context *ctx, const clv_buffer *determinants, const clv_buffer *weight,
                                const int size[3], clv_buffer *partial, clv_statistics *out);

/* The same of the lengths |reorient v(x)| of a field's vectors. With through (a field on the same grid; NULL: none)
 * only voxels x count whose x + through(x) lies in the grid or up to half a voxel outside. */
int clv_statistics_lengths(clvox_context *ctx, const clv_image *field, const float reorient[3][3],
                           const clv_buffer *through, const clv_buffer *weight, clv_buffer *partial,
                           clv_statistics *out);

extern const clv_entry clv_entry_statistics;

#endif
