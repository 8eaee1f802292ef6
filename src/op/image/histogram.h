/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_HISTOGRAM_H
#define CLV_OP_IMAGE_HISTOGRAM_H

#include "op/image.h"

/* Equal bins, or equally spaced places, of the intensities from low to high. */
typedef struct clv_bins {
    float low, high;
    int count;
} clv_bins;

/* Counts a's values in equal bins, 1024 at most; values outside fall into the
 * end bins, NaN is left out, and so are voxels where mask (may be NULL) is not
 * above 0. counts: an int32 a bin on the device, set by this call. The bin is
 * floor((a - low) count / (high - low)) in single precision, 0 when high is not
 * above low. Integer counts: the order of additions does not matter. */
int clv_histogram(clvox_context *ctx, const clv_image *a, const clv_buffer *mask, const clv_bins *bins,
                  clv_buffer *counts);

extern const clv_entry clv_entry_histogram;

#endif
