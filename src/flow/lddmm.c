/* SPDX-License-Identifier: Apache-2.0 */
/* Large deformation diffeomorphic metric mapping (Beg et al. 2005; Ha 2011, section
 * 2.2.1.2), between two images that meet in the middle (flow.h). Coarse to fine;
 * with F_k = dS/dv_k / (lambda dt), each iteration
 *   w_k = K F_k                          flow.h
 *   p_k <- w_k - 2 v_k + momentum p_k    down the gradient 2 v - K F of E / lambda in V
 *   v_k <- v_k + e p_k
 * and e is made smaller until the energy has fallen enough; where p does not lead down, it is the gradient
 * alone, found anew. Norms and products in V follow from sums over F, so that no L is applied. Between
 * levels v is brought to constant speed and carried up as its momentum L L v. */
#include <math.h>
#include <string.h>

#include "flow/lddmm.h"
#include "op/image/pointwise.h"
#include "op/image/reduce.h"

enum { MOST_TRIES = 12, PATIENCE = 3 };

/* Steps: of 1/2 the gradient alone would forget the velocities at once. */
static const double LARGEST = .4;

/* The energy of the velocities after a step e along p. */
static double kinetic(const clv_lddmm_descent *d, double e)
{
    double sum = 0;
    for (int k = 0; k < d->base.flow.steps; k++)
        sum += fmax(0, d->of[k].vv + e * (2 * d->of[k].vp + e * d->of[k].pp)) / d->base.flow.steps;
    return sum;
}

static int dot(const clv_flow_level *flow, const clv_buffer *a, const clv_buffer *b, int slot)
{
    clv_registration *run = flow->run;
    return clv_reduce(run->ctx, CLV_REDUCE_DOT, &(clv_terms){a, b, NULL, 0, 3 * flow->level->n}, run->partial,
                      clv_flow_of(run)->numbers, slot);
}

/* From F, p_k; what sums over F say of p_k and of the one before; and the longest vector so far. */
static int each_step(const clv_flow_level *flow, int k, const clv_buffer *force)
{
    int status = CLVOX_OK, slot = CLV_FLOW_DOTS + 3 * k;
    clv_registration *run = flow->run;
    clv_flow *own = clv_flow_of(run);
    const int *size = flow->level->fixed.size;
    const float *spacing = flow->level->spacing, keep = (float)clv_lddmm_of(run)->keep;
    const float per_mm[3] = {1 / spacing[0], 1 / spacing[1], 1 / spacing[2]};
    clv_buffer *smooth = own->spare, *p = clv_lddmm_of(run)->p[k];
    CLV_TRY(dot(flow, force, own->v[k], slot));
    CLV_TRY(dot(flow, force, p, slot + 2));
    CLV_TRY(clv_flow_smooth(flow, k, force, smooth));
    CLV_TRY(dot(flow, force, smooth, slot + 1));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(p, size), smooth, own->v[k],
                          keep > 0 ? p : NULL, (float[4]){1, -2, keep, 0}));
    CLV_TRY(clv_reduce_longest(run->ctx, CLV_VECTORS(p, size), per_mm, true, run->partial, own->numbers,
                               CLV_FLOW_STEP));
end:
    return status;
}

static int read_numbers(const clv_flow_level *flow, float numbers[CLV_FLOW_NUMBERS])
{
    return clv_buffer_read(flow->run->ctx, clv_flow_of(flow->run)->numbers, 0, numbers,
                           CLV_FLOW_NUMBERS * sizeof *numbers);
}

/* v_k += add p_k. */
static int advance(const clv_lddmm_descent *d, double add)
{
    int status = CLVOX_OK;
    clv_registration *run = d->base.flow.run;
    for (int k = 0; k < d->base.flow.steps; k++) {
        clv_buffer *v = clv_flow_of(run)->v[k];
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(v, d->base.flow.level->fixed.size),
                              v, clv_lddmm_of(run)->p[k], NULL, (float[4]){1, (float)add, 0, 0}));
    }
end:
    return status;
}

/* E / lambda and the mean metric of the present velocities, whose energy is of_velocities. */
static int compare(clv_lddmm_descent *d, double of_velocities, double *energy, double *mean)
{
    int status = CLVOX_OK;
    float numbers[CLV_FLOW_NUMBERS];
    double metric;
    CLV_TRY(clv_flow_compare(&d->base.flow));
    CLV_TRY(read_numbers(&d->base.flow, numbers));
    CLV_TRY(clv_flow_metric(&d->base.flow, numbers + CLV_FLOW_METRIC, mean, &metric));
    *energy = of_velocities - metric / d->base.lambda;
end:
    return status;
}

/* p with `keep` of the one before, its products, and its longest vector. *down: whether it leads down, as
 * without `keep` it always does; where it does not, the products are left as they were. From the forces,
 * which it overwrites. */
