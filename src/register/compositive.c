/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy and symmetric registration by compositive steps, coarse to fine. With
 * S the metric of the two warped images, each iteration and each side does
 *   f = momentum f + dS/du        register/terms/terms.h
 *   v = G_update * f              fluid regularisation, its divergence damped, or v = K f of op/fluid/solve.h
 *   u = s v + u o (id + s v)      op/field/compositive_step.h: s = --step / the longest v of the level
 *   u = G_total * u               elastic regularisation
 * greedy.c moves the moving image alone, h = x + u; syn.c both.
 * Steps shorten along a level. A level that loses is undone and done again by
 * shorter steps; the coarsest one is undone also where the next one finds the
 * images less alike by it than at the start.
 * A step of the smoothed v does not fold the continuous map; that the sampled
 * one has no folded voxel either is seen to at the end of each level and of
 * the run, where u is smoothed around determinants that have become too small.
 * greedy by an operator keeps the inverse beside u, where it is asked for. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "base/matrix.h"
#include "io/volume/orientation.h"
#include "op/field/compose.h"
#include "op/field/compositive_step.h"
#include "op/field/divergence.h"
#include "op/field/inverse.h"
#include "op/image/gaussian.h"
#include "op/image/reduce.h"
#include "op/image/resample.h"
#include "register/compositive.h"
#include "register/pyramid.h"
#include "register/contrast/synthesis.h"
#include "register/terms/terms.h"
#include "register/thresholds.h"
#include "transform/invert.h"

/* Iterations from one look of the host at the metric to the next. */
enum { LOOK = CLV_TRACED };

/* At u by a search for the inverse, of an iteration and at the end of a level. */
enum { LOOKS = 2, LAST_LOOKS = 50 };

const char *const clv_compositive_takes[] = {CLV_COMPOSITIVE_TAKES, NULL};

/* How often a level that lost, as one does whose steps are longer than a gap between structures, is done
 * again by steps half as long. Images that have nothing to gain lose each time. */
enum { SHORTER = 2 };

typedef struct work {
    clv_registration *run;
    const clv_pyramid_level *level;
    clv_pull pull;
    float rim;         /* voxels over which steps fall to 0 towards the border */
    float part;        /* of the steps' length that is asked for */
    float length;      /* of the longest step, voxels */
    float axes[3];     /* weights of the components of steps */
    clv_within stepped; /* the part of the level that moves */
    bool hold;         /* the factor of steps does not grow from here on */
    float total_sigma; /* of the elastic smoothing, voxels */
} work;

/* Which weight goes with which axis of the grid: the order of axes in which they
 * lie nearest to the world's. */
static void weigh_axes(const clvox_grid *grid, const double weights[3], float axes[3])
{
    clv_orientation o;
    clv_orientation_of(grid, &o);
    for (int w = 0; w < 3; w++)
        axes[o.axis[w]] = (float)weights[w];
}

static void set_up(work *w, clv_registration *run, const clv_pyramid_level *level)
{
    clv_compositive *own = clv_compositive_of(run);
    *w = (work){.run = run, .level = level, .part = 1};
    w->pull =
        (clv_pull){.level = level, .count = own->u_fixed ? 2 : 1, .smooth = true, .numbers = run->state};
    w->pull.side[0] = (clv_pull_side){.u = run->u, .force = own->force};
    w->pull.side[1] = (clv_pull_side){.u = own->u_fixed, .force = own->force_fixed};
    clv_map_between(&level->fixed, &level->moving, CLV_MATRIX(run->matrix), 1, &w->pull.side[0].map);
    clv_map_between(&level->fixed, &level->fixed, NULL, 1, &w->pull.side[1].map);
    int shortest = INT_MAX;
    for (int i = 0; i < 3; i++)
        if (level->fixed.size[i] > 1 && level->fixed.size[i] < shortest)
            shortest = level->fixed.size[i];
    weigh_axes(&level->fixed, run->options->restrict_axes, w->axes);
    w->pull.axes = w->axes[0] < 1 || w->axes[1] < 1 || w->axes[2] < 1 ? w->axes : NULL;
    w->rim = fmaxf(1, fminf(LONGEST_RIM, (float)shortest / 8));
}

/* The rows of a level around the content, on the device, how much of the level they are, and which share of
 * what the fixed images show they miss. */
