/* SPDX-License-Identifier: Apache-2.0 */
/* Unbiased fluid registration (Lee et al. 2012, equations 7-12): coarse to
 * fine, each iteration
 *   f = -dE/du                     op/fluid/force.h
 *   v = G_sigma f                  op/image/gaussian.h
 *   p = v + Du v                   op/fluid/fluid_step.h
 *   u = u + dt p                   dt on the device, never folding
 * It has images alone, and does not go by register/terms/terms.h: one kernel reads them once for
 * their force and the penalty's, which as terms would be two, with derivatives of the metric
 * between them.
 * The host looks at the energy every LOOK iterations, after mending u where its
 * determinant became too small: where it rose, u goes back to what it was at
 * the look before and the step is halved, so that a level never ends worse
 * than it began. */
#include <math.h>

#include "base/matrix.h"
#include "op/fluid/energy.h"
#include "op/fluid/fluid_step.h"
#include "op/image/gaussian.h"
#include "op/image/pointwise.h"
#include "op/image/reduce.h"
#include "op/image/resample.h"
#include "register/model.h"
#include "register/pyramid.h"

enum { LOOK = 10, MAX_RISES = 6 };

/* The map is kept above this determinant. A step alone cannot fold it
 * (op/fluid/fluid_step.h), but ever smaller determinants would stop all movement for the
 * sake of one voxel and say nothing about anatomy. */
static const float SMALLEST_JACOBIAN = 0.05f;

typedef struct state {
    clv_buffer *best; /* u at the last look that was better than all before */
    clv_buffer *room[3]; /* fields that are lent */
} state;
_Static_assert(sizeof(state) <= CLV_MODEL_BYTES, "more state than a run has room for");

static state *state_of(clv_registration *run)
{
    return CLV_MODEL_STATE(state, run);
}

static int mend(clv_registration *run, const clvox_grid *grid)
{
    return clv_pyramid_mend(run, run->u, grid, SMALLEST_JACOBIAN, NULL);
}

/* Carries u to a finer grid. */
static int carry(clv_registration *run, const clvox_grid *from, const clvox_grid *to)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_pyramid_carry(run, run->u, from, to));
    CLV_TRY(mend(run, to));
end:
    return status;
}

/* For the correlation metric: brings the moving level to a T + b, the best
 * fit to the fixed one at the present u. At that point the gradient of the
 * squared difference is parallel to that of the correlation. */
static int refit(clv_registration *run, const clv_pyramid_level *l)
{
    int status = CLVOX_OK;
    const size_t n = (size_t)l->n * sizeof(float);
    float s[5];
    clv_buffer *warped, *weight;
    const clv_request room[] = {{&warped, n, "warped image"}, {&weight, n, "weights"}};
    clv_map map;
    CLV_TRY(clv_lease_take(&run->leases, room, 2));
    clv_map_between(&l->fixed, &l->moving, CLV_MATRIX(run->matrix), 1, &map);
    CLV_TRY(clv_warp(run->ctx, CLV_VOLUME(run->channels[0].level_moving, l->moving.size), &map, run->u,
                     CLV_LINEAR, NAN, CLV_VOLUME(warped, l->fixed.size)));
    /* weight = 1 where a value arrived, times the mask */
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(weight, l->fixed.size), warped, NULL,
                          NULL, (float[4]){0, 0, 0, 1}));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_FINITE, CLV_VOLUME(weight, l->fixed.size), weight, NULL,
                          NULL, (float[4]){0, 0, 0, 0}));
    if (l->mask)
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_MULTIPLY, CLV_VOLUME(weight, l->fixed.size), weight,
                              l->mask, NULL, (float[4]){1, 0, 0, 0}));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_FINITE, CLV_VOLUME(warped, l->fixed.size), warped, NULL,
                          NULL, (float[4]){0, 0, 0, 0}));
    const clv_buffer *fixed = run->channels[0].level_fixed;
    const clv_terms sums[] = {{weight, NULL, NULL, 0, l->n},
                              {warped, NULL, weight, 0, l->n},
                              {fixed, NULL, weight, 0, l->n},
                              {warped, warped, weight, 0, l->n},
                              {warped, fixed, weight, 0, l->n}};
    for (int i = 0; i < 5; i++)
        CLV_TRY(clv_reduce(run->ctx, i < 3 ? CLV_REDUCE_SUM : CLV_REDUCE_DOT, &sums[i], run->partial,
                           run->state, CLV_STATE_SUMS + i));
    CLV_TRY(clv_buffer_read(run->ctx, run->state, CLV_STATE_SUMS * sizeof(float), s, sizeof s));
    CLV_TRY(clv_lease_give(&run->leases, room, 2));
    double variance = s[3] - (double)s[1] * s[1] / s[0], covariance = s[4] - (double)s[1] * s[2] / s[0];
    if (!(s[0] > 0) || !(variance > 1e-6 * s[3]) || !(covariance > 0))
        goto end;
    float a = (float)(covariance / variance), b = (float)((s[2] - covariance / variance * s[1]) / s[0]);
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR,
                          CLV_VOLUME(run->channels[0].level_moving, l->moving.size),
                          run->channels[0].level_moving, NULL, NULL, (float[4]){a, 0, 0, b}));
