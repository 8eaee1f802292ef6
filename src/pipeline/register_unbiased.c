/* SPDX-License-Identifier: Apache-2.0 */
/* Unbiased fluid registration (Lee et al. 2012, equations 7-12): coarse to
 * fine, each iteration
 *   f = -dE/du                     op/force.h
 *   v = G_sigma f                  op/gaussian.h
 *   p = v - Du v                   op/fluid.h
 *   u = u + dt p                   dt on the device, never folding
 * The host looks at the energy every LOOK iterations, after mending u where its
 * determinant became too small: where it rose, u goes back to what it was at
 * the look before and the step is halved, so that a level never ends worse
 * than it began. */
#include <math.h>

#include "base/matrix.h"
#include "op/blend.h"
#include "op/compose.h"
#include "op/energy.h"
#include "op/fluid.h"
#include "op/gaussian.h"
#include "op/jacobian.h"
#include "op/pointwise.h"
#include "op/reduce.h"
#include "op/resample.h"
#include "pipeline/register.h"

enum { LOOK = 10, MAX_RISES = 6 };

/* The map is kept above this determinant. A step alone cannot fold it
 * (op/fluid.h), but ever smaller determinants would stop all movement for the
 * sake of one voxel and say nothing about anatomy. */
static const float SMALLEST_JACOBIAN = 0.05f;

/* Mean squared difference, of images in [0, 1], below which they are the same. */
static const double SAME_IMAGE = 1e-10;

typedef struct level {
    clvox_grid fixed, moving;
    int n, m;
    float spacing[3];
    clv_map map;   /* of op/force.h: linear (i, 1) - shift u */
    const clv_buffer *mask;
} level;

/* An image of the run, smoothed by sigma (its voxels) and sampled on a level. */
static int shrink(clv_registration *run, const clv_buffer *image, const clvox_grid *grid,
                  const float sigma[3], clv_buffer *out, const clvox_grid *to)
{
    return clv_smooth_sample(run->ctx, image, grid, sigma, run->scratch_a, run->scratch_b, out, to);
}

/* Sigma for an image that is sampled `factor` times coarser, in its voxels:
 * the stated width in mm where there is one, else what the sampling asks for. */
static void level_sigma(const clvox_grid *grid, const double factor[3], double stated_mm,
                        float sigma[3])
{
    double edge[3];
    clvox_grid_spacing(grid, edge);
    for (int i = 0; i < 3; i++)
        sigma[i] = (float)(stated_mm >= 0 ? stated_mm / edge[i]
                                          : .5 * sqrt(fmax(0, factor[i] * factor[i] - 1)));
}

/* How much coarser the moving image may become along its own axes when the
 * fixed level has these edges: as coarse as the fixed level is along the same
 * direction, never finer than it is. */
static void moving_factors(const clv_registration *run, const clvox_grid *fixed_level,
                           double factor[3])
{
    double fixed_edge[3], moving_edge[3];
    clvox_grid_spacing(fixed_level, fixed_edge);
    clvox_grid_spacing(&run->moving_grid, moving_edge);
    for (int a = 0; a < 3; a++) {
        double edge = 0, weight = 0;
        for (int b = 0; b < 3; b++) {
            double along = 0;
            for (int r = 0; r < 3; r++) {
                double mapped = 0;
                for (int k = 0; k < 3; k++)
                    mapped += run->matrix[r][k] * fixed_level->to_ras[k][b];
                along += mapped * run->moving_grid.to_ras[r][a] / moving_edge[a];
            }
            double cosine2 = along * along / (fixed_edge[b] * fixed_edge[b]);
            edge += cosine2 * fabs(along);
            weight += cosine2;
        }
        factor[a] = weight > 0 ? fmax(1, edge / weight / moving_edge[a]) : 1;
    }
}

void clv_register_level(const clvox_grid *fixed, double shrink, clvox_grid *out)
{
    double factor[3];
    for (int i = 0; i < 3; i++)
        factor[i] = fmin(shrink, fmax(1, fixed->size[i] / 4.));
    clv_level_grid(fixed, factor, out);
}