static int find_part(const work *w, double mm, double voxels, clv_buffer *to, double *part, double *missed)
{
    int status = CLVOX_OK;
    const clv_pyramid_level *l = w->level;
    const size_t bytes = clv_within_bytes(l->fixed.size);
    double room[3];
    int *columns = malloc(bytes);
    if (!columns) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int a = 0; a < 3; a++)
        room[a] = fmax(mm, voxels * (double)l->spacing[a]);
    CLV_TRY(clv_foreground_around(&w->run->foreground, &l->fixed, room, columns, part, missed));
    CLV_TRY(clv_buffer_write(w->run->ctx, to, 0, columns, bytes));
end:
    free(columns);
    return status;
}

/* Limits the level to what lies around the content; landmarks and shapes pull anywhere, the distance of
 * tissues is a mean over the grid, and of synthesized images the air tells whether they belong together
 * (quality_control.c). Forces outside stay 0. An operator carries them anywhere. */
static int limit(work *w)
{
    int status = CLVOX_OK;
    clv_compositive *own = clv_compositive_of(w->run);
    const clvox_register_options *o = w->run->options;
    double compared, stepped, missed;
    if (!w->run->foreground.holds || clv_contrast_made(w->run) || clv_terms_beside_images(w->run))
        goto end;
    CLV_TRY(find_part(w, COMPARED_MM, COMPARED_VOXELS, own->compared, &compared, &missed));
    if (!(compared > 0 && compared < CLV_FOREGROUND_WORTH && missed <= MISSED))
        goto end;
    w->pull.within = (clv_within){own->compared, compared * w->level->n};
    for (int i = 0; i < w->pull.count; i++)
        CLV_TRY(clv_buffer_fill(w->run->ctx, w->pull.side[i].force, 0, 0,
                                3 * (size_t)w->level->n * sizeof(float)));
    if (o->gamma > 0)
        goto end;
    const double farther = SIGMAS * fmax(0, (double)o->update_sigma - USUAL_SIGMA);
    CLV_TRY(find_part(w, STEPPED_MM, STEPPED_VOXELS + farther, own->stepped, &stepped, NULL));
    w->stepped = (clv_within){own->stepped, stepped * w->level->n};
end:
    return status;
}

/* The inverse of u on a grid, where it is kept, from that of the iteration before. It follows u itself,
 * which elastic smoothing changes too, and not the steps alone. */
static int follow(clv_registration *run, const clvox_grid *grid, int looks)
{
    double edge[3];
    if (!clv_compositive_of(run)->follows)
        return CLVOX_OK;
    clvox_grid_spacing(grid, edge);
    const float spacing[3] = {(float)edge[0], (float)edge[1], (float)edge[2]};
    return clv_inverse(run->ctx, CLV_VECTORS_MM(run->u, grid->size, spacing), looks, true, run->inverse);
}

static int invert(clv_registration *run, const clvox_grid *grid)
{
    return clv_compositive_of(run)->follows ? clv_invert_field(run->ctx, run->u, grid, run->inverse) : CLVOX_OK;
}

/* v += c grad G div v. Of a wave of wave vector k, what is along k, which expands and compresses, keeps the
 * part 1 - c |k|^2 G(k), which is least, 1 - share, where |k| sigma is the root of 2: a wave 4.4 sigma long.
 * What is across k, which slides, stays. The operator is symmetric and positive definite, so that v still
 * leads up, and so is that of one sigma after the other: they commute. */
static int damp(const work *w, clv_buffer *v, float sigma, double share)
{
    int status = CLVOX_OK;
    clv_registration *run = w->run;
    const clv_pyramid_level *l = w->level;
    const size_t n = (size_t)l->n * sizeof(float);
    clv_buffer *divergence, *smooth, *scratch;
    const clv_request room[] = {{&divergence, n, "divergence"},
                                {&smooth, n, "smoothed divergence"},
                                {&scratch, n, "scratch for smoothing"}};
    const clv_image velocity = clv_image_of(v, l->fixed.size, l->spacing, 3);
    const float edge = fminf(l->spacing[0], fminf(l->spacing[1], l->spacing[2]));
    const float c = (float)(share * M_E / 2) * sigma * sigma * edge * edge;
    if (!(share > 0))
        return CLVOX_OK;
    CLV_TRY(clv_lease_take(&run->leases, room, 3));
    CLV_TRY(clv_divergence(run->ctx, &velocity, divergence));
    CLV_TRY(clv_gaussian(run->ctx, CLV_VOLUME(divergence, l->fixed.size),
                         (const float[3]){sigma, sigma, sigma}, CLV_GAUSSIAN_AUTO, scratch, smooth));
    CLV_TRY(clv_add_gradient(run->ctx, smooth,
                             (const float[3]){c * w->axes[0], c * w->axes[1], c * w->axes[2]}, &velocity));
    CLV_TRY(clv_lease_give(&run->leases, room, 3));
end:
    return status;
}

