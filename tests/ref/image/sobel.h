/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_SOBEL_H
#define REF_IMAGE_SOBEL_H

void ref_sobel(const float *in, const int size[3], const float spacing[3], double *out);

#endif
