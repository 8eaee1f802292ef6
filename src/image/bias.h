/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_IMAGE_BIAS_H
#define CLV_IMAGE_BIAS_H

#include "base/options.h"
#include "clvox/filter.h"

/* The options of bias-field correction. */
extern const clv_option_table clv_bias_table;

/* Expected value of a voxel: E at `bins` equally spaced places from low to high, by a histogram of
 * CLV_DISTRIBUTION_BINS equal bins of that range, taken as the true one blurred by a Gaussian of that FWHM (Sled et
 * al. 1998). */
int clv_bias_expect(const int32_t *counts, double low, double high, int bins, double fwhm, double noise,
                    float *expected);

#endif