static int find_direction(clv_lddmm_descent *d, double keep, double *longest, bool *down)
{
    int status = CLVOX_OK;
    clv_registration *run = d->base.flow.run;
    clv_lddmm_products found[CLV_FLOW_STEPS];
    float numbers[CLV_FLOW_NUMBERS];
    double slope = 0;
    clv_lddmm_of(run)->keep = keep;
    CLV_TRY(clv_buffer_fill(run->ctx, clv_flow_of(run)->numbers, CLV_FLOW_STEP * sizeof(float), 0,
                            sizeof(float)));
    CLV_TRY(clv_flow_adjoint(&d->base.flow, (float)(d->base.flow.steps / d->base.lambda), each_step));
    CLV_TRY(read_numbers(&d->base.flow, numbers));
    for (int k = 0; k < d->base.flow.steps; k++) {
        const float *n = numbers + CLV_FLOW_DOTS + 3 * k;
        const clv_lddmm_products *of = &d->of[k];
        double gv = (double)n[0] - 2 * of->vv, gp = keep > 0 ? (double)n[2] - 2 * of->vp : 0,
               gg = fmax(0, (double)n[1] - 4 * (double)n[0] + 4 * of->vv);
        slope += gg + keep * gp;
        found[k] = (clv_lddmm_products){of->vv, gv + (keep > 0 ? keep * of->vp : 0),
                                        gg + (keep > 0 ? keep * (2 * gp + keep * of->pp) : 0)};
    }
    d->base.slope = slope / d->base.flow.steps;
    *down = slope > 0 || !(keep > 0);
    for (int k = 0; k < d->base.flow.steps && *down; k++)
        d->of[k] = found[k];
    *longest = fmax(1e-30, (double)numbers[CLV_FLOW_STEP]);
end:
    return status;
}

/* Along p, with steps from `try` on, at most `tries` of them; *taken: the one that lowered the energy enough,
 * or 0. begun: iterations before have found how long steps are. */
static int search(clv_lddmm_descent *d, double try, bool begun, int tries, double *taken, int *count)
{
    int status = CLVOX_OK;
    double at = 0, energy, mean;
    for (*count = 0; *count < tries; ++*count, try = clv_flow_shorter(try, begun)) {
        CLV_TRY(advance(d, try - at));
        at = try;
        CLV_TRY(compare(d, kinetic(d, try), &energy, &mean));
        if (clv_flow_enough(&d->base, try, energy, tries == MOST_TRIES)) {
            d->base.energy = energy;
            d->base.mean = mean;
            for (int k = 0; k < d->base.flow.steps; k++) {
                clv_lddmm_products *of = &d->of[k];
                of->vv = fmax(0, of->vv + try * (2 * of->vp + try * of->pp));
                of->vp += try * of->pp;
            }
            *taken = try;
            return CLVOX_OK;
        }
    }
    CLV_TRY(advance(d, -at));
    *taken = 0;
end:
    return status;
}

static int look(clv_flow_descent *base, double *energy, double *mean)
{
    clv_lddmm_descent *d = (clv_lddmm_descent *)base;
    return compare(d, kinetic(d, 0), energy, mean);
}

static int iterate(clv_flow_descent *base, double most, double *e)
{
    clv_lddmm_descent *d = (clv_lddmm_descent *)base;
    int status = CLVOX_OK, count = 0;
    double longest, energy, mean, taken = 0, keep = d->begun ? d->momentum : 0;
    bool first = true, down, last;
    do {
        last = !(keep > 0);
        CLV_TRY(find_direction(d, keep, &longest, &down));
        d->begun = true;
        if (down) {
            double bound = fmin(most / longest, LARGEST);
            bool onwards = *e > 0 && first;
            CLV_TRY(search(d, onwards ? fmin(*e, bound) : bound, onwards, last ? MOST_TRIES : PATIENCE,
                           &taken, &count));
            first = false;
        }
        keep = 0;
        if (!(taken > 0) && !last) /* the forces where the steps began */
            CLV_TRY(look(base, &energy, &mean));
    } while (!(taken > 0) && !last);
    *e = clv_flow_next(taken, count);
end:
    return status;
}

const clv_flow_steps clv_lddmm_steps = {look, iterate};

/* The same path at constant speed: step j goes over its N-th part of the length,
 * which takes shares of the steps that there were. */
static int reparametrise(clv_lddmm_descent *d)
{
    int status = CLVOX_OK, steps = d->base.flow.steps;
    clv_registration *run = d->base.flow.run;
    clv_flow *own = clv_flow_of(run);
    clv_buffer **p = clv_lddmm_of(run)->p;
    double length = 0, at = 0;
    for (int k = 0; k < steps; k++)
        length += sqrt(d->of[k].vv);
    if (!(length > 0))
        return CLVOX_OK;
    double start[CLV_FLOW_STEPS + 1];
    for (int k = 0; k < steps; k++) {
        start[k] = at;
        at += sqrt(d->of[k].vv) / length * steps;
    }
    start[steps] = steps;
    for (int j = 0; j < steps; j++) {
        bool first = true;
        for (int k = 0; k < steps; k++) {
            double over = fmin(start[k + 1], j + 1) - fmax(start[k], j), all = start[k + 1] - start[k];
            if (!(over > 0) || !(all > 0))
                continue;
            CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR,
                                  CLV_VECTORS(p[j], d->base.flow.level->fixed.size), first ? own->v[k] : p[j],
                                  first ? NULL : own->v[k], NULL,
                                  (float[4]){first ? (float)(over / all) : 1, (float)(over / all), 0, 0}));
            first = false;
        }
        if (first) /* nothing but rounding lies there */
            CLV_TRY(clv_buffer_fill(run->ctx, p[j], 0, 0, 3 * (size_t)d->base.flow.level->n * sizeof(float)));
    }
    for (int k = 0; k < steps; k++) {
        clv_buffer *v = own->v[k];
        own->v[k] = p[k];
        p[k] = v;
    }
