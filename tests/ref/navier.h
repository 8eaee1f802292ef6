/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_NAVIER_H
#define REF_NAVIER_H

#include "op/navier.h"

/* out = L v, planar fields, in double precision. */
void ref_navier(const clv_navier *op, const double *v, double *out);

/* |f - L v| / |f|, the 2-norm over all components. */
double ref_navier_residual(const clv_navier *op, const double *v, const double *f);

#endif
