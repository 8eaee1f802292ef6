/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_BANDS_H
#define REF_IMAGE_BANDS_H

/* clv_bands_apply with all of the matrix, rows times size[axis]; size of in. */
void ref_bands(const float *in, const int size[3], int axis, int rows, const double *matrix, double *out);

#endif
