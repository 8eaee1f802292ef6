/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_TENSOR_MPPCA_H
#define REF_TENSOR_MPPCA_H

#include "op/tensor/mppca.h"

/* Marchenko-Pastur PCA as op/mppca.h defines it, window after window, with
 * every eigenvalue and eigenvector by Jacobi's rotations. args: its
 * size, number of volumes, radius and is_signed; no buffers. mask may be NULL. */
void ref_mppca(const clv_mppca_args *args, const float *dwi, const float *mask, double *out, double *sigma);

#endif
