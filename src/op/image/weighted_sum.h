/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_WEIGHTED_SUM_H
#define CLV_OP_IMAGE_WEIGHTED_SUM_H

#include <stdint.h>

#include "op/image.h"

/* Images are added up as whole numbers of 32 bits: powers of 2, so many whole numbers for a value and for
 * a weight of 1, and the most that one image adds. */
typedef struct clv_weighted_units {
    float value, weight, most;
} clv_weighted_units;

/* Such that `count` images of values up to four times `largest`, as cubic interpolation may make of it,
 * have a sum; what is beyond is cut. A mean of them is off by about 2e-9 of the largest value times the
 * root of count. */
clv_weighted_units clv_weighted_units_of(double largest, int count);

/* sums: a pair of int32_t for each voxel of x, of which the first grows by weight x and the second by the
 * weight (0 to 1, rounded to these units, at least one) where x is finite. The same bits on every device. */
int clv_weighted_sum(clvox_context *ctx, const clv_image *x, float weight, const clv_weighted_units *units,
                     clv_buffer *sums);

/* The mean of a pair; 0 where nothing has been added. */
static inline float clv_weighted_mean(const int32_t pair[2], const clv_weighted_units *units)
{
    return pair[1]
               ? (float)((double)pair[0] / (double)units->value / ((double)pair[1] / (double)units->weight))
               : 0;
}

extern const clv_entry clv_entry_weighted_sum;

#endif
