/* SPDX-License-Identifier: Apache-2.0 */
/* EPDiff by Runge and Kutta's fourth order, and the adjoint of its steps: with
 * R(p) = -ad*_v p, v = K p,
 *   (DR)^T g = -ad_v g + K ad*_g p. */
#include <math.h>

#include "flow/shooting.h"
#include "op/fluid/coadjoint.h"
#include "op/image/pointwise.h"
#include "op/image/reduce.h"

/* p_i = m + h PLACE[i] r_(i-1); m + h sum SHARE[i] r_i. */
static const float PLACE[5] = {0, .5f, .5f, 1, 0}, SHARE[4] = {1 / 6.f, 1 / 3.f, 1 / 3.f, 1 / 6.f};

/* Four steps keep the energy of a brain's momentum to .01, with a fifth of the default lambda; what grows by more grows
 * without bound in the next steps. */
static const float MOST_DRIFT = .05f;

static clv_buffer *field(const clv_flow_level *flow, int which)
{
    return clv_shooting_field(flow->run, which);
}

/* Buffer of a stage, the second to the fourth, and its velocity. The adjoint needs all of them. */
static clv_buffer *place_of(const clv_flow_level *flow, int stage, bool all)
{
    return field(flow, all && stage > 1 ? CLV_SHOOTING_PLACES + stage - 2 : CLV_SHOOTING_PLACE);
}

static clv_buffer *velocity_of(const clv_flow_level *flow, int stage, bool all)
{
    return field(flow, all && stage > 0 ? CLV_SHOOTING_VELOCITIES + stage - 1 : CLV_SHOOTING_VELOCITY);
}

/* out = a x + b y. */
static int combine(const clv_flow_level *flow, float a, const clv_buffer *x, float b, const clv_buffer *y,
                   clv_buffer *out)
{
    return clv_pointwise(flow->run->ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(out, flow->level->fixed.size), x,
                         y, NULL, (float[4]){a, b, 0, 0});
}

static clv_image image(const clv_flow_level *flow, const clv_buffer *field)
{
    return clv_image_of(field, flow->level->fixed.size, flow->level->spacing, 3);
}

static int copy(const clv_flow_level *flow, const clv_buffer *from, clv_buffer *to)
{
    return clv_buffer_copy(flow->run->ctx, from, 0, to, 0, 3 * (size_t)flow->level->n * sizeof(float));
}

/* The stages of a step from m, whose velocity is `speed`; to (NULL: not wanted), which may be m, where it
 * leads. */
static int step(const clv_flow_level *flow, clv_buffer *m, clv_buffer *speed, float h, clv_buffer *to)
{
    int status = CLVOX_OK;
    clv_buffer *rate = field(flow, CLV_SHOOTING_RATE), *sum = to == m ? field(flow, CLV_SHOOTING_SUM) : to;
    for (int i = 0; i < 4; i++) {
        clv_buffer *place = i ? place_of(flow, i, !to) : m, *along = i ? velocity_of(flow, i, !to) : speed;
        if (i) {
            CLV_TRY(combine(flow, 1, m, -h * PLACE[i], rate, place));
            CLV_TRY(clv_flow_smooth(flow, CLV_SHOOTING_SPEED, place, along));
        }
        if (!to && i == 3)
            break;
        const clv_image v = image(flow, along);
        CLV_TRY(clv_coadjoint_action(flow->run->ctx, &v, place, rate));
        if (to)
            CLV_TRY(combine(flow, 1, i ? sum : m, -h * SHARE[i], rate, sum));
    }
    if (to == m)
        CLV_TRY(copy(flow, sum, to));
end:
    return status;
}

