/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_DCT_H
#define REF_IMAGE_DCT_H

/* As op/image/dct.h says; returns how near to its threshold a coefficient came, over the threshold. */
double ref_dct_denoise(const float *in, const int size[3], const float *sigma, double threshold, double *out);

#endif
