/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_UNSHARP_H
#define REF_IMAGE_UNSHARP_H

/* smooth: the Gaussian of in. */
void ref_unsharp(const float *in, const float *smooth, int n, double amount, double *out);

#endif