end:
    return status;
}

/* Leaves the momenta of the velocities in p, on their grid. */
static int leave(clv_lddmm_descent *d)
{
    int status = CLVOX_OK;
    clv_buffer **p = clv_lddmm_of(d->base.flow.run)->p;
    clv_flow *own = clv_flow_of(d->base.flow.run);
    CLV_TRY(reparametrise(d));
    for (int k = 0; k < d->base.flow.steps; k++)
        CLV_TRY(clv_flow_momentum(&d->base.flow, own->v[k], own->spare, p[k]));
end:
    return status;
}

/* Velocities and their norms from the momenta of the level before, or 0. */
static int arrive(clv_lddmm_descent *d, const clvox_grid *from)
{
    int status = CLVOX_OK;
    clv_registration *run = d->base.flow.run;
    clv_flow *own = clv_flow_of(run);
    clv_buffer **p = clv_lddmm_of(run)->p;
    size_t n = 3 * (size_t)d->base.flow.level->n;
    float numbers[CLV_FLOW_NUMBERS];
    for (int k = 0; k < d->base.flow.steps; k++) {
        if (!from) {
            CLV_TRY(clv_buffer_fill(run->ctx, own->v[k], 0, 0, n * sizeof(float)));
            continue;
        }
        CLV_TRY(clv_pyramid_carry(run, p[k], from, &d->base.flow.level->fixed));
        CLV_TRY(clv_flow_smooth(&d->base.flow, k, p[k], own->v[k]));
        CLV_TRY(dot(&d->base.flow, p[k], own->v[k], CLV_FLOW_DOTS + k));
    }
    if (from) {
        CLV_TRY(read_numbers(&d->base.flow, numbers));
        for (int k = 0; k < d->base.flow.steps; k++)
            d->of[k].vv = fmax(0, (double)numbers[CLV_FLOW_DOTS + k]);
    }
end:
    return status;
}

static int requests(clv_registration *run, clv_request *list)
{
    int count = clv_flow_requests(run, list);
    clv_lease_lend(&run->leases, &run->inverse); /* until the end */
    for (int k = 0; k < run->options->timesteps; k++)
        list[count++] = (clv_request){&clv_lddmm_of(run)->p[k], 3 * (size_t)run->n * sizeof(float), "step of a velocity"};
    return count;
}

static int run_level(clv_registration *run, int index, double share, clvox_grid *at,
                     clvox_register_result *result)
{
    int status = CLVOX_OK;
    const clvox_register_options *o = run->options;
    clv_pyramid_level level;
    clv_lddmm_descent d = {.momentum = o->momentum};
    CLV_TRY(clv_pyramid_make(run, index, true, &level));
    CLV_TRY(clv_flow_begin(&d.base.flow, run, &level));
    d.base.lambda = d.base.flow.lambda;
    CLV_TRY(arrive(&d, index ? at : NULL));
    CLV_TRY(clv_flow_descend(&d.base, &clv_lddmm_steps, index, share, &result->iterations[index]));
    if (index + 1 < o->levels)
        CLV_TRY(leave(&d));
    else
        CLV_TRY(clv_flow_integrate(&d.base.flow));
    *at = level.fixed;
end:
    clv_flow_end(&d.base.flow);
    return status;
}

static int run_lddmm(clv_registration *run, clvox_register_result *result)
{
    return clv_flow_run(run, result, run_level);
}

#define COMMON                                                                                               \
    .metric = CLVOX_METRIC_LNCC, .radius = 2, .bins = 32, CLV_SMOOTH_BY_SHRINK, .timesteps = 4, .levels = 3, \
    .shrink = {4, 2, 1}, .step = 3, .finest_step = 3, .momentum = .8

const clv_model clv_model_lddmm = {
    .deform = CLVOX_DEFORM_LDDMM,
    .name = "lddmm",
    .requests = requests,
    .run = run_lddmm,
    .metrics = ~0u,
    .border_stays = true,
    .exchangeable = true,
    .gives_inverse = true,
    .takes = clv_flow_takes,
    .presets =
        {
            [CLVOX_PRESET_QUICK] = {COMMON, .iterations = {30, 20, 8}, .tolerance = 3e-5},
            [CLVOX_PRESET_DEFAULT] = {COMMON, .iterations = {60, 40, 25}, .tolerance = 3e-5},
            [CLVOX_PRESET_BEST] = {COMMON, .iterations = {100, 80, 40}, .tolerance = 1e-5},
        },
};
