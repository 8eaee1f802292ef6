/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_HISTOGRAM_H
#define CLV_OP_IMAGE_HISTOGRAM_H

#include "runtime/runtime.h"

/* Counts a's values in `bins` equal bins of [low, high]; values outside fall
 * into the end bins, NaN is left out, and so are voxels where mask (may be
 * NULL) is not above 0. counts: bins int32 on the device, set by this call.
 * bins <= 1024. The bin is floor((a - low) bins / (high - low)) in single
 * precision, 0 when high is not above low. Integer counts: the order of additions does not matter. */
int clv_histogram(clvox_context *ctx, const clv_buffer *a, const clv_buffer *mask, int n,
                  float low, float high, int bins, clv_buffer *counts);

extern const clv_entry clv_entry_histogram;

#endif
