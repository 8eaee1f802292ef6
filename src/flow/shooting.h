/* SPDX-License-Identifier: Apache-2.0 */
/* Geodesic shooting: the flow of flow.h that a momentum m at time 0, on the
 * fixed image, begins, by EPDiff
 *   dm/dt = -ad*_v m,   v = K m                 op/fluid/coadjoint.h
 * in steps of Runge and Kutta's fourth order. The first goes half a time step, the others a whole one:
 * v_k is the velocity in the middle of the k-th. The momentum is any vector field, so that every
 * metric can drive it. */
#ifndef CLV_FLOW_SHOOTING_H
#define CLV_FLOW_SHOOTING_H

#include "flow/flow.h"

/* Fields that stages of steps work in; the first four serve steps forward. They share buffers: with positions
 * and forces, which are found anew before they are needed, and with what belongs to the last time step, which
 * the adjoint leaves first. */
enum {
    CLV_SHOOTING_RATE,
    CLV_SHOOTING_SUM,
    CLV_SHOOTING_PLACE,
    CLV_SHOOTING_VELOCITY,
    CLV_SHOOTING_TURNED,
    CLV_SHOOTING_LEFT,
    CLV_SHOOTING_PLACES,
    CLV_SHOOTING_VELOCITIES = CLV_SHOOTING_PLACES + 2,
    CLV_SHOOTING_SHARED = CLV_SHOOTING_VELOCITIES + 1, /* so many share a buffer */
    CLV_SHOOTING_FIELDS = CLV_SHOOTING_VELOCITIES + 3
};

/* Kinds of solves: velocities along the flow, and of the adjoint. */
enum { CLV_SHOOTING_SPEED, CLV_SHOOTING_STAGE };

/* The private state: that of the flow, the momenta in the middles of the time steps, and room. */
typedef struct clv_shooting {
    clv_flow flow;
    clv_buffer *node[CLV_FLOW_STEPS];
    clv_buffer *momentum, *before, *direction;
    clv_buffer *way; /* p of the iteration before, where begun */
    bool begun;
    clv_buffer *own[CLV_SHOOTING_FIELDS - CLV_SHOOTING_SHARED]; /* fields that share none */
} clv_shooting;
_Static_assert(sizeof(clv_shooting) <= CLV_MODEL_BYTES, "more state than a run has room for");

static inline clv_shooting *clv_shooting_of(clv_registration *run)
{
    return CLV_MODEL_STATE(clv_shooting, run);
}

/* The buffer of a field. */
clv_buffer *clv_shooting_field(clv_registration *run, int field);

/* Steps of a clv_flow_descent. */
extern const clv_flow_steps clv_shooting_steps;

int clv_shooting_requests(clv_registration *run, clv_request *list);

/* Velocities of all time steps from the momentum; <m, K m> of the beginning at CLV_FLOW_DOTS, and of the
 * k-th time step at CLV_FLOW_DOTS + 1 + k. Overwrites positions and forces. */
int clv_shooting_forward(const clv_flow_level *flow);

/* Whether the time steps follow the geodesic: clv_flow.numbers, as read after clv_shooting_forward, say that <m, K m> stays
 * what it is at the beginning. Explicit steps that are too long for a momentum let it grow without bound. */
bool clv_shooting_followed(const clv_flow_level *flow, const float *numbers);

/* dS/dm into direction, from w_k = dS/dv_k as clv_flow_adjoint leaves them. Overwrites positions, forces, and
 * all of the last time step. */
int clv_shooting_adjoint(const clv_flow_level *flow);

#endif