static int make_level(clv_registration *run, int index, level *l)
{
    int status = CLVOX_OK;
    const clvox_register_options *o = run->options;
    double factor[3], moving_factor[3], spacing[3];
    float sigma[3];
    clv_register_level(&run->fixed_grid, o->shrink[index], &l->fixed);
    for (int i = 0; i < 3; i++)
        factor[i] = (double)run->fixed_grid.size[i] / l->fixed.size[i];
    moving_factors(run, &l->fixed, moving_factor);
    clv_level_grid(&run->moving_grid, moving_factor, &l->moving);
    clvox_grid_spacing(&l->fixed, spacing);
    for (int i = 0; i < 3; i++)
        l->spacing[i] = (float)spacing[i];
    l->n = (int)clvox_grid_voxels(&l->fixed);
    l->m = (int)clvox_grid_voxels(&l->moving);
    l->mask = NULL;

    clvox_grid_spacing(&run->fixed_grid, spacing);
    double stated = o->smooth_voxels[index] * cbrt(spacing[0] * spacing[1] * spacing[2]);
    level_sigma(&run->fixed_grid, factor, stated, sigma);
    CLV_TRY(shrink(run, run->channels[0].fixed, &run->fixed_grid, sigma, run->channels[0].level_fixed, &l->fixed));
    /* A moving image of finer voxels is brought to the fixed one's resolution
     * first, whatever smoothing was stated. */
    double finer[3];
    float least[3];
    for (int i = 0; i < 3; i++)
        finer[i] = moving_factor[i] / cbrt(factor[0] * factor[1] * factor[2]);
    level_sigma(&run->moving_grid, finer, -1, least);
    level_sigma(&run->moving_grid, moving_factor, stated, sigma);
    for (int i = 0; i < 3; i++)
        sigma[i] = fmaxf(sigma[i], least[i]);
    CLV_TRY(shrink(run, run->channels[0].moving, &run->moving_grid, sigma, run->channels[0].level_moving, &l->moving));
    if (run->fixed_mask) {
        level_sigma(&run->fixed_grid, factor, -1, sigma);
        CLV_TRY(shrink(run, run->fixed_mask, &run->fixed_grid, sigma, run->level_mask, &l->fixed));
        l->mask = run->level_mask;
    }
    if (run->moving_mask) {
        /* Outside of its mask the moving image is unknown: NaN, which the
         * force takes as "no image term here". */
        level_sigma(&run->moving_grid, moving_factor, -1, sigma);
        CLV_TRY(shrink(run, run->moving_mask, &run->moving_grid, sigma, run->scratch_a, &l->moving));
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_THRESHOLD, run->scratch_a, l->m, run->scratch_a,
                              NULL, NULL, (float[4]){.5f, 0, NAN, 0}));
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, run->channels[0].level_moving, l->m,
                              run->channels[0].level_moving, run->scratch_a, NULL, (float[4]){1, 1, 0, 0}));
    }
    clv_map_between(&l->fixed, &l->moving, CLV_MATRIX(run->matrix), 1, &l->map);
end:
    return status;
}

static int smallest_jacobian(clv_registration *run, const clvox_grid *grid, int n,
                             const float spacing[3], float *smallest)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_jacobian(run->ctx, run->u, grid->size, spacing, -1, false, run->field_a));
    CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_MIN, run->field_a, NULL, NULL, 0, n, run->partial, run->state,
                       CLV_STATE_SUMS));
    CLV_TRY(clv_buffer_read(run->ctx, run->state, CLV_STATE_SUMS * sizeof(float), smallest,
                            sizeof *smallest));
end:
    return status;
}

/* Smooths u around the voxels whose determinant has fallen below the smallest
 * allowed, a little at a time and wider with every pass, until there are none. */
static int mend(clv_registration *run, const clvox_grid *grid)
{
    int status = CLVOX_OK;
    double edge[3];
    clvox_grid_spacing(grid, edge);
    const float spacing[3] = {(float)edge[0], (float)edge[1], (float)edge[2]};
    int n = (int)clvox_grid_voxels(grid);
    float smallest;
    for (int pass = 0; pass < 100; pass++) {
        CLV_TRY(smallest_jacobian(run, grid, n, spacing, &smallest));
        if (smallest > SMALLEST_JACOBIAN)
            break;
        float wide = fminf(1.5f + .25f * (float)pass, 15);
        /* weight: 1 on and next to the bad voxels, falling to 0 around them */
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_THRESHOLD, run->field_a, n, run->field_a, NULL, NULL,
                              (float[4]){2 * SMALLEST_JACOBIAN, 0, 1, 0}));
        CLV_TRY(clv_gaussian(run->ctx, run->field_a, grid->size, false, (float[3]){wide, wide, wide},
                             CLV_GAUSSIAN_SEPARABLE, run->field_b, run->field_c));
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_CLAMP, run->weight, n, run->field_c, NULL, NULL,
                              (float[4]){60 * wide, 0, 0, 1}));
        CLV_TRY(clv_gaussian(run->ctx, run->u, grid->size, true, (float[3]){1, 1, 1},
                             CLV_GAUSSIAN_SEPARABLE, run->field_a, run->field_b));
        CLV_TRY(clv_blend(run->ctx, run->u, run->field_b, run->weight, n));
    }
