/* SPDX-License-Identifier: Apache-2.0 */
/* Large deformation diffeomorphic metric mapping (Beg et al. 2005; Ha 2011, section
 * 2.2.1.2), between two images that meet in the middle (flow.h). Coarse to fine;
 * with F_k = dS/dv_k / (lambda dt), each iteration
 *   w_k = K F_k                        flow.h
 *   v_k <- v_k + e (w_k - 2 v_k)       down the gradient 2 v - K F of E / lambda in V
 * and e is halved until the energy has fallen. |v_k|_V^2 follows from <F, v> and
 * <F, K F>, so that no L is applied. Between levels v is brought to constant speed
 * and carried up as its momentum L L v. */
#include <math.h>
#include <string.h>

#include "flow/flow.h"
#include "op/image/pointwise.h"
#include "op/image/reduce.h"

enum { LOOK = 10, MOST_TRIES = 12 };

/* Of 1/2, which would forget the velocities at once. */
static const double LARGEST = .4, LONGER = 1.4, SHORTER = .4;

typedef struct descent {
    clv_flow_level flow;
    double lambda;
    double norm[CLV_FLOW_STEPS]; /* |v_k|_V^2 */
    double energy;               /* E / lambda */
    double metric, mean;         /* S, and a voxel */
} descent;

static double kinetic(const double *norm, int steps)
{
    double sum = 0;
    for (int k = 0; k < steps; k++)
        sum += norm[k] / steps;
    return sum;
}

/* w_k is F: leaves K F there, what its dots say, and the longest K F of all. */
static int each_step(const clv_flow_level *flow, int k)
{
    int status = CLVOX_OK;
    clv_registration *run = flow->run;
    clv_flow *own = clv_flow_of(run);
    const float *spacing = flow->level->spacing;
    const float per_mm[3] = {1 / spacing[0], 1 / spacing[1], 1 / spacing[2]};
    int n = 3 * flow->level->n;
    clv_buffer *force = own->w[k], *smooth = own->spare;
    CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_DOT, &(clv_terms){force, own->v[k], NULL, 0, n}, run->partial,
                       own->numbers, CLV_FLOW_DOTS + 2 * k));
    CLV_TRY(clv_flow_smooth(flow, force, smooth));
    CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_DOT, &(clv_terms){force, smooth, NULL, 0, n}, run->partial,
                       own->numbers, CLV_FLOW_DOTS + 2 * k + 1));
    CLV_TRY(clv_reduce_longest(run->ctx, smooth, per_mm, flow->level->n, true, run->partial, own->numbers,
                               CLV_FLOW_STEP));
    own->w[k] = smooth;
    own->spare = force;
end:
    return status;
}

/* v_k = keep v_k + add w_k. */
static int update(const clv_flow_level *flow, double keep, double add)
{
    int status = CLVOX_OK;
    clv_registration *run = flow->run;
    clv_flow *own = clv_flow_of(run);
    for (int k = 0; k < flow->steps; k++)
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, own->v[k], 3 * flow->level->n, own->v[k], own->w[k],
                              NULL, (float[4]){(float)keep, (float)add, 0, 0}));
end:
    return status;
}

static int read_numbers(const clv_flow_level *flow, float numbers[CLV_FLOW_NUMBERS])
{
    return clv_buffer_read(flow->run->ctx, clv_flow_of(flow->run)->numbers, 0, numbers,
                           CLV_FLOW_NUMBERS * sizeof *numbers);
}

/* |v_k|^2 after a step e, from what the dots say. */
static void norms_after(const descent *d, const float *numbers, double e, double norm[CLV_FLOW_STEPS])
{
    double keep = 1 - 2 * e;
    for (int k = 0; k < d->flow.steps; k++) {
        double b = (double)numbers[CLV_FLOW_DOTS + 2 * k], c = (double)numbers[CLV_FLOW_DOTS + 2 * k + 1];
        norm[k] = fmax(0, keep * keep * d->norm[k] + 2 * e * keep * b + e * e * c);
    }
}

static int look_first(descent *d)
{
    int status = CLVOX_OK;
    float numbers[CLV_FLOW_NUMBERS];
    CLV_TRY(clv_flow_compare(&d->flow));
    CLV_TRY(read_numbers(&d->flow, numbers));
    clv_flow_metric(d->flow.run, numbers + CLV_FLOW_METRIC, &d->mean, &d->metric);
    d->energy = kinetic(d->norm, d->flow.steps) - d->metric / d->lambda;
end:
    return status;
}

/* One iteration: *e is the step that was taken, and the next one to try; 0 where none lowers the energy.
 * longest: voxels that a step may move. */
