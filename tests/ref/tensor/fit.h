/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_TENSOR_FIT_H
#define REF_TENSOR_FIT_H

#include <stdbool.h>

#include "op/tensor/fit.h"

typedef struct ref_tensor {
    double tensor[6]; /* mm^2/s, as src/op/tensor/fit.h has them */
    double s0, sigma, noise;
    int kind;
    bool lost; /* whether every measurement of a shell was rejected */
} ref_tensor;

/* One voxel in double precision, by QR. */
void ref_tensor_fit(const float *signal, const double *b, const double (*direction)[3], int volumes,
                    clv_tensor_method method, bool robust, ref_tensor *out);

/* Eigenvalues, ascending. */
void ref_tensor_eigenvalues(const double tensor[6], double values[3]);

#endif