/* gradient, by what step leads to, becomes that by m, with K more (NULL: 0) added. */
static int step_adjoint(const clv_flow_level *flow, clv_buffer *m, clv_buffer *speed, float h,
                        const clv_buffer *more, clv_buffer *gradient)
{
    int status = CLVOX_OK;
    clvox_context *ctx = flow->run->ctx;
    clv_buffer *by_rate = field(flow, CLV_SHOOTING_RATE), *sum = field(flow, CLV_SHOOTING_SUM);
    clv_buffer *turned = field(flow, CLV_SHOOTING_TURNED), *left = field(flow, CLV_SHOOTING_LEFT);
    CLV_TRY(step(flow, m, speed, h, NULL));
    for (int i = 3; i >= 0; i--) {
        clv_buffer *place = i ? place_of(flow, i, true) : m;
        const clv_image v = image(flow, i ? velocity_of(flow, i, true) : speed), g = image(flow, by_rate);
        if (i == 3)
            CLV_TRY(combine(flow, h * SHARE[i], gradient, 0, NULL, by_rate));
        else
            CLV_TRY(combine(flow, h * SHARE[i], gradient, h * PLACE[i + 1], left, by_rate));
        CLV_TRY(clv_coadjoint_action(ctx, &g, place, turned));
        if (i == 0 && more)
            CLV_TRY(combine(flow, 1, turned, 1, more, turned));
        CLV_TRY(clv_flow_smooth(flow, CLV_SHOOTING_STAGE, turned, turned));
        CLV_TRY(clv_adjoint_action(ctx, &v, by_rate, left));
        CLV_TRY(combine(flow, 1, turned, -1, left, left));
        CLV_TRY(combine(flow, 1, i == 3 ? gradient : sum, 1, left, i ? sum : gradient));
    }
end:
    return status;
}

static float length_of(const clv_flow_level *flow, int k)
{
    return (k ? 1.f : .5f) / (float)flow->steps;
}

/* The momentum and the velocity in the middle of the time step before step k, and at the beginning. */
static clv_buffer *momentum_at(const clv_flow_level *flow, int k)
{
    clv_shooting *own = clv_shooting_of(flow->run);
    return k ? own->node[k - 1] : own->momentum;
}

static clv_buffer *speed_at(const clv_flow_level *flow, int k)
{
    return k ? clv_flow_of(flow->run)->v[k - 1] : field(flow, CLV_SHOOTING_VELOCITY);
}

int clv_shooting_forward(const clv_flow_level *flow)
{
    int status = CLVOX_OK;
    clv_registration *run = flow->run;
    clv_shooting *own = clv_shooting_of(run);
    for (int k = 0; k <= flow->steps; k++) {
        clv_buffer *m = momentum_at(flow, k), *v = speed_at(flow, k);
        CLV_TRY(clv_flow_smooth(flow, CLV_SHOOTING_SPEED, m, v));
        CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_DOT, &(clv_terms){m, v, NULL, 0, 3 * flow->level->n}, run->partial,
                           own->flow.numbers, CLV_FLOW_DOTS + k));
        if (k < flow->steps)
            CLV_TRY(step(flow, m, v, length_of(flow, k), own->node[k]));
    }
end:
    return status;
}

bool clv_shooting_followed(const clv_flow_level *flow, const float *numbers)
{
    const float *energy = numbers + CLV_FLOW_DOTS;
    for (int k = 1; k <= flow->steps; k++)
        if (!(fabsf(energy[k] - energy[0]) <= MOST_DRIFT * energy[0]))
            return false;
    return true;
}

int clv_shooting_adjoint(const clv_flow_level *flow)
{
    int status = CLVOX_OK;
    clv_shooting *own = clv_shooting_of(flow->run);
    clv_buffer *gradient = own->direction;
    CLV_TRY(clv_flow_smooth(flow, CLV_SHOOTING_STAGE, own->flow.w[flow->steps - 1], gradient));
    for (int k = flow->steps - 1; k >= 0; k--) {
        clv_buffer *m = momentum_at(flow, k), *v = speed_at(flow, k);
        if (!k) /* overwritten since */
            CLV_TRY(clv_flow_smooth(flow, CLV_SHOOTING_SPEED, m, v));
        CLV_TRY(step_adjoint(flow, m, v, length_of(flow, k), k ? own->flow.w[k - 1] : NULL, gradient));
    }
end:
    return status;
}