static int iterate(descent *d, double longest, double *e)
{
    int status = CLVOX_OK;
    clv_flow_level *flow = &d->flow;
    clv_registration *run = flow->run;
    clv_flow *own = clv_flow_of(run);
    float numbers[CLV_FLOW_NUMBERS];
    double norm[CLV_FLOW_STEPS], mean, metric, taken = 0, try = *e;
    CLV_TRY(clv_buffer_fill(run->ctx, own->numbers, CLV_FLOW_STEP * sizeof(float), 0, sizeof(float)));
    CLV_TRY(clv_flow_adjoint(flow, (float)(flow->steps / d->lambda), each_step));
    if (!(try > 0)) {
        CLV_TRY(read_numbers(flow, numbers));
        try = longest / fmax(1e-30, (double)numbers[CLV_FLOW_STEP]);
        try = fmin(try, LARGEST);
    }
    for (int i = 0; i < MOST_TRIES; i++) {
        double keep = (1 - 2 * try) / (1 - 2 * taken);
        CLV_TRY(update(flow, keep, try - keep * taken));
        taken = try;
        CLV_TRY(clv_flow_compare(flow));
        CLV_TRY(read_numbers(flow, numbers));
        clv_flow_metric(run, numbers + CLV_FLOW_METRIC, &mean, &metric);
        norms_after(d, numbers, try, norm);
        double energy = kinetic(norm, flow->steps) - metric / d->lambda;
        if (energy < d->energy) {
            memcpy(d->norm, norm, sizeof norm);
            d->energy = energy;
            d->metric = metric;
            d->mean = mean;
            double most = longest / fmax(1e-30, (double)numbers[CLV_FLOW_STEP]);
            *e = fmin(fmin(try * (i ? 1 : LONGER), LARGEST), most);
            goto end;
        }
        try *= SHORTER;
    }
    CLV_TRY(update(flow, 1 / (1 - 2 * taken), -taken / (1 - 2 * taken)));
    *e = 0;
end:
    return status;
}

static int report(const descent *d, int index, int iteration, double fraction)
{
    const clvox_register_options *o = d->flow.run->options;
    if (o->progress && o->progress(o->user, index, iteration, d->mean, fraction))
        return clv_fail(CLVOX_ERROR_STOPPED, "stopped by the user");
    return CLVOX_OK;
}

static int descend(descent *d, int index, double share, int *done)
{
    clv_registration *run = d->flow.run;
    const clvox_register_options *o = run->options;
    int status = CLVOX_OK, iteration = 0;
    double e = 0, start = 0, before = 0;
    double longest = index + 1 < o->levels ? o->step : o->finest_step;
    CLV_TRY(look_first(d));
    start = before = d->energy;
    for (; iteration < o->iterations[index]; iteration++) {
        if (iteration % LOOK == 0) {
            CLV_TRY(report(d, index, iteration, run->fraction_done + share * iteration / o->iterations[index]));
            if (iteration > 0 && before - d->energy < LOOK * o->tolerance * fabs(start))
                break;
            before = d->energy;
        }
        CLV_TRY(iterate(d, longest, &e));
        if (!(e > 0))
            break;
    }
    run->fraction_done += share;
    CLV_TRY(report(d, index, iteration, run->fraction_done));
    *done = iteration;
end:
    return status;
}

/* The same path at constant speed: step j goes over its N-th part of the length,
 * which takes shares of the steps that there were. */
static int reparametrise(descent *d)
{
    int status = CLVOX_OK, steps = d->flow.steps;
    clv_registration *run = d->flow.run;
    clv_flow *own = clv_flow_of(run);
    double length = 0, at = 0;
    for (int k = 0; k < steps; k++)
        length += sqrt(d->norm[k]);
    if (!(length > 0))
        return CLVOX_OK;
    double start[CLV_FLOW_STEPS + 1];
    for (int k = 0; k < steps; k++) {
        start[k] = at;
        at += sqrt(d->norm[k]) / length * steps;
    }
    start[steps] = steps;
    for (int j = 0; j < steps; j++) {
        bool first = true;
        for (int k = 0; k < steps; k++) {
            double over = fmin(start[k + 1], j + 1) - fmax(start[k], j), all = start[k + 1] - start[k];
            if (!(over > 0) || !(all > 0))
                continue;
            CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, own->w[j], 3 * d->flow.level->n,
                                  first ? own->v[k] : own->w[j], first ? NULL : own->v[k], NULL,
                                  (float[4]){first ? (float)(over / all) : 1, (float)(over / all), 0, 0}));
            first = false;
        }
        if (first) /* nothing but rounding lies there */
            CLV_TRY(clv_buffer_fill(run->ctx, own->w[j], 0, 0, 3 * (size_t)d->flow.level->n * sizeof(float)));
    }
    for (int k = 0; k < steps; k++) {
        clv_buffer *v = own->v[k];
        own->v[k] = own->w[k];
        own->w[k] = v;
    }
