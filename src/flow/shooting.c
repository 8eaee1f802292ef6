/* SPDX-License-Identifier: Apache-2.0 */
/* Registration by geodesic shooting (Miller, Trouve and Younes 2006; Vialard et al.
 * 2012): of all flows those that are geodesics, from one momentum m. With y =
 * dS/dm / lambda - 2 K m, the way down the gradient of E / lambda in V, each iteration
 *   p <- y + momentum p
 *   m <- m + e L L p
 * and e is made smaller until the energy has fallen enough; where p does not lead down, it is y alone.
 * E = lambda <m, K m> - S, as |v|_V stays what it is along a geodesic. */
#include "flow/shooting.h"

#include <math.h>

#include "op/image/pointwise.h"
#include "op/image/reduce.h"
#include "register/problem.h"
#include "transform/field.h"

enum { MOST_TRIES = 12, PATIENCE = 3 };
static const double LARGEST = .45;
static const float SHORTENED = .8f;

int clv_shooting_requests(clv_registration *run, clv_request *list)
{
    clv_shooting *own = clv_shooting_of(run);
    size_t bytes = 3 * (size_t)run->n * sizeof(float);
    int count = clv_flow_requests(run, list);
    for (int k = 0; k < run->options->timesteps; k++)
        list[count++] = (clv_request){&own->node[k], bytes, "momentum on the way"};
    for (int k = 0; k < run->options->timesteps; k++)
        list[count++] = (clv_request){&own->flow.w[k], bytes, "gradient by a velocity field"};
    list[count++] = (clv_request){&own->momentum, bytes, "initial momentum"};
    list[count++] = (clv_request){&own->before, bytes, "momentum of the iteration before"};
    list[count++] = (clv_request){&own->direction, bytes, "gradient by the momentum"};
    list[count++] = (clv_request){&own->way, bytes, "step of the iteration before"};
    for (int i = 0; i < CLV_SHOOTING_FIELDS - CLV_SHOOTING_SHARED; i++)
        list[count++] = (clv_request){&own->own[i], bytes, "stage of a step"};
    return count;
}

clv_buffer *clv_shooting_field(clv_registration *run, int field)
{
    clv_shooting *own = clv_shooting_of(run);
    int last = run->options->timesteps - 1;
    clv_buffer *const shared[CLV_SHOOTING_SHARED] = {
        own->flow.spare,   own->flow.force[0], own->flow.force[1], run->u,          run->inverse,
        own->flow.u_fixed, own->flow.v[last],  own->flow.w[last],  own->node[last],
    };
    return field < CLV_SHOOTING_SHARED ? shared[field] : own->own[field - CLV_SHOOTING_SHARED];
}

/* E / lambda and the mean metric at the present momentum; the forces are there afterwards. Where the time steps cannot
 * follow the momentum, what they throw off the grid is not compared, and E would fall: it is infinite there. */
static int look(clv_flow_descent *d, double *energy, double *mean)
{
    int status = CLVOX_OK;
    clv_registration *run = d->flow.run;
    float numbers[CLV_FLOW_NUMBERS];
    double metric;
    CLV_TRY(clv_shooting_forward(&d->flow));
    CLV_TRY(clv_flow_compare(&d->flow));
    CLV_TRY(clv_buffer_read(run->ctx, clv_flow_of(run)->numbers, 0, numbers, sizeof numbers));
    CLV_TRY(clv_flow_metric(&d->flow, numbers + CLV_FLOW_METRIC, mean, &metric));
    *energy = clv_shooting_followed(&d->flow, numbers) ? (double)numbers[CLV_FLOW_DOTS] - metric / d->lambda
                                                       : INFINITY;
end:
    return status;
}