/* Whether K regularises forces, and no Gaussian. */
static bool by_operator(const clvox_register_options *o)
{
    return o->gamma > 0 && clv_model_takes(clv_model_find(o->deform), "operator");
}

/* One step of one side along its force. The factor s does not grow where w->hold:
 * steps that kept their length while forces fall would, in the end, go too far
 * wherever the force changes most, and back in the next one, and what rounding
 * changes would grow tenfold every few iterations. */
static int step(const work *w, int side)
{
    clv_compositive *own = clv_compositive_of(w->run);
    clv_registration *run = w->run;
    const clvox_register_options *o = run->options;
    const clv_pyramid_level *l = w->level;
    const float update[3] = {(float)o->update_sigma, (float)o->update_sigma, (float)o->update_sigma};
    const float total[3] = {w->total_sigma, w->total_sigma, w->total_sigma};
    const float per_mm[3] = {1 / l->spacing[0], 1 / l->spacing[1], 1 / l->spacing[2]};
    const clv_pull_side *s = &w->pull.side[side];
    const size_t bytes = 3 * (size_t)l->n * sizeof(float);
    clv_buffer *v, *next;
    const clv_request room[] = {{&v, bytes, "velocity field"}, {&next, bytes, "next displacement field"}};
    int status = CLVOX_OK, slot = CLV_STATE_LONGEST + side;
    CLV_TRY(clv_lease_take(&run->leases, room, 2));
    if (by_operator(o)) {
        CLV_TRY(clv_solver_solve(run->ctx, &own->solver, 0, s->force, v));
    } else {
        CLV_TRY(clv_gaussian(run->ctx, CLV_VECTORS(s->force, l->fixed.size), update, CLV_GAUSSIAN_AUTO, next,
                             v));
        CLV_TRY(damp(w, v, DAMPED, o->update_damping));
        CLV_TRY(damp(w, v, DAMPED_FINER, o->finer_damping));
    }
    CLV_TRY(clv_reduce_longest(run->ctx, CLV_VECTORS(v, l->fixed.size), per_mm, w->hold, run->partial,
                               run->state, slot));
    CLV_TRY(clv_compositive_step(run->ctx, CLV_VECTORS_MM(s->u, l->fixed.size, l->spacing), v,
                                 &(clv_step_length){w->length, w->rim, run->state, slot}, w->stepped, next));
    CLV_TRY(clv_gaussian(run->ctx, CLV_VECTORS(next, l->fixed.size), total, CLV_GAUSSIAN_AUTO, v, s->u));
    CLV_TRY(clv_lease_give(&run->leases, room, 2));
end:
    return status;
}

/* One iteration; S and voxels of each comparison are left from state[slot] on. */
static int iterate(work *w, float momentum, int slot)
{
    int status = CLVOX_OK;
    w->pull.forces = true;
    w->pull.keep = momentum;
    w->pull.slot = slot;
    CLV_TRY(clv_terms_force(w->run, &w->pull));
    for (int i = 0; i < w->pull.count; i++)
        CLV_TRY(step(w, i));
    CLV_TRY(follow(w->run, &w->level->fixed, LOOKS));
end:
    return status;
}

/* Slot of an iteration's metric: those of LOOK iterations lie side by side. */
static int slot_of(int iteration)
{
    return CLV_STATE_METRIC + CLV_STATE_EACH * (iteration % LOOK);
}

/* The mean metric a voxel at iterations *first to last, LOOK of them at most. Of terms that are read, the
 * value is known of the last one alone: with them, *first becomes last. Blocking. */