end:
    return status;
}

static int look(clv_registration *run, const clv_force_args *args, double *energy, double *image)
{
    int status = CLVOX_OK;
    float e[4];
    CLV_TRY(clv_energy(run->ctx, args, run->partial, run->state, CLV_STATE_ENERGY));
    CLV_TRY(clv_buffer_read(run->ctx, run->state, CLV_STATE_ENERGY * sizeof(float), e, sizeof e));
    *image = e[0];
    *energy = e[0] + args->lambda * e[1];
end:
    return status;
}

/* One step along the force, which moves no voxel by more than `largest`. */
static int step(clv_registration *run, const clv_pyramid_level *l, const clv_force_args *args, float largest)
{
    int status = CLVOX_OK;
    const float by = (float)run->options->update_sigma, sigma[3] = {by, by, by};
    const size_t bytes = 3 * (size_t)l->n * sizeof(float);
    clv_force_args of = *args;
    clv_buffer *scratch, *velocity;
    const clv_request room[] = {{&of.force, bytes, "force field"},
                                {&scratch, bytes, "scratch for the velocity field"},
                                {&velocity, bytes, "velocity field"}};
    CLV_TRY(clv_lease_take(&run->leases, room, 3));
    CLV_TRY(clv_force(run->ctx, &of));
    CLV_TRY(clv_gaussian(run->ctx, CLV_VECTORS(of.force, l->fixed.size), sigma, CLV_GAUSSIAN_AUTO, scratch,
                         velocity));
    CLV_TRY(clv_fluid_rate(run->ctx, CLV_VECTORS_MM(run->u, l->fixed.size, l->spacing), velocity, of.force,
                           run->partial, run->state));
    CLV_TRY(clv_fluid_update(run->ctx, CLV_VECTORS(run->u, l->fixed.size), of.force, largest, run->state));
    CLV_TRY(clv_lease_give(&run->leases, room, 3));
end:
    return status;
}

