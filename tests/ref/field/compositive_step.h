/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_FIELD_COMPOSITIVE_STEP_H
#define REF_FIELD_COMPOSITIVE_STEP_H

#include "op/field/compositive_step.h"

/* clv_compositive_step with planar fields and the longest vector given. unsure: one
 * flag a voxel, set where a rounding of the position by slack could decide
 * otherwise. */
void ref_compositive_step(const float *u, const float *v, const int size[3], const float spacing[3], double step,
                 double longest, double rim, double slack, double *out, int *unsure);

#endif