static int read_metric(clv_registration *run, int *first, int last, double mean[LOOK])
{
    int status = CLVOX_OK;
    float sums[LOOK][CLV_STATE_EACH];
    CLV_TRY(clv_buffer_read(run->ctx, run->state, CLV_STATE_METRIC * sizeof(float), sums, sizeof sums));
    if (clv_terms_read(run))
        *first = last;
    for (int i = *first; i <= last; i++) {
        clv_value value;
        CLV_TRY(clv_terms_value(run, sums[i % LOOK], &value));
        mean[i - *first] = value.mean;
    }
end:
    return status;
}

/* Tells of `count` iterations from the first on. */
static int tell(const clv_registration *run, int index, double share, int first, int count,
                const double *mean)
{
    int status = CLVOX_OK;
    const double each = share / run->options->iterations[index];
    for (int i = 0; i < count; i++)
        CLV_TRY(clv_pyramid_tell(run, index, first + i, mean[i], run->fraction_done + each * (first + i)));
end:
    return status;
}

/* The longest vector of a step keeps its length even where nothing is left to
 * gain. So steps shorten along a level, to LAST_STEP of the first one, and the
 * variance of the elastic smoothing with them: they pull to the same place with
 * less and less noise. */
static void shorten(work *w, int index, int iteration)
{
    const clvox_register_options *o = w->run->options;
    float all = fmaxf(1, (float)o->iterations[index]);
    float left = 1 - (1 - LAST_STEP) * (float)iteration / all;
    w->hold = (float)iteration > (o->total_sigma < STRONG ? 0 : KEPT_STEPS * all);
    w->length = w->part * left * (float)(index + 1 < o->levels ? o->step : o->finest_step);
    w->total_sigma = sqrtf(left) * (float)o->total_sigma;
}

/* The moving image's side starts from what is given, the fixed one's from 0. */
static int begin_side(clv_registration *run, const clvox_grid *grid, int which, clv_buffer *u)
{
    if (which == 0)
        return clv_register_start(run, grid, u);
    return clv_buffer_fill(run->ctx, u, 0, 0, 3 * clvox_grid_voxels(grid) * sizeof(float));
}

/* Whether the images have become more alike. */
static bool gains(double before, double now)
{
    return !(now - before < GAIN * fabs(before));
}

/* Puts back what the level started from: what the level before left on grid `from` or, where that does not
 * count, the start of the run. */
static int go_back(const work *w, const clvox_grid *from)
{
    clv_compositive *own = clv_compositive_of(w->run);
    clv_registration *run = w->run;
    int status = CLVOX_OK;
    for (int i = 0; i < w->pull.count; i++) {
        clv_buffer *u = w->pull.side[i].u;
        if (!own->counts) {
            CLV_TRY(begin_side(run, &w->level->fixed, i, u));
            continue;
        }
        CLV_TRY(clv_buffer_copy(run->ctx, own->kept[i], 0, u, 0, 3 * clvox_grid_voxels(from) * sizeof(float)));
        CLV_TRY(clv_pyramid_carry(run, u, from, &w->level->fixed));
    }
end:
    return status;
}

/* The metric of iterations *first to last, of which the last one is compared here and does not step. */
static int look(work *w, int *first, int last, double mean[LOOK])
{
    int status = CLVOX_OK;
    w->pull.forces = false;
    w->pull.slot = slot_of(last);
    CLV_TRY(clv_terms_force(w->run, &w->pull));
    CLV_TRY(read_metric(w->run, first, last, mean));
end:
    return status;
}

/* The coarsest images may not show what keeps structures apart: without the gap between a ring and its core,
 * the level presses one onto the other, and finer ones do not get them apart again. So it counts only if the
 * second level finds the images more alike by it than at the start. */
static int confirm(work *w, const clvox_grid *from)
{
    int status = CLVOX_OK, first = 0;
    clv_compositive *own = clv_compositive_of(w->run);
    double carried[LOOK], begun[LOOK];
    CLV_TRY(look(w, &first, 0, carried));
    CLV_TRY(go_back(w, from));
    CLV_TRY(look(w, &first, 0, begun));
    own->counts = gains(begun[0], carried[0]);
    CLV_TRY(own->counts ? go_back(w, from) : invert(w->run, &w->level->fixed));
end:
    return status;
}