end:
    return status;
}

/* Carries u to a finer grid. */
static int carry(clv_registration *run, const clvox_grid *from, const clvox_grid *to)
{
    static const float one[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    int status = CLVOX_OK;
    clv_map map;
    size_t n = clvox_grid_voxels(to);
    clv_map_between(to, from, NULL, 0, &map);
    CLV_TRY(clv_compose(run->ctx, NULL, 0, run->u, from->size, &map, one, run->field_a, to->size));
    CLV_TRY(clv_buffer_copy(run->ctx, run->field_a, 0, run->u, 0, 3 * n * sizeof(float)));
    CLV_TRY(mend(run, to));
end:
    return status;
}

/* For the correlation metric: brings the moving level to a T + b, the best
 * fit to the fixed one at the present u. At that point the gradient of the
 * squared difference is parallel to that of the correlation. */
static int refit(clv_registration *run, const level *l)
{
    int status = CLVOX_OK;
    float s[5];
    clv_buffer *warped = run->field_a, *weight = run->field_b;
    clv_map map;
    clv_map_between(&l->fixed, &l->moving, CLV_MATRIX(run->matrix), -1, &map);
    CLV_TRY(clv_warp(run->ctx, run->channels[0].level_moving, l->moving.size, &map, run->u, CLV_LINEAR, NAN,
                     warped, l->fixed.size));
    /* weight = 1 where a value arrived, times the mask */
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, weight, l->n, warped, NULL, NULL,
                          (float[4]){0, 0, 0, 1}));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_FINITE, weight, l->n, weight, NULL, NULL,
                          (float[4]){0, 0, 0, 0}));
    if (l->mask)
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_MULTIPLY, weight, l->n, weight, l->mask, NULL,
                              (float[4]){1, 0, 0, 0}));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_FINITE, warped, l->n, warped, NULL, NULL,
                          (float[4]){0, 0, 0, 0}));
    const clv_buffer *fixed = run->channels[0].level_fixed;
    CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_SUM, weight, NULL, NULL, 0, l->n, run->partial, run->state,
                       CLV_STATE_SUMS));
    CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_SUM, warped, NULL, weight, 0, l->n, run->partial, run->state,
                       CLV_STATE_SUMS + 1));
    CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_SUM, fixed, NULL, weight, 0, l->n, run->partial, run->state,
                       CLV_STATE_SUMS + 2));
    CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_DOT, warped, warped, weight, 0, l->n, run->partial,
                       run->state, CLV_STATE_SUMS + 3));
    CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_DOT, warped, fixed, weight, 0, l->n, run->partial, run->state,
                       CLV_STATE_SUMS + 4));
    CLV_TRY(clv_buffer_read(run->ctx, run->state, CLV_STATE_SUMS * sizeof(float), s, sizeof s));
    double variance = s[3] - (double)s[1] * s[1] / s[0], covariance = s[4] - (double)s[1] * s[2] / s[0];
    if (!(s[0] > 0) || !(variance > 1e-6 * s[3]) || !(covariance > 0))
        goto end;
    float a = (float)(covariance / variance), b = (float)((s[2] - covariance / variance * s[1]) / s[0]);
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, run->channels[0].level_moving, l->m, run->channels[0].level_moving,
                          NULL, NULL, (float[4]){a, 0, 0, b}));
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

