/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_CONJUGATE_H
#define REF_CONJUGATE_H

#include "op/navier.h"

/* `iterations` of conjugate gradients from v, in double precision; ends before
 * that where the residual is 0. */
void ref_conjugate(const clv_navier *op, const double *f, int iterations, double *v);

#endif