/* The iterations of a level; ends: its metric before and after them. */
static int climb(work *w, int index, double share, int *done, double ends[2])
{
    int status = CLVOX_OK, iteration = 0;
    clv_registration *run = w->run;
    const clvox_register_options *o = run->options;
    int first = 0; /* that was not told of */
    double before = 0, now = 0, mean[LOOK];
    ends[0] = -INFINITY;
    for (; iteration < o->iterations[index]; iteration++) {
        shorten(w, index, iteration);
        CLV_TRY(iterate(w, iteration > 0 ? (float)o->momentum : 0, slot_of(iteration)));
        if (iteration % LOOK != 0)
            continue;
        CLV_TRY(read_metric(run, &first, iteration, mean));
        CLV_TRY(tell(run, index, share, first, iteration - first + 1, mean));
        now = mean[iteration - first];
        first = iteration + 1;
        /* Strong elastic smoothing loses at first, and gains as it weakens: that is no end. */
        if (iteration == 0)
            ends[0] = before = now;
        else if (fabs(now - before) < LOOK * o->tolerance * fabs(ends[0])) {
            iteration++; /* this one is done, too */
            break;
        }
        before = now;
    }
    CLV_TRY(look(w, &first, iteration, mean));
    CLV_TRY(tell(run, index, share, first, iteration - first, mean));
    ends[1] = mean[iteration - first];
    *done = iteration;
end:
    return status;
}

/* before_level: the grid of own->kept. removed: the share of the metric's first value that the level took
 * away. */
static int run_level(clv_registration *run, int index, const clv_pyramid_level *l,
                     const clvox_grid *before_level, double share, int *done, double *removed)
{
    int status = CLVOX_OK;
    bool lost;
    double ends[2];
    work w;
    set_up(&w, run, l);
    CLV_TRY(limit(&w));
    clv_compositive_of(run)->counts = index > 1;
    if (index == 1)
        CLV_TRY(confirm(&w, before_level));
    for (int pass = 0;; pass++) {
        CLV_TRY(climb(&w, index, share, done, ends));
        lost = !gains(ends[0], ends[1]);
        if (!lost)
            break;
        CLV_TRY(go_back(&w, before_level));
        if (pass == SHORTER)
            break;
        CLV_TRY(invert(run, &l->fixed));
        w.part /= 2;
        run->fraction_done += share;
        share = 0; /* progress never falls */
    }
    *removed = (ends[1] - ends[0]) / fmax(fabs(ends[0]), 1e-12);
    for (int i = 0; i < w.pull.count; i++) {
        int passes;
        CLV_TRY(clv_pyramid_mend(run, w.pull.side[i].u, &l->fixed, SMALLEST_HALF, &passes));
        lost = lost || passes > 0;
    }
    CLV_TRY(lost ? invert(run, &l->fixed) : follow(run, &l->fixed, LAST_LOOKS));
    run->fraction_done += share;
    status = clv_pyramid_tell(run, index, *done, ends[1], run->fraction_done);
end:
    return status;
}

/* The image stops where the grid does: v is 0 there or beyond. */
static clv_fluid_operator operator_of(const clv_registration *run, const clvox_grid *grid)
{
    const clvox_register_options *o = run->options;
    double edge[3];
    clvox_grid_spacing(grid, edge);
    return (clv_fluid_operator){.size = {grid->size[0], grid->size[1], grid->size[2]},
                                .spacing = {(float)edge[0], (float)edge[1], (float)edge[2]},
                                .alpha = (float)o->alpha, .beta = (float)o->beta, .gamma = (float)o->gamma};
}

