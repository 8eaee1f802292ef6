/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_POINTWISE_H
#define CLV_OP_IMAGE_POINTWISE_H

#include "op/image.h"

/* n-ary pointwise arithmetic in one pass over memory. a, b, c are as large as
 * out, vector fields like any number of components; k are host constants. out
 * may be one of the inputs. NaN stays NaN where a kind does not say otherwise. */
typedef enum clv_pointwise_kind {
    CLV_POINTWISE_LINEAR,   /* k0 a + k1 b + k2 c + k3; b and c may be NULL */
    CLV_POINTWISE_MULTIPLY, /* k0 a b + k1 c; c may be NULL */
    CLV_POINTWISE_DIVIDE,   /* k0 a / b, 0 where |b| <= k1 */
    CLV_POINTWISE_CLAMP,    /* min(max(k0 a + k1, k2), k3) */
    CLV_POINTWISE_LOG,      /* log(max(a, k0)) */
    CLV_POINTWISE_ABS,      /* |a| */
    CLV_POINTWISE_SQUARE_DIFFERENCE, /* k0 (a - b)^2 */
    CLV_POINTWISE_THRESHOLD, /* a > k0 ? k1 : k2; NaN counts as not above */
    CLV_POINTWISE_FINITE,    /* a where finite, k0 elsewhere */
    CLV_POINTWISE_EXP,       /* exp(k0 a + k1) */
    CLV_POINTWISE_ROOT,      /* sqrt(max(a, 0)) */
    CLV_POINTWISE_TUKEY      /* (1 - (a / k0)^2)^2 where |a| < k0, else 0, as where a is NaN */
} clv_pointwise_kind;

int clv_pointwise(clvox_context *ctx, clv_pointwise_kind kind, const clv_image *out, const clv_buffer *a,
                  const clv_buffer *b, const clv_buffer *c, const float k[4]);

/* Piecewise-linear map of intensities through `knots` pairs (from ascending,
 * to), constant beyond the ends; both tables on the host, knots <= 256. */
int clv_pointwise_table(clvox_context *ctx, const clv_image *out, const clv_buffer *a, const float *from,
                        const float *to, int knots);

extern const clv_entry clv_entry_pointwise;
extern const clv_entry clv_entry_pointwise_table;

#endif
