/* SPDX-License-Identifier: Apache-2.0 */
/* Images, and tissues as images of roots, as a term of a deformation: over channels c and the metrics k that
 * each is compared by, a model raises
 *   sum_c weight_c sum_k factor_k S_ck / voxels_ck. */
#include <math.h>

#include "op/match/metric_force.h"
#include "op/image/resample.h"
#include "register/metric/metric.h"
#include "register/model.h"
#include "register/terms/terms.h"
#include "register/thresholds.h"

/* One metric by which a channel is compared. */
typedef struct comparison {
    const clv_metric_row *metric;
    int parameter;
    double factor; /* times its S is added; 1 of the options' metric */
} comparison;

/* Radius of the patches of MIND beside LNCC: by single voxels maps are as irregular as without it. */
enum { MIND_PATCH = 1 };

static void describe(clv_registration *run, const clvox_register_images *images)
{
    double sum = 0;
    run->channel_count = run->image_count = images->channels;
    for (int i = 0; i < images->channels; i++)
        sum += images->weight[i];
    for (int i = 0; i < images->channels; i++) {
        const clvox_register_options *o = run->options;
        const double weight = sum > 0 ? images->weight[i] / sum : 1. / images->channels;
        const int own = i <= o->channel_metrics ? i : 0;
        run->channels[i] = (clv_channel){.weight = weight,
                                         .share = weight,
                                         .metric = own ? o->channel_metric[own - 1] : o->metric,
                                         .own = own,
                                         .tissue = -1,
                                         .outside = NAN};
    }
}

static int count(const clv_registration *run)
{
    return run->channel_count;
}

static int requests(clv_registration *run, clv_request *list)
{
    const size_t fixed = (size_t)run->n * sizeof(float), moving = (size_t)run->m * sizeof(float);
    int n = 0;
    for (int i = 0; i < run->channel_count; i++) {
        clv_channel *c = &run->channels[i];
        list[n++] = (clv_request){&c->fixed, fixed, "fixed image"};
        list[n++] = (clv_request){&c->moving, moving, "moving image"};
        list[n++] = (clv_request){&c->level_fixed, fixed, "a level of the fixed image"};
        list[n++] = (clv_request){&c->level_moving, moving, "a level of the moving image"};
    }
    return n;
}

/* LNCC normalises by local variance, so that noise in flat tissue pulls as hard as an edge does; MIND beside
 * it pulls where edges are clear. */
static double mind_weight(const clv_registration *run, const clv_channel *channel)
{
    const clv_model *model = clv_model_find(run->options->deform);
    if (channel->metric != CLVOX_METRIC_LNCC || !model || !clv_model_takes(model, "mind-weight"))
        return 0;
    return clv_contrast_made(run) ? SYNTHESIS_MIND : run->options->mind_weight;
}

/* Those of a channel at present, at least one; returns their number. */
static int comparisons(const clv_registration *run, const clv_channel *channel,
                       comparison list[CLV_MAX_COMPARISONS])
{
    const clvox_register_options *o = run->options;
    const clv_metric_row *first = clv_metric_find(channel->metric);
    const int own = channel->own;
    const double factor = own ? first->strength / clv_metric_find(o->metric)->strength : 1,
                 mind = factor * mind_weight(run, channel);
    int n = 0;
    list[n++] = (comparison){
        first, own ? o->channel_parameter[own - 1] : clv_metric_parameter(first, o, false), factor};
    if (mind > 0)
        list[n++] = (comparison){clv_metric_find(CLVOX_METRIC_MIND),
                                 clv_contrast_made(run) ? o->patch : MIND_PATCH, mind};
    for (int i = 0; i < o->besides && channel->tissue < 0 && !own; i++) {
        const clv_metric_row *metric = clv_metric_find(o->beside[i]);
        if (o->beside_weight[i] > 0)
            list[n++] = (comparison){metric, o->beside_parameter[i],
                                     o->beside_weight[i] * metric->strength / first->strength};
    }
    return n;
}

static clv_buffer *image_of(const clv_channel *channel, bool fixed)
{
    return fixed ? channel->level_fixed : channel->level_moving;
}

/* Room for one channel: the images under the displacements, and derivatives by them. */
typedef struct workspace {
    clv_buffer *warped[2], *derivative[2], *scratch;
} workspace;

/* The forces of what the derivatives hold, factor times; *keep: of the sides' forces before. */
static int pull_by(clv_registration *run, const clv_pull *pull, const clv_channel *channel,
                   const workspace *b, double factor, float *keep)
{
    int status = CLVOX_OK;
    const clv_pyramid_level *l = pull->level;
    for (int i = 0; i < pull->count && pull->forces; i++) {
        const int *from = i ? l->fixed.size : l->moving.size;
        const clv_metric_force_args args = {
            .moving = clv_image_of(image_of(channel, i), from, NULL, 1),
            .map = &pull->side[i].map,
            .u = pull->side[i].u,
            .derivative = b->derivative[i],
            .weight = (float)(channel->weight * factor),
            .keep = *keep,
            .axes = pull->axes,
            .within = pull->within,
            .force = clv_image_of(pull->side[i].force, l->fixed.size, NULL, 3),
        };
        CLV_TRY(clv_metric_force(run->ctx, &args));
    }
    *keep = 1;
end:
    return status;
}

