/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_GRADIENT_H
#define REF_IMAGE_GRADIENT_H

/* out: three planes. */
void ref_gradient(const float *a, const int size[3], const float spacing[3], double *out);

#endif
