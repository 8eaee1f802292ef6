/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_TENSOR_MPPCA_H
#define REF_TENSOR_MPPCA_H

/* Marchenko-Pastur PCA as op/mppca.h defines it, window after window, with
 * every eigenvalue and eigenvector by Jacobi's rotations. mask may be NULL. */
void ref_mppca(const int size[3], int volumes, int radius, const float *dwi, const float *mask, double *out,
               double *sigma);

#endif
