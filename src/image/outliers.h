/* SPDX-License-Identifier: Apache-2.0 */
/* Single voxels far beyond all others: spikes, hot pixels, a marker of the scanner. */
#ifndef CLV_IMAGE_OUTLIERS_H
#define CLV_IMAGE_OUTLIERS_H

#include <stdbool.h>

#include "clvox/volume.h"

/* The lowest and highest value of a frame without its few darkest and brightest voxels. *far: some of those
 * lie beyond them by more than twice the range of all others, which is not 0. Values that are not finite do
 * not count. */
int clv_outliers_find(const clvox_volume *frame, float *low, float *high, bool *far);

/* A copy without them, or NULL where there are none: low and high take their place. The caller's. */
int clv_outliers_clip(const clvox_volume *frame, clvox_volume **out);

#endif
