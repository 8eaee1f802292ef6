/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_FLUID_SOLVE_H
#define REF_FLUID_SOLVE_H

#include "op/fluid/fluid_operator.h"

/* v with L v = f, planar fields, by conjugate gradients in double precision to a
 * residual of 1e-13: on the grid as it is, or (wide not NULL) as part of a larger
 * periodic one of that size on which f is 0 elsewhere. */
void ref_solve(const clv_fluid_operator *op, const int *wide, const double *f, double *v);

#endif
