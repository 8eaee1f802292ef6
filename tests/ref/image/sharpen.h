/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_SHARPEN_H
#define REF_IMAGE_SHARPEN_H

/* clv_sharpen */
void ref_sharpen(const float *u, const float *mask, const float *table, double low, double high, int bins,
                 double *r, int n);

#endif
