/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_FIELD_COMPOSE_ADJOINT_H
#define REF_FIELD_COMPOSE_ADJOINT_H

#include "op/field/compose_adjoint.h"

/* next(i) = d(i) + s w(i + d(i)), planar fields in double precision. */
void ref_flow_step(const double *d, const double *w, const int size[3], const double spacing[3], double s,
                   double *next);

/* Its adjoint: g becomes dS/dd, and dS/dw is added to out. */
void ref_compose_adjoint(const double *d, const double *w, const int size[3], const double spacing[3], double s,
                         double *g, double *out);

#endif
