/* SPDX-License-Identifier: Apache-2.0 */
/* LDDMM: what its iterations work on. */
#ifndef CLV_FLOW_LDDMM_H
#define CLV_FLOW_LDDMM_H

#include "flow/flow.h"

/* The private state. Beside each velocity, p alone is held: the gradient goes into it as soon as it is
 * found, and is found again where p, with what it keeps of the one before, leads nowhere. */
typedef struct clv_lddmm {
    clv_flow flow;
    clv_buffer *p[CLV_FLOW_STEPS]; /* the direction; between levels, momenta */
    double keep;                   /* share of the p before that is in the one that is being found */
} clv_lddmm;
_Static_assert(sizeof(clv_lddmm) <= CLV_MODEL_BYTES, "more state than a run has room for");

static inline clv_lddmm *clv_lddmm_of(clv_registration *run)
{
    return CLV_MODEL_STATE(clv_lddmm, run);
}

/* <v, v>, <v, p> and <p, p> in V of a time step. */
typedef struct clv_lddmm_products {
    double vv, vp, pp;
} clv_lddmm_products;

/* Velocities of 0 have products of 0. */
typedef struct clv_lddmm_descent {
    clv_flow_descent base;
    double momentum;
    bool begun; /* p is a direction */
    clv_lddmm_products of[CLV_FLOW_STEPS];
} clv_lddmm_descent;

/* Steps of a clv_lddmm_descent. */
extern const clv_flow_steps clv_lddmm_steps;

#endif
