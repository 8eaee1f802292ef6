/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_FLUID_CONJUGATE_GRADIENT_H
#define REF_FLUID_CONJUGATE_GRADIENT_H

#include "op/fluid/fluid_operator.h"

/* `iterations` of conjugate gradients from v, in double precision; ends before
 * that where the residual is 0. */
void ref_conjugate_gradient(const clv_fluid_operator *op, const double *f, int iterations, double *v);

#endif
