/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory of a registration: the grids that it works on, the buffers that it asks for, and the most that it
 * takes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/matrix.h"
#include "base/options.h"
#include "base/status.h"
#include "op/match/metric.h"
#include "op/image/resample.h"
#include "register/metric/metric.h"
#include "register/model.h"
#include "register/terms/posteriors.h"
#include "register/problem.h"
#include "register/contrast/synthesis.h"
#include "register/terms/shapes.h"
#include "register/terms/terms.h"
#include "runtime/device/gate.h"

enum { SMALL_BYTES = 1 << 16 };

const clvox_volume *clv_register_first(const clvox_register_images *images, bool moving)
{
    if (images->channels == 0)
        return moving ? images->moving_posteriors : images->fixed_posteriors;
    return moving ? images->moving[0] : images->fixed[0];
}

bool clv_register_work(const clvox_register_images *images, const clvox_register_options *o,
                       clvox_grid *fixed, clvox_grid *moving, clvox_register_options *work)
{
    double finest = o->levels > 0 ? o->shrink[o->levels - 1] : 1, edge[3], factor[3], target = 1;
    const clvox_grid *whole[2] = {&clv_register_first(images, false)->grid,
                                  &clv_register_first(images, true)->grid};
    *work = *o;
    /* Tissues alone are compared by their values. */
    if (images->channels == 0)
        work->metric = work->linear_metric = CLVOX_METRIC_SSD;
    *fixed = *whole[0];
    *moving = *whole[1];
    if (o->deform == CLVOX_DEFORM_NONE || !(finest > 1))
        return false;
    clvox_grid_spacing(fixed, edge);
    double before = cbrt(edge[0] * edge[1] * edge[2]);
    clv_register_level(whole[0], finest, fixed);
    clvox_grid_spacing(fixed, edge);
    double after = cbrt(edge[0] * edge[1] * edge[2]);
    clvox_grid_spacing(moving, factor);
    target = after;
    for (int i = 0; i < 3; i++)
        factor[i] = fmin(fmax(1, target / factor[i]), fmax(1, moving->size[i] / 4.));
    clv_pyramid_grid(whole[1], factor, moving);
    double ratio = after / before, done = .25 * (ratio * ratio - 1);
    for (int i = 0; i < o->levels; i++) {
        work->shrink[i] = fmax(1, o->shrink[i] / finest);
        /* Smoothing of the coarser images counts towards that asked for. */
        if (o->smooth_voxels[i] >= 0)
            work->smooth_voxels[i] = sqrt(fmax(0, o->smooth_voxels[i] * o->smooth_voxels[i] - done)) / ratio;
    }
    return true;
}

/* By volume, as the mask may lie on a grid of its own. */
static double inside_of(const clvox_volume *mask, const clvox_grid *grid)
{
    size_t count = 0;
    if (!mask || !mask->data)
        return 1;
    for (size_t i = 0, n = clvox_grid_voxels(&mask->grid); i < n; i++)
        count += mask->data[i] > 0;
    return fmin(
        1, (double)count * fabs(clv_matrix_determinant(CLV_MATRIX(mask->grid.to_ras))) /
               ((double)clvox_grid_voxels(grid) * fabs(clv_matrix_determinant(CLV_MATRIX(grid->to_ras)))));
}

void clv_register_describe(clv_registration *run, const clvox_grid *fixed, const clvox_grid *moving)
{
    const clvox_register_images *images = &run->problem->images;
    const bool linear = images->linear_masks;
    run->fixed_grid = run->domain = *fixed;
    run->moving_grid = *moving;
    run->masks.inside[0] = inside_of(linear ? images->linear_fixed_mask : images->fixed_mask, fixed);
    run->masks.inside[1] = inside_of(linear ? images->linear_moving_mask : images->moving_mask, moving);
    clv_terms_describe(run, images);
    run->n = (int)clvox_grid_voxels(&run->fixed_grid);
    run->m = (int)clvox_grid_voxels(&run->moving_grid);
}

