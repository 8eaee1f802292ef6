/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_MEDIAN_H
#define CLV_OP_IMAGE_MEDIAN_H

#include "clvox/filter.h"
#include "op/image.h"

/* The widest box, in voxels on either side: 15^3 values. */
enum { CLV_MEDIAN_MAX_RADIUS = CLVOX_MEDIAN_RADIUS };

/* The median of the 2 radius + 1 voxels along each axis around every voxel, the
 * edge value repeated beyond the border: always of an odd number. NaN counts as
 * above every number, so that the result is NaN where more than half are. radius is
 * 0 to CLV_MEDIAN_MAX_RADIUS; out may not be in. */
int clv_median_filter(clvox_context *ctx, const clv_image *in, const int radius[3], clv_buffer *out);

extern const clv_entry clv_entry_median;

#endif
