/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_POINTWISE_H
#define REF_IMAGE_POINTWISE_H

#include "op/image/pointwise.h"

void ref_pointwise(clv_pointwise_kind kind, double *out, int n, const float *a, const float *b,
                   const float *c, const float k[4]);
void ref_pointwise_table(double *out, int n, const float *a, const float *from, const float *to,
                         int knots);

#endif
