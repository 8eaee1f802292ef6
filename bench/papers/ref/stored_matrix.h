/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_PAPERS_STORED_MATRIX_H
#define REF_PAPERS_STORED_MATRIX_H

/* (gamma + 6 alpha) v - alpha (the sum of the six neighbours), 0 outside. */
void ref_matrix_multiply(const float *v, const int size[3], double alpha, double gamma, double *out);

#endif