static int iterate(clv_registration *run, int index, const clv_pyramid_level *l, double share, int *done)
{
    state *own = state_of(run);
    int status = CLVOX_OK;
    clv_map map;
    const clvox_register_options *o = run->options;
    float largest = (float)o->step;
    double start = 0, before = 0, energy = 0, image = 0;
    int rises = 0, iteration = 0;
    clv_map_between(&l->fixed, &l->moving, CLV_MATRIX(run->matrix), 1, &map);
    const clv_force_args args = {
        .moving = clv_image_of(run->channels[0].level_moving, l->moving.size, NULL, 1),
        .fixed = clv_image_of(run->channels[0].level_fixed, l->fixed.size, l->spacing, 1), .mask = l->mask,
        .u = run->u, .map = map, .lambda = (float)o->lambda,
    };
    for (;; iteration++) {
        if (iteration % LOOK == 0 || iteration == o->iterations[index]) {
            CLV_TRY(mend(run, &l->fixed));
            if (o->metric == CLVOX_METRIC_NCC)
                CLV_TRY(refit(run, l));
            CLV_TRY(look(run, &args, &energy, &image));
            double fraction = run->fraction_done + share * iteration / fmax(1, o->iterations[index]);
            CLV_TRY(clv_pyramid_tell(run, index, iteration, image / l->n, fraction));
            size_t bytes = 3 * (size_t)l->n * sizeof(float);
            if (iteration == 0) {
                start = before = energy;
                CLV_TRY(clv_buffer_copy(run->ctx, run->u, 0, own->best, 0, bytes));
            } else if (!(energy <= before)) {
                largest *= .5f;
                CLV_TRY(clv_buffer_copy(run->ctx, own->best, 0, run->u, 0, bytes));
                if (++rises == MAX_RISES)
                    break;
            } else {
                CLV_TRY(clv_buffer_copy(run->ctx, run->u, 0, own->best, 0, bytes));
                double fall = before - energy;
                before = energy;
                if (fall <= LOOK * o->tolerance * start)
                    break;
            }
        }
        if (iteration == o->iterations[index])
            break;
        CLV_TRY(step(run, l, &args, largest));
    }
    *done = iteration;
end:
    return status;
}

static int requests(clv_registration *run, clv_request *list)
{
    state *own = state_of(run);
    size_t n = (size_t)run->n * sizeof(float);
    int count = 0;
    list[count++] = (clv_request){&run->u, 3 * n, "displacement field"};
    list[count++] = (clv_request){&own->best, 3 * n, "best displacement so far"};
    for (int i = 0; i < 3; i++)
        list[count++] = clv_lease_request(&run->leases, &own->room[i], 3 * n, "room for the velocity field");
    return count;
}

static int run_unbiased(clv_registration *run, clvox_register_result *result)
{
    int status = CLVOX_OK;
    const clvox_register_options *o = run->options;
    double share[CLVOX_MAX_LEVELS];
    clvox_grid at = run->fixed_grid;
    clv_pyramid_shares(o, share);
    for (int i = 0; i < o->levels; i++) {
        clv_pyramid_level l;
        CLV_TRY(clv_pyramid_make(run, i, false, &l));
        if (i == 0)
            CLV_TRY(clv_register_start(run, &l.fixed, run->u));
        else
            CLV_TRY(carry(run, &at, &l.fixed));
        at = l.fixed;
        CLV_TRY(iterate(run, i, &l, share[i], &result->iterations[i]));
        run->fraction_done += share[i];
    }
    if (!clvox_grid_equal(&at, &run->fixed_grid))
        CLV_TRY(carry(run, &at, &run->fixed_grid));
end:
    return status;
}

static const char *const takes[] = {"update-sigma", "step", "lambda", NULL};

#define COMMON .metric = CLVOX_METRIC_SSD, .radius = 2, .bins = 32, CLV_SMOOTH_BY_SHRINK, \
    .update_sigma = 2.5, .lambda = 0.003, .step = 0.4, .finest_step = 0.4

const clv_model clv_model_unbiased = {
    .deform = CLVOX_DEFORM_UNBIASED,
    .name = "unbiased",
    .requests = requests,
    .run = run_unbiased,
    .metrics = 1u << CLVOX_METRIC_SSD | 1u << CLVOX_METRIC_NCC,
    .one_channel = true,
    .compares_values = true,
    .starts_from_warp = true,
    .takes = takes,
    .presets = {
        [CLVOX_PRESET_QUICK] = {COMMON, .levels = 2, .shrink = {4, 2}, .iterations = {100, 60},
            .tolerance = 1e-4},
        [CLVOX_PRESET_DEFAULT] = {COMMON, .levels = 3, .shrink = {4, 2, 1}, .iterations = {100, 100, 50},
            .tolerance = 1e-5},
        [CLVOX_PRESET_BEST] = {COMMON, .levels = 3, .shrink = {4, 2, 1}, .iterations = {200, 200, 150},
            .tolerance = 1e-6},
    },
};
