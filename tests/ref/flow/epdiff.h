/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_FLOW_EPDIFF_H
#define REF_FLOW_EPDIFF_H

#include "op/fluid/fluid_operator.h"

/* Geodesics as src/flow/epdiff.c follows them, in double precision: K = R L^-1 L^-1 R by conjugate gradients,
 * R an array of three equal components. */
typedef struct ref_epdiff {
    clv_fluid_operator op;
    const double *window;
    int steps;
} ref_epdiff;

/* Planar fields, one behind the other: node[0] is the momentum given, node[1 + k] that in the middle of the
 * k-th time step, v[k] its velocity. */
void ref_epdiff_forward(const ref_epdiff *e, double *node, double *v);

/* The gradient of sum_k <w[k], v[k]> by the momentum. */
void ref_epdiff_adjoint(const ref_epdiff *e, const double *node, const double *w, double *gradient);

#endif
