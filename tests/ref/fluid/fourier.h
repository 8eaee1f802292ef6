/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_FLUID_FOURIER_H
#define REF_FLUID_FOURIER_H

#include "op/fluid/fluid_operator.h"

/* The spectrum of a planar field, by the definition along each axis in turn:
 * for each component, complex number k at 2 k and 2 k + 1, x / 2 + 1 a row. */
void ref_fft(const double *field, const int size[3], double *spectrum);

/* v with L v = f for a periodic L: by conjugate gradients in double precision,
 * to a residual of 1e-13. */
void ref_fft_solve(const clv_fluid_operator *op, const double *f, double *v);

#endif
