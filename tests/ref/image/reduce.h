/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_REDUCE_H
#define REF_IMAGE_REDUCE_H

#include "op/image/reduce.h"

/* b and weight may be NULL. */
double ref_reduce(clv_reduce_kind kind, const float *a, const float *b, const float *weight, float k,
                  int n);
/* field is planar. */
double ref_reduce_longest(const float *field, const float scale[3], int voxels);

#endif
