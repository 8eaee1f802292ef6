/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_FLUID_MULTIGRID_H
#define REF_FLUID_MULTIGRID_H

#include "op/fluid/fluid_operator.h"

/* fine += P coarse, linear interpolation of planar fields, by its matrix axis by axis. */
void ref_mg_prolong(const clv_fluid_operator *fine, const clv_fluid_operator *coarse, const double *in, double *out);

/* out = P^T in with weights that add up to 1 where the border is far. */
void ref_mg_restrict(const clv_fluid_operator *fine, const clv_fluid_operator *coarse, const double *in, double *out);

#endif
