/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_FLUID_COADJOINT_H
#define REF_FLUID_COADJOINT_H

#include "op/fluid/coadjoint.h"

/* ad_v w and ad*_v m of planar fields; the second by scattering what the first gathers. */
void ref_adjoint_action(const double *v, const double *w, const int size[3], const double spacing[3], double *out);
void ref_coadjoint_action(const double *v, const double *m, const int size[3], const double spacing[3],
                          double *out);

#endif