/* p = y + keep p, L L p into direction, and the longest p in voxels; y alone where that would not lead down. */
static int find_direction(clv_flow_descent *d, double keep, double *longest)
{
    int status = CLVOX_OK;
    clv_registration *run = d->flow.run;
    clv_shooting *own = clv_shooting_of(run);
    const int *size = d->flow.level->fixed.size;
    const float *spacing = d->flow.level->spacing;
    const float per_mm[3] = {1 / spacing[0], 1 / spacing[1], 1 / spacing[2]};
    float found[2];
    clv_buffer *y = clv_shooting_field(run, CLV_SHOOTING_RATE);
    clv_buffer *v = clv_shooting_field(run, CLV_SHOOTING_SUM);
    CLV_TRY(clv_flow_adjoint(&d->flow, 1, NULL));
    CLV_TRY(clv_shooting_adjoint(&d->flow));
    CLV_TRY(clv_flow_smooth(&d->flow, CLV_SHOOTING_SPEED, own->momentum, v));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(y, size), own->direction, v, NULL,
                          (float[4]){(float)(1 / d->lambda), -2, 0, 0}));
    for (bool down = false; !down; keep = 0) {
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(own->way, size), y,
                              keep > 0 ? own->way : NULL, NULL, (float[4]){1, (float)keep, 0, 0}));
        CLV_TRY(clv_flow_momentum(&d->flow, own->way, v, own->direction));
        CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_DOT,
                           &(clv_terms){y, own->direction, NULL, 0, 3 * d->flow.level->n}, run->partial,
                           own->flow.numbers, CLV_FLOW_SLOPE));
        CLV_TRY(clv_reduce_longest(run->ctx, CLV_VECTORS(own->way, size), per_mm, false, run->partial,
                                   own->flow.numbers, CLV_FLOW_STEP));
        CLV_TRY(
            clv_buffer_read(run->ctx, own->flow.numbers, CLV_FLOW_STEP * sizeof(float), found, sizeof found));
        d->slope = (double)found[1];
        down = found[1] > 0 || !(keep > 0);
    }
    own->begun = true;
    *longest = fmax(1e-30, (double)found[0]);
end:
    return status;
}

/* Along the direction, with steps from `try` on, at most `tries` of them; *taken: the one that lowered the
 * energy enough, or 0, where the momentum stays. begun: iterations before have found how long steps are. */
static int search(clv_flow_descent *d, double try, bool begun, int tries, double *taken, int *count)
{
    int status = CLVOX_OK;
    double energy, mean;
    clv_registration *run = d->flow.run;
    clv_shooting *own = clv_shooting_of(run);
    clv_buffer *kept = own->before;
    own->before = own->momentum;
    own->momentum = kept;
    for (*count = 0; *count < tries; ++*count, try = clv_flow_shorter(try, begun)) {
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR,
                              CLV_VECTORS(own->momentum, d->flow.level->fixed.size), own->before,
                              own->direction, NULL, (float[4]){1, (float)try, 0, 0}));
        CLV_TRY(look(d, &energy, &mean));
        if (clv_flow_enough(d, try, energy, tries == MOST_TRIES)) {
            d->energy = energy;
            d->mean = mean;
            *taken = try;
            return CLVOX_OK;
        }
    }
    own->momentum = own->before;
    own->before = kept;
    *taken = 0;
end:
    return status;
}

/* One iteration; *e: the step to try, 0 to be found, then the next one, 0 where none lowers the energy. */
static int iterate(clv_flow_descent *d, double most, double *e)
{
    int status = CLVOX_OK, count = 0;
    clv_shooting *own = clv_shooting_of(d->flow.run);
    double longest, energy, mean, taken = 0, keep = own->begun ? d->flow.run->options->momentum : 0;
    for (int again = 0; again < (keep > 0 ? 2 : 1) && !(taken > 0); again++) {
        bool last = again || !(keep > 0);
        if (again) /* back to where the failed steps began */
            CLV_TRY(look(d, &energy, &mean));
        CLV_TRY(find_direction(d, again ? 0 : keep, &longest));
        double bound = fmin(most / longest, LARGEST);
        bool onwards = *e > 0 && !again;
        CLV_TRY(search(d, onwards ? fmin(*e, bound) : bound, onwards, last ? MOST_TRIES : PATIENCE, &taken,
                       &count));
    }
    *e = clv_flow_next(taken, count);
end:
    return status;
}

const clv_flow_steps clv_shooting_steps = {look, iterate};

