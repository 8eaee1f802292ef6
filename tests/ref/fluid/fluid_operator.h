/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_FLUID_FLUID_OPERATOR_H
#define REF_FLUID_FLUID_OPERATOR_H

#include "op/fluid/fluid_operator.h"

/* out = L v, planar fields, in double precision. */
void ref_fluid_operator(const clv_fluid_operator *op, const double *v, double *out);

/* |f - L v| / |f|, the 2-norm over all components. */
double ref_fluid_operator_residual(const clv_fluid_operator *op, const double *v, const double *f);

#endif