int clv_compositive_requests(clv_registration *run, bool symmetric, clv_request *list)
{
    clv_compositive *own = clv_compositive_of(run);
    const clvox_register_options *o = run->options;
    clv_leases *lent = &run->leases;
    int count = 0;
    size_t n = (size_t)run->n * sizeof(float), maps = clvox_grid_voxels(clv_map_grid(run)) * sizeof(float);
    size_t larger = maps > n ? maps : n;
    list[count++] = (clv_request){&run->u, 3 * n, "displacement field"};
    list[count++] = (clv_request){&own->force, 3 * larger, "force field"};
    list[count++] = clv_lease_request(lent, &own->velocity, 3 * n, "velocity field");
    list[count++] = clv_lease_request(lent, &run->metric_scratch,
                                      clv_register_shared_floats(run, symmetric) * sizeof(float),
                                      "scratch of the metric");
    list[count++] = clv_lease_request(lent, &own->derivative, n, "derivative of the metric");
    list[count++] =
        (clv_request){&own->compared, clv_within_bytes(run->fixed_grid.size), "rows that are compared"};
    list[count++] = (clv_request){&own->stepped, clv_within_bytes(run->fixed_grid.size), "rows that move"};
    if (symmetric) {
        list[count++] = (clv_request){&own->u_fixed, 3 * n, "displacement field of the fixed image"};
        list[count++] = (clv_request){&own->force_fixed, 3 * larger, "force field of the fixed image"};
        list[count++] =
            clv_lease_request(lent, &own->derivative_fixed, n, "derivative of the metric, fixed image");
        if (o->inverse)
            list[count++] = (clv_request){&run->inverse, 3 * n, "inverse displacement field"};
    }
    if (by_operator(o)) {
        const clv_fluid_operator op = operator_of(run, &run->fixed_grid);
        own->follows = o->inverse && !symmetric;
        if (own->follows)
            list[count++] = (clv_request){&run->inverse, 3 * n, "inverse displacement field"};
        count += clv_solver_requests(&op, &own->solver, list + count);
    }
    size_t kept = 0;
    for (int i = 0; i + 1 < o->levels; i++) {
        clvox_grid level;
        clv_register_level(&run->fixed_grid, o->shrink[i], &level);
        size_t bytes = 3 * clvox_grid_voxels(&level) * sizeof(float);
        kept = bytes > kept ? bytes : kept;
    }
    for (int i = 0; kept > 0 && i <= symmetric; i++)
        list[count++] = (clv_request){&own->kept[i], kept, "displacement field of the level before"};
    return count;
}

/* Heads of one contrast, by all that was seen until then, are looked at again before the finest level, where they lie on
 * one another well enough to tell how grey and white matter look in either. */
static int look_at_tissues(clv_registration *run, const clv_pyramid_level *l)
{
    int status = CLVOX_OK;
    const clv_channel *channel = &run->channels[0];
    const size_t n = (size_t)l->n;
    float *values = NULL;
    clv_buffer *warped;
    const clv_request room = {&warped, n * sizeof *values, "image in the middle"};
    double bright, dark;
    work w;
    if (run->contrasts.differ || !clv_contrast_looks(run) || !clv_contrast_heads(run))
        return CLVOX_OK;
    set_up(&w, run, l);
    values = malloc(2 * n * sizeof *values);
    if (!values)
        return clv_register_without(run, CLVOX_ERROR_MEMORY);
    CLV_TRY(clv_lease_take(&run->leases, &room, 1));
    for (int i = 0; i < w.pull.count; i++) {
        const clv_pull_side *s = &w.pull.side[i];
        CLV_TRY(clv_warp(run->ctx,
                         CLV_VOLUME(i ? channel->level_fixed : channel->level_moving,
                                    i ? l->fixed.size : l->moving.size),
                         &s->map, s->u, CLV_LINEAR, NAN, CLV_VOLUME(warped, l->fixed.size)));
        CLV_TRY(clv_buffer_read(run->ctx, warped, 0, values + (i ? 0 : n), n * sizeof *values));
    }
    if (w.pull.count == 1)
        CLV_TRY(clv_buffer_read(run->ctx, channel->level_fixed, 0, values, n * sizeof *values));
    CLV_TRY(clv_lease_give(&run->leases, &room, 1));
    CLV_TRY(clv_contrast_tissues(&l->fixed, values, values + n, &bright, &dark));
    run->contrasts.tissues = bright < TISSUES_BRIGHT && bright < TISSUES_SHARE * dark;
end:
    free(values);
    return status;
}

