/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_PAPERS_TEXTURE_FILTER_H
#define REF_PAPERS_TEXTURE_FILTER_H

/* Each plane: the length of the slopes by Sobel's masks of 3 x 3, not divided; edge values are repeated. */
void ref_texture_sobel(const float *in, const int size[3], double *out);

/* g + (1 + alpha) (in - g), with g as it stands in out. */
void ref_texture_unsharp(const float *in, int n, double alpha, double *out);

#endif
