/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_MEDIAN_H
#define REF_IMAGE_MEDIAN_H

void ref_median(const float *in, const int size[3], const int radius[3], double *out);

#endif