int clv_register_list(clv_registration *run, clv_request *list)
{
    const clvox_register_images *images = &run->problem->images;
    const clv_model *m = clv_model_find(run->options->deform);
    size_t fixed = (size_t)run->n * sizeof(float), moving = (size_t)run->m * sizeof(float);
    size_t larger = fixed > moving ? fixed : moving;
    int count = clv_terms_requests(run, list);
    bool compares = false; /* the model, by a metric: then it asks for the scratch */
    list[count++] = clv_lease_request(&run->leases, &run->scratch_a, larger, "scratch for smoothing");
    list[count++] = clv_lease_request(&run->leases, &run->scratch_b, larger, "scratch for smoothing");
    for (int i = 0; i < 2; i++) {
        const size_t bytes = i ? moving : fixed;
        if (i ? images->moving_mask : images->fixed_mask)
            list[count++] = (clv_request){&run->masks.of[i], bytes, i ? "moving mask" : "fixed mask"};
        if (images->linear_masks && (i ? images->linear_moving_mask : images->linear_fixed_mask))
            list[count++] = (clv_request){&run->masks.linear[i], bytes, "linear mask"};
        if (images->level_masks)
            list[count++] = (clv_request){&run->masks.own[i], bytes, "mask of a level"};
    }
    if (images->fixed_mask || images->level_masks)
        list[count++] = (clv_request){&run->masks.level, fixed, "a level of the fixed mask"};
    list[count++] = (clv_request){&run->partial, CLV_REGISTER_PARTIALS * sizeof(float), "partial sums"};
    list[count++] = (clv_request){&run->state, CLV_STATE_SLOTS * sizeof(float), "state"};
    if (m) {
        int first = count, fields = 0;
        bool given = false;
        count += m->requests(run, list + count);
        for (int i = first; i < count; i++) {
            given = given || list[i].slot == &run->inverse;
            compares = compares || list[i].slot == &run->metric_scratch;
            fields += list[i].slot != &run->u && list[i].slot != &run->inverse && list[i].bytes >= 3 * fixed;
        }
        for (int i = 0; fields < clv_register_finish_fields(run->options, given); i++, fields++)
            list[count++] =
                clv_lease_request(&run->leases, &run->spare[i], 3 * fixed, "scratch for the inverse");
    }
    size_t scratch = clv_register_measure_floats(run->options, &run->fixed_grid) * sizeof(float);
    if (scratch > 0 && !compares)
        list[count++] =
            clv_lease_request(&run->leases, &run->metric_scratch, scratch, "scratch of the metric");
    return count;
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* All that is held at once, and the largest piece of it, of a run that begins
 * with the moving image, or not. ctx: NULL: on any device. */
static size_t predict_from(clvox_context *ctx, const clvox_register_images *given,
                           const clvox_register_options *asked, bool moving_first, size_t *largest)
{
    clv_problem p = {.images = *given, .options = *asked};
    clvox_register_options work;
    clvox_grid fixed, moving;
    clv_problem_order(&p, moving_first);
    clv_registration run = {.ctx = ctx, .problem = &p, .options = &work, .order = p.order};
    clv_request list[CLV_REGISTER_REQUESTS];
    bool coarse = clv_register_work(&p.images, &p.options, &fixed, &moving, &work);
    clv_register_describe(&run, &fixed, &moving);
    int count = clv_register_list(&run, list);
    const size_t small = sizeof(float) * clvox_grid_voxels(clv_map_grid(&run));
    size_t held = clv_pool_bytes(list, count) + clv_shapes_own_bytes(&run) + SMALL_BYTES;
    /* Operations take histograms and tables for themselves while the pool is held. */
    held += clv_symmetric_linear_bytes(&run);
    if (given->initial_warp)
        held += 3 * sizeof(float) * clvox_grid_voxels(&given->initial_warp->grid);
    *largest = 0;
    for (int i = 0; i < count; i++)
        *largest = most(*largest, list[i].bytes);
    if (coarse) {
        size_t n = sizeof(float) * clvox_grid_voxels(&clv_register_first(given, false)->grid);
        size_t m = sizeof(float) * clvox_grid_voxels(&clv_register_first(given, true)->grid);
        /* Making the images coarser, and bringing the result to the full grid. */
        held = most(held, 3 * most(n, m) + sizeof(float) * most((size_t)run.n, (size_t)run.m) + SMALL_BYTES);
        size_t slab = sizeof(float) * clv_register_slab(&clv_register_first(given, false)->grid);
        size_t weights = given->fixed_mask || slab < n ? slab : 0;
        held = most(held, 3 * slab + most(3 * small, slab + most(weights, m)) + SMALL_BYTES);
        *largest = most(*largest, most(3 * slab, most(n, m)));
    }
    return held;
}

/* If contents decide which image comes first, either may. */
static size_t predict(clvox_context *ctx, const clvox_register_images *images,
                      const clvox_register_options *options, size_t *largest)
{
    int order = clv_symmetric_order(images, false);
    size_t other, held = predict_from(ctx, images, options, order > 0, largest);
    if (order == 0) {
        held = most(held, predict_from(ctx, images, options, true, &other));
        *largest = most(*largest, other);
    }
    return held;
}

size_t clvox_register_bytes(const clvox_register_images *images, const clvox_register_options *options)
{
    CLV_GIVEN_OR(0, images);
    size_t largest, bytes = 0;
    if (options && clv_options_sized(options, sizeof *options) < 0)
        return 0;
    clv_problem asked = clv_problem_of(NULL, images, options), with_images, stored = {.own.count = 0};
    const clvox_register_images *made = &with_images.images;
    asked.planned = true;
    if (clv_problem_enter(&clv_step_shape_only, &asked, &with_images) >= 0 &&
        made->channels >= !made->fixed_posteriors && made->channels <= CLVOX_MAX_CHANNELS &&
        asked.options.levels <= CLVOX_MAX_LEVELS &&
        clv_problem_enter(&clv_step_ras_order, &with_images, &stored) >= 0)
        bytes = predict(NULL, &stored.images, &stored.options, &largest);
    clv_problem_free(&stored);
    clv_problem_free(&with_images);
    return bytes;
}

static bool fits(clvox_context *ctx, const clvox_register_images *images, const clvox_register_options *o,
                 size_t available, size_t piece)
{
    size_t largest, all = predict(ctx, images, o, &largest);
    return (!available || all <= available) && (!piece || largest <= piece);
}

/* "--shrink 8x4x2" of options whose levels are all coarser by a factor. */
static void coarser(const clvox_register_options *o, double factor, clvox_register_options *out, char *text,
                    size_t room)
{
    size_t used = (size_t)snprintf(text, room, "--shrink ");
    *out = *o;
    for (int i = 0; i < o->levels && used < room; i++) {
        out->shrink[i] = o->shrink[i] * factor;
        used += (size_t)snprintf(text + used, room - used, "%s%g", i ? "x" : "", out->shrink[i]);
    }
}

/* The largest images of these shapes that fit, as the fixed one's size; false where none do. */
static bool resampled(clvox_context *ctx, const clvox_register_images *images,
                      const clvox_register_options *o, size_t available, size_t piece, int size[3])
{
    enum { STEPS = 200 };
    for (int step = 1; step <= STEPS; step++) {
        clvox_register_images less = *images;
        clvox_volume small[2] = {{.frames = 1}, {.frames = 1}};
        for (int side = 0; side < 2; side++) {
            const clvox_grid *grid = &clv_register_first(images, side == 1)->grid;
            const double factor = pow(1.02, step);
            clv_pyramid_grid(grid, (double[3]){factor, factor, factor}, &small[side].grid);
        }
        for (int i = 0; i < images->channels; i++) {
            less.fixed[i] = &small[0];
            less.moving[i] = &small[1];
        }
        if (images->channels == 0) {
            small[0].frames = small[1].frames = images->fixed_posteriors->frames;
            less.fixed_posteriors = &small[0];
            less.moving_posteriors = &small[1];
        }
        memcpy(size, small[0].grid.size, sizeof small[0].grid.size);
        if (fits(ctx, &less, o, available, piece))
            return true;
    }
    return false;
}

static size_t available_of(const clvox_device_limits *l)
{
    return l->free_bytes && l->free_bytes < l->global_bytes ? l->free_bytes : l->global_bytes;
}

/* If only the room of AUTO's particle meshes does not fit, *o takes all pairs, and true is returned. */
static bool leaves_out_meshes(clvox_context *ctx, const clvox_register_images *images,
                              clvox_register_options *o)
{
    const clvox_device_limits *l = clvox_context_limits(ctx);
    clvox_register_options less = *o;
    less.currents = CLVOX_CURRENTS_EXACT;
    if (images->shapes == 0 || o->currents != CLVOX_CURRENTS_AUTO ||
        fits(ctx, images, o, available_of(l), l->max_allocation) ||
        !fits(ctx, images, &less, available_of(l), l->max_allocation))
        return false;
    *o = less;
    return true;
}

int clv_register_refuse(clvox_context *ctx, const clvox_register_images *images,
                        const clvox_register_options *asked)
{
    const clvox_device_limits *l = clvox_context_limits(ctx);
    clvox_register_options least = *asked, *o = &least;
    if (o->currents == CLVOX_CURRENTS_AUTO) /* as leaves_out_meshes has it */
        o->currents = CLVOX_CURRENTS_EXACT;
    size_t piece = l->max_allocation, largest, available = available_of(l);
    if (fits(ctx, images, asked, available, piece))
        return CLVOX_OK;
    char what[256], advice[160] = "";
    size_t all = predict(ctx, images, o, &largest);
    if (available && all > available)
        snprintf(what, sizeof what, "%.0f MiB of device memory are needed and %s has %.0f MiB",
                 (double)all / 1048576, l->name, (double)available / 1048576);
    else
        snprintf(what, sizeof what, "%.0f MiB are needed in one piece and %s gives at most %.0f MiB in one",
                 (double)largest / 1048576, l->name, (double)piece / 1048576);
    const clv_model *model = clv_model_find(o->deform);
    const bool flow = model && clv_model_takes(model, "timesteps");
    if (images->shapes > 0 && o->currents == CLVOX_CURRENTS_MESH) {
        clvox_register_options less = *o;
        less.currents = CLVOX_CURRENTS_EXACT;
        if (fits(ctx, images, &less, available, piece))
            snprintf(advice, sizeof advice, "--currents auto or exact");
    }
    if (o->mind_weight > 0 && !*advice) {
        clvox_register_options less = *o;
        less.mind_weight = 0;
        if (fits(ctx, images, &less, available, piece))
            snprintf(advice, sizeof advice, "--mind-weight 0");
    }
    for (int steps = o->timesteps - 2; flow && steps >= 2 && !*advice; steps -= 2) {
        clvox_register_options less = *o;
        less.timesteps = steps;
        if (fits(ctx, images, &less, available, piece))
            snprintf(advice, sizeof advice, "--timesteps %d", steps);
    }
    for (double factor = 2; o->deform != CLVOX_DEFORM_NONE && factor <= 4 && !*advice; factor *= 2) {
        clvox_register_options less;
        coarser(o, factor, &less, advice, sizeof advice);
        if (!fits(ctx, images, &less, available, piece))
            *advice = 0;
    }
    if (!*advice) {
        clvox_register_options alone = *o;
        int size[3];
        alone.deform = CLVOX_DEFORM_NONE;
        const bool linear =
            !images->grid && o->deform != CLVOX_DEFORM_NONE && fits(ctx, images, &alone, available, piece);
        const char *first = linear ? "the linear part alone (--deform none)" : "";
        if (resampled(ctx, images, o, available, piece, size))
            snprintf(advice, sizeof advice, "%s%s%s of about %d x %d x %d voxels", first,
                     linear ? " or " : "",
                     images->grid ? "a larger --spacing, for a grid" : "images resampled to a grid", size[0],
                     size[1], size[2]);
        else if (linear)
            snprintf(advice, sizeof advice, "%s", first);
        else
            return clvox_fail(CLVOX_ERROR_MEMORY, "%s, and no coarser grid would fit: take another device",
                              what);
    }
    return clvox_fail(CLVOX_ERROR_MEMORY, "%s; %s would fit", what, advice);
}

/* ---- the step ------------------------------------------------------------ */

/* Whether these options compare by LNCC, but by MIND where contrasts differ. */
static bool chooses(const clvox_register_images *images, const clvox_register_options *options)
{
    const clv_model *model = clv_model_find(options->deform);
    return options->by_contrast && model && model->by_contrast && images->channels == 1 &&
           options->linear != CLVOX_LINEAR_NONE && options->metric == CLVOX_METRIC_LNCC && !options->besides;
}

/* Bytes that a registration may hold, also where contrasts turn out to differ: whether MIND has room is not
 * to depend on what else the device does. */
static size_t most_bytes(const clvox_register_images *images, const clvox_register_options *options)
{
    const size_t planned = clvox_register_bytes(images, options);
    if (!chooses(images, options))
        return planned;
    clvox_register_options by_mind = *options;
    by_mind.metric = CLVOX_METRIC_MIND;
    const size_t other = clvox_register_bytes(images, &by_mind);
    return (other > planned ? other : planned) +
           clv_contrast_bytes(&images->fixed[0]->grid, &images->moving[0]->grid);
}

static int enter(clv_problem *p)
{
    const double waits = clv_seconds();
    p->bytes = most_bytes(&p->images, &p->options);
    clv_gate_enter(clv_context_gate(p->ctx), p->bytes);
    p->since += clv_seconds() - waits;
    p->held = clv_peak_start(p->ctx);
    p->no_room = leaves_out_meshes(p->ctx, &p->images, &p->options);
    return clv_register_refuse(p->ctx, &p->images, &p->options);
}

static int leave(const clv_problem *p, clvox_register_result *result)
{
    result->device_bytes = clv_peak_bytes(p->ctx) - p->held;
    return CLVOX_OK;
}

static void release(const clv_problem *p)
{
    clv_gate_leave(clv_context_gate(p->ctx), p->bytes);
}

const clv_step clv_step_memory = {.name = "memory", .enter = enter, .leave = leave, .release = release};
