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

/* Where a stage is, of the second to the fourth, and its velocity. The adjoint needs all of them. */
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

/* The stages of a step from m; to (NULL: not wanted) where it leads. */
static int step(const clv_flow_level *flow, clv_buffer *m, float h, clv_buffer *to)
{
    int status = CLVOX_OK;
    clv_buffer *rate = field(flow, CLV_SHOOTING_RATE), *sum = field(flow, CLV_SHOOTING_SUM);
    for (int i = 0; i < 4; i++) {
        clv_buffer *place = i ? place_of(flow, i, !to) : m, *speed = velocity_of(flow, i, !to);
        if (i)
            CLV_TRY(combine(flow, 1, m, -h * PLACE[i], rate, place));
        CLV_TRY(clv_flow_smooth(flow, CLV_SHOOTING_SPEED, place, speed));
        if (!to && i == 3)
            break;
        const clv_image v = image(flow, speed);
        CLV_TRY(clv_coadjoint_action(flow->run->ctx, &v, place, rate));
        if (to)
            CLV_TRY(combine(flow, 1, i ? sum : m, -h * SHARE[i], rate, sum));
    }
    if (to)
        CLV_TRY(copy(flow, sum, to));
end:
    return status;
}

/* gradient, by what step leads to, becomes that by m. */
static int step_adjoint(const clv_flow_level *flow, clv_buffer *m, float h, clv_buffer *gradient)
{
    int status = CLVOX_OK;
    clvox_context *ctx = flow->run->ctx;
    clv_buffer *by_rate = field(flow, CLV_SHOOTING_RATE), *sum = field(flow, CLV_SHOOTING_SUM);
    clv_buffer *turned = field(flow, CLV_SHOOTING_TURNED), *left = field(flow, CLV_SHOOTING_LEFT);
    CLV_TRY(step(flow, m, h, NULL));
    CLV_TRY(copy(flow, gradient, sum));
    for (int i = 3; i >= 0; i--) {
        clv_buffer *place = i ? place_of(flow, i, true) : m;
        const clv_image v = image(flow, velocity_of(flow, i, true)), g = image(flow, by_rate);
        if (i == 3)
            CLV_TRY(combine(flow, h * SHARE[i], gradient, 0, gradient, by_rate));
        else
            CLV_TRY(combine(flow, h * SHARE[i], gradient, h * PLACE[i + 1], left, by_rate));
        CLV_TRY(clv_coadjoint_action(ctx, &g, place, turned));
        CLV_TRY(clv_flow_smooth(flow, CLV_SHOOTING_STAGE, turned, turned));
        CLV_TRY(clv_adjoint_action(ctx, &v, by_rate, left));
        CLV_TRY(combine(flow, 1, turned, -1, left, left));
        CLV_TRY(combine(flow, 1, sum, 1, left, sum));
    }
    CLV_TRY(copy(flow, sum, gradient));
end:
    return status;
}

static float length_of(const clv_flow_level *flow, int k)
{
    return (k ? 1.f : .5f) / (float)flow->steps;
}

int clv_shooting_forward(const clv_flow_level *flow)
{
    int status = CLVOX_OK;
    clv_registration *run = flow->run;
    clv_shooting *own = clv_shooting_of(run);
    for (int k = 0; k <= flow->steps; k++) {
        clv_buffer *m = k ? own->node[k - 1] : own->momentum;
        clv_buffer *v = k ? own->flow.v[k - 1] : field(flow, CLV_SHOOTING_VELOCITY);
        CLV_TRY(clv_flow_smooth(flow, CLV_SHOOTING_SPEED, m, v));
        CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_DOT, &(clv_terms){m, v, NULL, 0, 3 * flow->level->n}, run->partial,
                           own->flow.numbers, CLV_FLOW_DOTS + k));
        if (k < flow->steps)
            CLV_TRY(step(flow, m, length_of(flow, k), own->node[k]));
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
    clv_buffer *gradient = field(flow, CLV_SHOOTING_GRADIENT);
    for (int k = flow->steps - 1; k >= 0; k--) {
        clv_buffer *by_speed = own->flow.w[k];
        CLV_TRY(clv_flow_smooth(flow, CLV_SHOOTING_BY_SPEED, by_speed, by_speed));
        if (k == flow->steps - 1)
            CLV_TRY(copy(flow, by_speed, gradient));
        else
            CLV_TRY(combine(flow, 1, gradient, 1, by_speed, gradient));
        CLV_TRY(step_adjoint(flow, k ? own->node[k - 1] : own->momentum, length_of(flow, k), gradient));
    }
    CLV_TRY(copy(flow, gradient, own->direction));
end:
    return status;
}
