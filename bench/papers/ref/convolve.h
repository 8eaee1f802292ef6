/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_PAPERS_CONVOLVE_H
#define REF_PAPERS_CONVOLVE_H

/* Each plane under the full mask of (2 radius + 1)^2 weights; edge value repeated. */
void ref_convolve(const float *in, const int size[3], int radius, const float *mask, double *out);

#endif