/* All levels from the start on, which are a part of the whole run. removed: by the coarsest of them. */
static int run_levels(clv_registration *run, double part, clvox_register_result *result, clvox_grid *last,
                      double *removed)
{
    int status = CLVOX_OK;
    clv_compositive *own = clv_compositive_of(run);
    const clvox_register_options *o = run->options;
    double share[CLVOX_MAX_LEVELS];
    clvox_grid at = run->domain;
    clv_pyramid_shares(o, share);
    for (int i = 0; i < o->levels; i++) {
        double here;
        clv_pyramid_level l;
        clv_buffer *halves[2] = {run->u, own->u_fixed};
        CLV_TRY(clv_pyramid_make(run, i, true, &l));
        for (int k = 0; k < 2 && halves[k]; k++) {
            if (i == 0) {
                CLV_TRY(begin_side(run, &l.fixed, k, halves[k]));
                continue;
            }
            CLV_TRY(clv_buffer_copy(run->ctx, halves[k], 0, own->kept[k], 0,
                                    3 * clvox_grid_voxels(&at) * sizeof(float)));
            CLV_TRY(clv_pyramid_carry(run, halves[k], &at, &l.fixed));
        }
        if (own->follows && i > 0)
            CLV_TRY(clv_pyramid_carry(run, run->inverse, &at, &l.fixed));
        else
            CLV_TRY(invert(run, &l.fixed));
        clvox_grid before_level = at;
        at = l.fixed;
        const clv_fluid_operator op = operator_of(run, &at);
        if (by_operator(o))
            CLV_TRY(clv_solver_create(run->ctx, &op, &own->solver));
        CLV_TRY(run_level(run, i, &l, &before_level, part * share[i], &result->iterations[i], &here));
        *removed = i == 0 ? here : *removed;
        clv_solver_destroy(&own->solver);
        if (i == o->levels - 2)
            CLV_TRY(look_at_tissues(run, &l));
        if (clv_contrast_begins_again(run))
            break;
    }
    *last = at;
end:
    clv_solver_destroy(&own->solver);
    return status;
}

/* Synthesizes the images again where the displacements on grid `from` lead, which are lost. */
static int synthesized_again(clv_registration *run, const clvox_grid *from)
{
    static const double APART = 2; /* mm from one place looked at to the next */
    int status = CLVOX_OK;
    clv_compositive *own = clv_compositive_of(run);
    clv_buffer *halves[2] = {run->u, own->u_fixed};
    double edge[3], factor[3];
    clvox_grid at;
    clvox_grid_spacing(&run->domain, edge);
    for (int i = 0; i < 3; i++)
        factor[i] = fmax(1, APART / edge[i]);
    clv_pyramid_grid(&run->domain, factor, &at);
    for (int k = 0; k < 2 && halves[k]; k++)
        CLV_TRY(clv_pyramid_carry(run, halves[k], from, &at));
    CLV_TRY(clv_contrast_again(run, NEARER, true, &at, run->u, own->u_fixed));
end:
    return status;
}

/* Sets the metric by which the deformation compares synthesized images. */
static void compare_by(clv_registration *run, clvox_metric metric)
{
    for (int i = 0; i < run->image_count; i++)
        run->channels[i].metric = metric;
}

/* Synthesis improves once the images lie on one another: then all is done again, twice, and by LNCC, for which
 * synthesized images are alike enough by then. Crops have too few tissues for that, and end no better. */
int clv_compositive_levels(clv_registration *run, clvox_register_result *result, clvox_grid *last)
{
    enum { RUNS = 3 };
    int status = CLVOX_OK;
    const bool made = clv_contrast_made(run);
    const int runs = !made || !clv_contrast_heads(run) ? 1 : run->contrasts.tissues ? RUNS - 1 : RUNS;
    const double part = (1 - run->fraction_done) / runs;
    const clvox_metric metric = run->channels[0].metric;
    double removed = 0;
    /* Images whose other edges agree have led LNCC already. */
    if (made && run->contrasts.tissues)
        compare_by(run, CLVOX_METRIC_LNCC);
    CLV_TRY(run_levels(run, part, result, last, &removed));
    if (runs > 1 && removed < RANDOM)
        compare_by(run, CLVOX_METRIC_LNCC);
    for (int k = 1; k < runs; k++) {
        double again;
        CLV_TRY(synthesized_again(run, last));
        CLV_TRY(run_levels(run, part, result, last, &again));
    }
    if (made)
        compare_by(run, metric);
end:
    return status;
}

void clv_compositive_lend(clv_registration *run)
{
    clv_compositive *own = clv_compositive_of(run);
    clv_buffer **const done[] = {&own->force, &own->force_fixed, &own->u_fixed};
    for (int i = 0; i < 3; i++)
        clv_lease_lend(&run->leases, done[i]);
}
