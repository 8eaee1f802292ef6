/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_HISTOGRAM_H
#define REF_IMAGE_HISTOGRAM_H

#include <stdint.h>

/* The bin of a value is found in single precision, as on the device: a value
 * on the edge of two bins must not fall into one here and the other there. */
void ref_histogram(const float *a, const float *mask, int n, float low, float high, int bins,
                   int32_t *counts);

#endif