/* Shortens a momentum of the level before until the time steps follow it on this grid. */
static int shorten(const clv_flow_level *flow)
{
    int status = CLVOX_OK;
    clv_registration *run = flow->run;
    clv_buffer *momentum = clv_shooting_of(run)->momentum;
    clv_flow *own = clv_flow_of(run);
    for (int i = 0; i < MOST_TRIES; i++) {
        float numbers[CLV_FLOW_NUMBERS];
        CLV_TRY(clv_shooting_forward(flow));
        CLV_TRY(clv_buffer_read(run->ctx, own->numbers, 0, numbers, sizeof numbers));
        if (clv_shooting_followed(flow, numbers))
            break;
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(momentum, flow->level->fixed.size),
                              momentum, NULL, NULL, (float[4]){SHORTENED, 0, 0, 0}));
    }
end:
    return status;
}

/* Voxels of a coarser level are larger, and so are the steps that follow a momentum there; their number is
 * even. */
static int level_steps(const clvox_register_options *o, int index)
{
    double steps = o->timesteps * o->shrink[o->levels - 1] / o->shrink[index];
    return steps < o->timesteps ? 2 * (int)ceil(steps / 2 - 1e-9) : o->timesteps;
}

static int run_level(clv_registration *run, int index, double share, clvox_grid *at, clvox_register_result *result)
{
    int status = CLVOX_OK;
    clv_pyramid_level level;
    clv_shooting *own = clv_shooting_of(run);
    clv_flow_descent d = {.energy = 0};
    CLV_TRY(clv_pyramid_make(run, index, true, &level));
    CLV_TRY(clv_flow_begin(&d.flow, run, &level));
    d.lambda = d.flow.lambda;
    d.flow.steps = level_steps(run->options, index);
    if (index) {
        CLV_TRY(clv_pyramid_carry(run, own->momentum, at, &level.fixed));
        CLV_TRY(shorten(&d.flow));
    } else {
        CLV_TRY(clv_buffer_fill(run->ctx, own->momentum, 0, 0, 3 * (size_t)level.n * sizeof(float)));
    }
    own->begun = false;
    CLV_TRY(clv_flow_descend(&d, &clv_shooting_steps, index, share, &result->iterations[index]));
    *at = level.fixed;
    if (index + 1 == run->options->levels) {
        CLV_TRY(clv_shooting_forward(&d.flow));
        CLV_TRY(clv_flow_integrate(&d.flow));
        if (run->problem->fields) /* who takes the maps as fields goes on with those */
            goto end;
        CLV_TRY(clv_field_download(run->ctx, own->momentum, at, 1, &result->momentum));
        const clv_fluid_operator *op = &d.flow.op;
        result->momentum->flow =
            (clvox_flow){(double)op->alpha, (double)op->beta, (double)op->gamma, d.flow.steps};
    }
end:
    clv_flow_end(&d.flow);
    return status;
}

static int run_shooting(clv_registration *run, clvox_register_result *result)
{
    return clv_flow_run(run, result, run_level);
}

#define COMMON                                                                                               \
    .metric = CLVOX_METRIC_LNCC, .radius = 2, .bins = 32, CLV_SMOOTH_BY_SHRINK, .timesteps = 8, .levels = 3, \
    .shrink = {4, 2, 1}, .step = 3, .finest_step = 3, .momentum = .7

const clv_model clv_model_shooting = {
    .deform = CLVOX_DEFORM_SHOOTING,
    .name = "shooting",
    .requests = clv_shooting_requests,
    .run = run_shooting,
    .metrics = ~0u,
    .border_stays = true,
    .gives_inverse = true,
    .takes = clv_flow_takes,
    .presets =
        {
            [CLVOX_PRESET_QUICK] = {COMMON, .iterations = {30, 20, 5}, .tolerance = 3e-5},
            [CLVOX_PRESET_DEFAULT] = {COMMON, .iterations = {60, 40, 15}, .tolerance = 3e-5},
            [CLVOX_PRESET_BEST] = {COMMON, .iterations = {100, 80, 40}, .tolerance = 1e-5},
        },
};
