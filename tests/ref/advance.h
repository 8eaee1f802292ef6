/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_ADVANCE_H
#define REF_ADVANCE_H

#include "op/advance.h"

/* clv_advance with planar fields and the longest vector given. unsure: one
 * flag a voxel, set where a rounding of the position by slack could decide
 * otherwise. */
void ref_advance(const float *u, const float *v, const int size[3], const float spacing[3], double step,
                 double longest, double rim, double slack, double *out, int *unsure);

#endif