static int iterate(clv_registration *run, int index, const level *l, double share, int *done)
{
    int status = CLVOX_OK;
    const clvox_register_options *o = run->options;
    const float sigma[3] = {(float)o->update_sigma, (float)o->update_sigma, (float)o->update_sigma};
    float largest = (float)o->step;
    double start = 0, before = 0, energy = 0, image = 0;
    int rises = 0, iteration = 0;
    const clv_force_form forms[] = {CLV_FORCE_AUTO, CLV_FORCE_RECOMPUTE, CLV_FORCE_REUSE,
                                    CLV_FORCE_CAPPED, CLV_FORCE_TWOPASS};
    const clv_force_args args = {
        .moving = run->channels[0].level_moving, .moving_size = {l->moving.size[0], l->moving.size[1], l->moving.size[2]},
        .fixed = run->channels[0].level_fixed, .mask = l->mask, .u = run->u,
        .size = {l->fixed.size[0], l->fixed.size[1], l->fixed.size[2]},
        .spacing = {l->spacing[0], l->spacing[1], l->spacing[2]},
        .map = l->map, .lambda = (float)o->lambda, .nine = run->nine, .force = run->field_a,
    };
    for (;; iteration++) {
        if (iteration % LOOK == 0 || iteration == o->iterations[index]) {
            CLV_TRY(mend(run, &l->fixed));
            if (o->metric == CLVOX_METRIC_NCC)
                CLV_TRY(refit(run, l));
            CLV_TRY(look(run, &args, &energy, &image));
            double fraction = run->fraction_done + share * iteration / fmax(1, o->iterations[index]);
            if (o->progress && o->progress(o->user, index, iteration, image / l->n, fraction)) {
                status = clv_fail(CLVOX_ERROR_STOPPED, "stopped by the user");
                goto end;
            }
            size_t bytes = 3 * (size_t)l->n * sizeof(float);
            if (iteration == 0) {
                start = before = energy;
                CLV_TRY(clv_buffer_copy(run->ctx, run->u, 0, run->best, 0, bytes));
            } else if (!(energy <= before)) {
                largest *= .5f;
                CLV_TRY(clv_buffer_copy(run->ctx, run->best, 0, run->u, 0, bytes));
                if (++rises == MAX_RISES)
                    break;
            } else {
                CLV_TRY(clv_buffer_copy(run->ctx, run->u, 0, run->best, 0, bytes));
                double fall = before - energy;
                before = energy;
                if (fall < LOOK * o->tolerance * start)
                    break;
            }
            if (!(energy > SAME_IMAGE * l->n))
                break;
        }
        if (iteration == o->iterations[index])
            break;
        CLV_TRY(clv_force(run->ctx, forms[o->force], &args));
        CLV_TRY(clv_gaussian(run->ctx, run->field_a, l->fixed.size, true, sigma, CLV_GAUSSIAN_AUTO,
                             run->field_b, run->field_c));
        CLV_TRY(clv_fluid_rate(run->ctx, run->u, run->field_c, l->fixed.size, l->spacing, run->field_a,
                               run->partial, run->state));
        CLV_TRY(clv_fluid_update(run->ctx, run->u, run->field_a, l->fixed.size, largest, run->state));
    }
    *done = iteration;
end:
    return status;
}

int clv_register_unbiased_requests(clv_registration *run, clv_request *list)
{
    size_t n = (size_t)run->n * sizeof(float);
    int count = 0;
    list[count++] = (clv_request){&run->u, 3 * n, "displacement field"};
    list[count++] = (clv_request){&run->best, 3 * n, "best displacement so far"};
    list[count++] = (clv_request){&run->field_a, 3 * n, "force field"};
    list[count++] = (clv_request){&run->field_b, 3 * n, "scratch for the velocity field"};
    list[count++] = (clv_request){&run->field_c, 3 * n, "velocity field"};
    list[count++] = (clv_request){&run->weight, n, "weights"};
    if (run->options->force == CLVOX_FORCE_TWOPASS)
        list[count++] = (clv_request){&run->nine, 9 * n, "nine products of the force"};
    return count;
}

int clv_register_unbiased(clv_registration *run, clvox_register_result *result)
{
    int status = CLVOX_OK;
    const clvox_register_options *o = run->options;
    double work[CLVOX_MAX_LEVELS], total = 0;
    clvox_grid at = run->fixed_grid;
    for (int i = 0; i < o->levels; i++) {
        work[i] = o->iterations[i] / pow(o->shrink[i], 3);
        total += work[i];
    }
    total = fmax(total, 1e-30); /* no iterations at all */
    for (int i = 0; i < o->levels; i++) {
        level l;
        CLV_TRY(make_level(run, i, &l));
        if (i == 0)
            CLV_TRY(clv_buffer_fill(run->ctx, run->u, 0, 0, 3 * (size_t)l.n * sizeof(float)));
        else
            CLV_TRY(carry(run, &at, &l.fixed));
        at = l.fixed;
        CLV_TRY(iterate(run, i, &l, work[i] / total, &result->iterations[i]));
        run->fraction_done += work[i] / total;
    }
    if (!clvox_grid_equal(&at, &run->fixed_grid))
        CLV_TRY(carry(run, &at, &run->fixed_grid));
    /* Here h = x - u; the run's u is that of h = x + u. */
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, run->u, 3 * run->n, run->u, NULL, NULL,
                          (float[4]){-1, 0, 0, 0}));
end:
    return status;
}