/* Metrics that can, add to the derivatives of the one before, so that one force serves both. */
static int compare(clv_registration *run, const clv_pull *pull, const clv_channel *channel,
                   const workspace *b, int *slot, float *keep)
{
    int status = CLVOX_OK;
    const clv_pyramid_level *l = pull->level;
    comparison by[CLV_MAX_COMPARISONS];
    const int all = comparisons(run, channel, by);
    double factor = 1;
    for (int i = 0; i < pull->count; i++)
        CLV_TRY(clv_warp_within(run->ctx,
                                CLV_VOLUME(image_of(channel, i), i ? l->fixed.size : l->moving.size),
                                &pull->side[i].map, pull->side[i].u, CLV_LINEAR, channel->outside,
                                pull->within, CLV_VOLUME(b->warped[i], l->fixed.size)));
    for (int k = 0; k < all; k++, *slot += 2) {
        const clv_metric_args args = {
            .fixed =
                clv_image_of(pull->count > 1 ? b->warped[1] : channel->level_fixed, l->fixed.size, NULL, 1),
            .moving = b->warped[0],
            .parameter = by[k].parameter,
            .epsilon = CLV_DEFORM_EPSILON,
            .local = run->options->local_gradient != 0,
            .within = pull->within,
            .derivative_moving = b->derivative[0],
            .derivative_fixed = b->derivative[1],
            .scratch = b->scratch,
            .partial = run->partial,
            .out = pull->numbers,
            .slot = *slot,
        };
        if (k > 0 && by[k].metric->derivative_add) {
            CLV_TRY(by[k].metric->derivative_add(run->ctx, &args, (float)(by[k].factor / factor)));
            continue;
        }
        if (k > 0)
            CLV_TRY(pull_by(run, pull, channel, b, factor, keep));
        factor = by[k].factor;
        CLV_TRY(by[k].metric->derivative(run->ctx, &args));
    }
    CLV_TRY(pull_by(run, pull, channel, b, factor, keep));
end:
    return status;
}

static int force(clv_registration *run, const clv_pull *pull)
{
    int status = CLVOX_OK, slot = pull->slot;
    const size_t n = (size_t)pull->level->n * sizeof(float);
    const bool both = pull->count > 1;
    float keep = pull->keep;
    workspace b;
    const clv_request room[] = {
        {&b.scratch, clv_register_scratch_floats(run, both) * sizeof(float), "scratch of the metric"},
        {&b.warped[0], n, "moving image in the middle"},
        {&b.derivative[0], n, "derivative of the metric"},
        {&b.warped[1], n, "fixed image in the middle"},
        {&b.derivative[1], n, "derivative of the metric, fixed image"},
    };
    const int wanted = both ? 5 : 3;
    b.derivative[1] = NULL;
    CLV_TRY(clv_lease_take(&run->leases, room, wanted));
    for (int c = 0; c < run->channel_count; c++)
        CLV_TRY(compare(run, pull, &run->channels[c], &b, &slot, &keep));
    CLV_TRY(clv_lease_give(&run->leases, room, wanted));
end:
    return status;
}

static int value(clv_registration *run, const float *numbers, clv_value *v)
{
    for (int c = 0; c < run->channel_count; c++) {
        comparison by[CLV_MAX_COMPARISONS];
        const int all = comparisons(run, &run->channels[c], by);
        for (int k = 0; k < all; k++, numbers += 2) {
            const double weight = run->channels[c].weight * by[k].factor, s = (double)numbers[0];
            v->sum += weight * s;
            if (numbers[1] > 0)
                v->mean += weight * s / (double)numbers[1];
        }
    }
    return CLVOX_OK;
}

size_t clv_register_scratch_floats(const clv_registration *run, bool both)
{
    size_t most = 0;
    for (int i = 0; i < run->channel_count; i++) {
        comparison by[CLV_MAX_COMPARISONS];
        const int all = comparisons(run, &run->channels[i], by);
        for (int k = 0; k < all; k++) {
            const size_t floats = by[k].metric->scratch(run->fixed_grid.size, by[k].parameter,
                                                        run->options->local_gradient != 0, both);
            most = floats > most ? floats : most;
        }
    }
    return most;
}

size_t clv_register_shared_floats(const clv_registration *run, bool both)
{
    const size_t maps = clvox_grid_voxels(clv_map_grid(run)), n = (size_t)run->n,
                 field = 3 * (maps > n ? maps : n),
                 metric = clv_register_scratch_floats(run, both),
                 report = clv_register_measure_floats(run->options, clv_map_grid(run)),
                 compared = metric > report ? metric : report;
    return compared > field ? compared : field;
}

const clv_term_row clv_term_images = {
    .describe = describe,
    .count = count,
    .requests = requests,
    .place = clv_pyramid_images,
    .force = force,
    .value = value,
};
