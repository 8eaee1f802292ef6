/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_FLUID_SOR_H
#define REF_FLUID_SOR_H

#include "op/fluid/fluid_operator.h"

/* `sweeps` sweeps over v in two colours, beta 0, in double precision. */
void ref_sor(const clv_fluid_operator *op, const double *f, double omega, int sweeps, double *v);

#endif
