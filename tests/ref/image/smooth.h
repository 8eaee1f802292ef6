/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_SMOOTH_H
#define REF_IMAGE_SMOOTH_H

#include "op/image/smooth.h"

/* The values are ref_gaussian's. This is the longest vector of a planar field,
 * its components scaled; NaN where it holds a NaN. */
double ref_smooth_longest(const double *field, size_t voxels, const float scale[3]);

#endif