end:
    return status;
}

/* Leaves the momenta of the velocities in w, on their grid. */
static int leave(descent *d)
{
    int status = CLVOX_OK;
    clv_flow *own = clv_flow_of(d->flow.run);
    CLV_TRY(reparametrise(d));
    for (int k = 0; k < d->flow.steps; k++)
        CLV_TRY(clv_flow_momentum(&d->flow, own->v[k], own->spare, own->w[k]));
end:
    return status;
}

/* Velocities and their norms from the momenta of the level before, or 0. */
static int arrive(descent *d, const clvox_grid *from)
{
    int status = CLVOX_OK;
    clv_registration *run = d->flow.run;
    clv_flow *own = clv_flow_of(run);
    size_t n = 3 * (size_t)d->flow.level->n;
    float numbers[CLV_FLOW_NUMBERS];
    for (int k = 0; k < d->flow.steps; k++) {
        if (!from) {
            CLV_TRY(clv_buffer_fill(run->ctx, own->v[k], 0, 0, n * sizeof(float)));
            d->norm[k] = 0;
            continue;
        }
        CLV_TRY(clv_pyramid_carry(run, own->w[k], from, &d->flow.level->fixed, own->spare));
        CLV_TRY(clv_flow_smooth(&d->flow, own->w[k], own->v[k]));
        CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_DOT, &(clv_terms){own->w[k], own->v[k], NULL, 0, (int)n},
                           run->partial, own->numbers, CLV_FLOW_DOTS + 2 * k));
    }
    if (from) {
        CLV_TRY(read_numbers(&d->flow, numbers));
        for (int k = 0; k < d->flow.steps; k++)
            d->norm[k] = fmax(0, (double)numbers[CLV_FLOW_DOTS + 2 * k]);
    }
end:
    return status;
}

static int run_level(clv_registration *run, int index, double share, clvox_grid *at, int *done)
{
    int status = CLVOX_OK;
    const clvox_register_options *o = run->options;
    clv_pyramid_level level;
    descent d = {.lambda = o->lambda};
    CLV_TRY(clv_pyramid_make(run, index, true, &level));
    CLV_TRY(clv_flow_begin(&d.flow, run, &level));
    CLV_TRY(arrive(&d, index ? at : NULL));
    CLV_TRY(descend(&d, index, share, done));
    if (index + 1 < o->levels)
        CLV_TRY(leave(&d));
    else
        CLV_TRY(clv_flow_integrate(&d.flow));
    *at = level.fixed;
end:
    clv_flow_end(&d.flow);
    return status;
}

static int run_lddmm(clv_registration *run, clvox_register_result *result)
{
    int status = CLVOX_OK;
    const clvox_register_options *o = run->options;
    double share[CLVOX_MAX_LEVELS], total = 0;
    clvox_grid at;
    CLV_TRY(clv_flow_check(o));
    clv_flow_domain(run);
    at = run->domain;
    for (int i = 0; i < o->levels; i++)
        total += share[i] = o->iterations[i] / pow(o->shrink[i], 3);
    for (int i = 0; i < o->levels; i++)
        CLV_TRY(run_level(run, i, total > 0 ? share[i] / total : 0, &at, &result->iterations[i]));
    CLV_TRY(clv_flow_finish(run, &at));
end:
    return status;
}

static const char *const takes[] = {"step", "lambda", "operator", "timesteps", NULL};

#define COMMON .metric = CLVOX_METRIC_LNCC, .radius = 2, .bins = 32, CLV_SMOOTH_BY_SHRINK, \
    .alpha = 2, .beta = 0, .gamma = 1, .lambda = .005, .timesteps = 4, .levels = 3, .shrink = {4, 2, 1}

const clv_model clv_model_lddmm = {
    .deform = CLVOX_DEFORM_LDDMM,
    .name = "lddmm",
    .requests = clv_flow_requests,
    .run = run_lddmm,
    .metrics = ~0u,
    .border_stays = true,
    .exchangeable = true,
    .gives_inverse = true,
    .takes = takes,
    .presets = {
        [CLVOX_PRESET_QUICK] = {COMMON, .iterations = {30, 20, 5}, .step = 3, .finest_step = 3, .tolerance = 1e-4},
        [CLVOX_PRESET_DEFAULT] = {COMMON, .iterations = {60, 40, 15}, .step = 3, .finest_step = 3,
            .tolerance = 1e-5},
        [CLVOX_PRESET_BEST] = {COMMON, .iterations = {100, 80, 40}, .step = 3, .finest_step = 3,
            .tolerance = 1e-6},
    },
};
