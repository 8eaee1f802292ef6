/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_REDUCE_H
#define CLV_OP_IMAGE_REDUCE_H

#include "op/image.h"

/* Reductions in an order that depends only on n and the device: the same bits
 * run after run. Two launches, no host read; the result is one float at
 * out[slot]. partial holds at least CLV_REDUCE_PARTIALS floats. */
enum { CLV_REDUCE_PARTIALS = 4096 };

typedef enum clv_reduce_kind {
    CLV_REDUCE_SUM,          /* sum a */
    CLV_REDUCE_DOT,          /* sum a b */
    CLV_REDUCE_SQUARE_DIFFERENCE, /* sum (a - b)^2 */
    CLV_REDUCE_MIN,          /* NaN is passed over */
    CLV_REDUCE_MAX,
    CLV_REDUCE_MAX_ABS,
    CLV_REDUCE_COUNT_NOT_ABOVE /* number of a <= k */
} clv_reduce_kind;

/* Operands of a reduction: n elements of each. b is NULL where the kind has none. weight, where not NULL,
 * multiplies each term of a sum, and removes elements where it is 0 from minima and maxima. */
typedef struct clv_terms {
    const clv_buffer *a, *b, *weight;
    float k;
    int n;
} clv_terms;

/* The minimum of no elements is +infinity, the maximum -infinity, all else 0. */
int clv_reduce(clvox_context *ctx, clv_reduce_kind kind, const clv_terms *terms, clv_buffer *partial,
               clv_buffer *out, int slot);

/* The longest vector of a field: max over voxels of |v_i| with each component
 * first multiplied by scale (1/spacing gives voxels). most: out[slot] never
 * falls, so that call after call it is the longest of all. */
int clv_reduce_longest(clvox_context *ctx, const clv_image *field, const float scale[3], bool most,
                       clv_buffer *partial, clv_buffer *out, int slot);

extern const clv_entry clv_entry_reduce;
extern const clv_entry clv_entry_reduce_longest;
extern const clv_entry clv_entry_reduce_last;

#endif
