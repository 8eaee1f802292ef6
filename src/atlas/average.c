/* SPDX-License-Identifier: Apache-2.0 */
/* The template as the average of what is seen through the maps. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "atlas/atlas.h"
#include "base/clock.h"
#include "base/matrix.h"
#include "base/spares.h"
#include "clvox/threads.h"
#include "clvox/filter.h"
#include "io/volume.h"
#include "transform/apply.h"

typedef struct pair {
    float value;
    double weight;
} pair;

static int by_pair(const void *a, const void *b)
{
    float x = ((const pair *)a)->value, y = ((const pair *)b)->value;
    return (x > y) - (x < y);
}

/* Of values that ascend, without `share` of the weight at either end. */
static double trimmed(const pair *p, int count, double share)
{
    double all = 0, sum = 0, kept = 0, before = 0;
    for (int i = 0; i < count; i++)
        all += p[i].weight;
    for (int i = 0; i < count; i++) {
        double part = fmin(before + p[i].weight, (1 - share) * all) - fmax(before, share * all);
        before += p[i].weight;
        if (part > 0)
            sum += part * (double)p[i].value, kept += part;
    }
    return sum / kept;
}

static double median(const pair *p, int count)
{
    double all = 0, before = 0;
    for (int i = 0; i < count; i++)
        all += p[i].weight;
    for (int i = 0; i < count; i++) {
        before += p[i].weight;
        if (before == all / 2 && i + 1 < count)
            return ((double)p[i].value + (double)p[i + 1].value) / 2;
        if (before > all / 2)
            return p[i].value;
    }
    return p[count - 1].value;
}

static float middle_of(const clv_atlas_run *a, clvox_volume *const *warped, size_t voxel, pair *p)
{
    int count = 0;
    for (int i = 0; i < a->count; i++) {
        float value = warped[i] ? warped[i]->data[voxel] : NAN;
        if (isfinite(value))
            p[count++] = (pair){value, a->s[i].weight};
    }
    qsort(p, (size_t)count, sizeof *p, by_pair);
    return !count                                   ? 0
           : a->o->average == CLVOX_AVERAGE_TRIMMED ? (float)trimmed(p, count, .1)
                                                    : (float)median(p, count);
}

/* Squared correlation with the template where both are. */
static double likeness(const clvox_volume *image, const clvox_volume *average)
{
    double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&average->grid); i++) {
        double p = image->data[i], q = average->data[i];
        if (isfinite(p))
            n++, x += p, y += q, xx += p * p, yy += q * q, xy += p * q;
    }
    double c = xy - x * y / n, v = (xx - x * x / n) * (yy - y * y / n);
    return v > 0 ? c * c / v : NAN;
}

int clv_atlas_pull(const clv_atlas_run *a, int device, const clv_atlas_member *s, const clvox_volume *volume,
                   clvox_interpolation interpolation, clvox_volume **out)
{
    int status = CLVOX_OK;
    clv_buffer *room = NULL, *field = NULL;
    const clvox_apply_options options = {.interpolation = interpolation,
                                         .outside = interpolation == CLVOX_INTERPOLATE_LABEL ? 0 : NAN};
    const clv_request request = {&room, 3 * sizeof(float) * clvox_grid_voxels(&a->grid), "map of a subject"};
    if (s->fields.there && !clv_atlas_fields_resident(s))
        CLV_TRY(clv_pool_take(a->ctx[device], &request, 1));
    if (s->fields.there)
        CLV_TRY(clv_atlas_fields_on(a, s, device, 0, room, &field));
    status =
        clv_apply_field(a->ctx[device], volume, &a->grid, field, CLV_MATRIX(s->map.matrix), &options, out);
end:
    clv_pool_release(&request, 1);
    return status;
}

typedef struct averaging {
    clv_atlas_run *a;
    clvox_volume **warped; /* NULL: it takes no part, or another member of the team has it */
    pair *room;            /* count of them for each worker */
    int64_t *sum, *weight; /* of the mean, a voxel each */
    int from;              /* the first one of the group that is summed */
    int channel;
} averaging;

/* Weights are at most 1. */
static const double WEIGHT_SCALE = 0x1p45;

static int pull_one(clv_atlas_run *a, clv_atlas_member *s, int device, void *user)
{
    const averaging *w = user;
    clvox_volume **to = &w->warped[s - a->s];
    const clvox_volume *image = w->channel ? s->further[w->channel - 1] : s->image;
    const int status = clv_atlas_pull(a, device, s, image, CLVOX_INTERPOLATE_CUBIC, to);
    return status < 0 ? status : clv_atlas_keep(a, *to);
}

/* Adds weight value as clv_atlas_fixed takes it, and the weight, where the value is finite; without a
 * branch or a call, so that compilers make vectors of it: a double that is added to 1.5 2^52 has its
 * nearest integer in its last bits. */
static void add_values(const float *value, size_t count, double weight, double scale, int64_t *sums,
                       int64_t *weights)
{
    static const double most = 0x1p46, whole = 0x1.8p52;
    const int64_t one = clv_atlas_fixed(weight, WEIGHT_SCALE);
    for (size_t v = 0; v < count; v++) {
        const int64_t is_there = -(int64_t)(fabsf(value[v]) <= FLT_MAX);
        double scaled = weight * (double)value[v] * scale;
        int64_t bits, base;
        scaled = scaled < most ? scaled : most; /* NaN, too */
        scaled = scaled > -most ? scaled : -most;
        scaled += whole;
        memcpy(&bits, &scaled, sizeof bits);
        memcpy(&base, &whole, sizeof base);
        sums[v] += (bits - base) & is_there;
        weights[v] += one & is_there;
    }
}

/* Subjects that are summed at once: where they lie on disk a group, whose memory is given back before the
 * next one's is read. */
static int together(const clv_atlas_run *a)
{
    return a->o->store ? CLV_ATLAS_TOGETHER : a->count;
}

static void divide(const averaging *w, size_t from, size_t count)
{
    for (size_t v = from; v < from + count; v++)
        w->a->next->data[v] =
            w->weight[v]
                ? (float)((double)w->sum[v] / w->a->scale[w->channel] / ((double)w->weight[v] / WEIGHT_SCALE))
                : 0;
}

/* While a slice of sums is in a cache: all of a group, and where it is the last one and there is no team,
 * the mean. */
static int sum_slice(void *user, size_t index, int worker)
{
    const averaging *w = user;
    const clv_atlas_run *a = w->a;
    const size_t slice = (size_t)a->grid.size[0] * (size_t)a->grid.size[1], from = index * slice;
    const int end = w->from + together(a);
    (void)worker;
    if (!w->from) {
        memset(w->sum + from, 0, slice * sizeof *w->sum);
        memset(w->weight + from, 0, slice * sizeof *w->weight);
    }
    for (int i = w->from; i < a->count && i < end; i++)
        if (w->warped[i])
            add_values(w->warped[i]->data + from, slice, a->s[i].weight, a->scale[w->channel], w->sum + from,
                       w->weight + from);
    if (end >= a->count && !a->o->team)
        divide(w, from, slice);
    return CLVOX_OK;
}

static int divide_slice(void *user, size_t index, int worker)
{
    const averaging *w = user;
    const size_t slice = (size_t)w->a->grid.size[0] * (size_t)w->a->grid.size[1];
    (void)worker;
    divide(w, index * slice, slice);
    return CLVOX_OK;
}

/* By sums of integers, which are the same in any order and for any team. */
static int take_mean(averaging *w)
{
    int status = CLVOX_OK;
    const clv_atlas_run *a = w->a;
    const size_t n = clvox_grid_voxels(&a->grid);
    const int group = together(a);
    for (w->from = 0; w->from < a->count; w->from += group) {
        for (int i = w->from + group; i < a->count && i < w->from + 2 * group; i++)
            clvox_store_expect(w->warped[i]);
        CLV_TRY(clvox_parallel((size_t)a->grid.size[2], sum_slice, w));
        for (int i = w->from; i < a->count && i < w->from + group; i++)
            clvox_store_rest(w->warped[i]);
    }
    if (!a->o->team)
        return CLVOX_OK;
    CLV_TRY(clv_atlas_total(a, w->sum, n));
    CLV_TRY(clv_atlas_total(a, w->weight, n));
    status = clvox_parallel((size_t)a->grid.size[2], divide_slice, w);
end:
    return status;
}

static int middle_slice(void *user, size_t index, int worker)
{
    const averaging *w = user;
    const size_t slice = (size_t)w->a->grid.size[0] * (size_t)w->a->grid.size[1];
    for (size_t v = index * slice; v < (index + 1) * slice; v++)
        w->a->next->data[v] = middle_of(w->a, w->warped, v, w->room + (size_t)worker * (size_t)w->a->count);
    return CLVOX_OK;
}

/* Trimmed mean and median want all values of a voxel in one place. */
static int take_middle(const averaging *w)
{
    int status = CLVOX_OK;
    const clv_atlas_run *a = w->a;
    for (int i = 0; i < a->count; i++)
        if (a->s[i].weight > 0) {
            CLV_TRY(clv_atlas_spread_volume(a, a->s[i].owner, 1, CLVOX_KIND_SCALAR, &w->warped[i]));
            clvox_store_rest(w->warped[i]);
        }
    status = clvox_parallel((size_t)a->grid.size[2], middle_slice, (void *)w);
end:
    return status;
}

static int compare_one(void *user, size_t index, int worker)
{
    const averaging *w = user;
    (void)worker;
    if (w->warped[index])
        w->a->s[index].map.likeness = likeness(w->warped[index], w->a->next);
    clvox_volume_destroy(&w->warped[index]);
    return CLVOX_OK;
}

/* Puts an unsharp mask over the new template. */
static int sharpen(clv_atlas_run *a)
{
    clvox_volume *sharp = NULL;
    const int status =
        clvox_filter_unsharp(a->ctx[0], a->next, (const double[3]){1, 1, 1}, true, a->o->unsharp, &sharp);
    if (status < 0)
        return status;
    clvox_volume_destroy(&a->next);
    a->next = sharp;
    return CLVOX_OK;
}

/* Of one channel; how like it the subjects are is told of the first one. */
static int average_channel(clv_atlas_run *a, int to_come, int channel)
{
    int status = CLVOX_OK;
    averaging w = {.a = a, .channel = channel};
    const size_t n = clvox_grid_voxels(&a->grid);
    clvox_volume **warped = w.warped = calloc((size_t)a->count, sizeof *warped);
    w.room = malloc((size_t)a->count * (size_t)clvox_threads() * sizeof *w.room);
    w.sum = clv_large(n * sizeof *w.sum);
    w.weight = clv_large(n * sizeof *w.weight);
    if (!warped || !w.room || !w.sum || !w.weight)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(clvox_team_agree(a->o->team, status));
    CLV_TRY(clv_atlas_each(a, &(clv_atlas_step){pull_one, &w, CLV_ATLAS_AVERAGING / a->o->channels,
                                                CLVOX_ATLAS_PULL, CLV_ATLAS_IMAGE | CLV_ATLAS_WARPS, false}));
    double mark = clv_seconds();
    CLV_TRY(clvox_team_agree(a->o->team, clv_volume_room(&a->grid, 1, CLVOX_KIND_SCALAR, &a->next)));
    CLV_TRY(a->o->average == CLVOX_AVERAGE_MEAN ? take_mean(&w) : take_middle(&w));
    CLV_TRY(clvox_team_agree(a->o->team, a->o->unsharp > 0 ? sharpen(a) : CLVOX_OK));
    CLV_TRY(clv_atlas_spread(a, 0, a->next->data, n * sizeof(float)));
    clv_atlas_timed(a, CLVOX_ATLAS_MEAN_IMAGE, mark);
    mark = clv_seconds();
    if (to_come <= 0 && !channel) {
        CLV_TRY(clvox_parallel((size_t)a->count, compare_one, &w));
        clv_atlas_timed(a, CLVOX_ATLAS_LIKENESS, mark);
    }
    status = clv_atlas_share(a);
end:
    for (int i = 0; warped && i < a->count; i++)
        clvox_volume_destroy(&warped[i]);
    free(warped);
    free(w.room);
    clv_large_free(w.sum);
    clv_large_free(w.weight);
    return status;
}

int clv_atlas_average_further(clv_atlas_run *a, int channel)
{
    const int status = average_channel(a, 0, channel);
    if (status < 0)
        return status;
    clvox_volume_destroy(&a->further[channel - 1]);
    a->further[channel - 1] = a->next;
    a->next = NULL;
    return CLVOX_OK;
}

int clv_atlas_average(clv_atlas_run *a, int to_come)
{
    int status = CLVOX_OK;
    for (int c = a->o->channels - 1; c > 0; c--) /* the first one last: figures are of it */
        CLV_TRY(clv_atlas_average_further(a, c));
    status = average_channel(a, to_come, 0);
end:
    return status;
}

typedef struct figures {
    double power, apart, slope;
} figures;

typedef struct look {
    const clv_atlas_run *a;
    double spacing[3];
    figures *of_slice;
} look;

static int look_at_slice(void *user, size_t index, int worker)
{
    const look *w = user;
    const clv_atlas_run *a = w->a;
    const size_t nx = (size_t)a->grid.size[0], ny = (size_t)a->grid.size[1], stride[3] = {1, nx, nx * ny};
    const float *next = a->next->data, *average = a->average ? a->average->data : NULL;
    figures f = {0};
    (void)worker;
    for (size_t y = 0; y < ny; y++)
        for (size_t x = 0; x < nx; x++) {
            const size_t i = index * stride[2] + y * nx + x;
            const double value = next[i], before = average ? average[i] : 0;
            const bool inside[3] = {x + 1 < nx, y + 1 < ny, (int)index + 1 < a->grid.size[2]};
            f.power += value * value;
            f.apart += (value - before) * (value - before);
            for (int k = 0; k < 3; k++)
                if (inside[k]) {
                    const double d = ((double)next[i + stride[k]] - value) / w->spacing[k];
                    f.slope += d * d;
                }
        }
    w->of_slice[index] = f;
    return CLVOX_OK;
}

int clv_atlas_replace(clv_atlas_run *a, clvox_atlas_round *round)
{
    int status = CLVOX_OK;
    const size_t slices = (size_t)a->grid.size[2];
    look w = {.a = a, .of_slice = malloc(slices * sizeof *w.of_slice)};
    figures all = {0};
    if (!w.of_slice)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    clvox_grid_spacing(&a->grid, w.spacing);
    CLV_TRY(clvox_parallel(slices, look_at_slice, &w));
    for (size_t i = 0; i < slices; i++) {
        all.power += w.of_slice[i].power;
        all.apart += w.of_slice[i].apart;
        all.slope += w.of_slice[i].slope;
    }
    round->change = all.power > 0 && a->average ? sqrt(all.apart / all.power) : NAN;
    round->sharpness = all.power > 0 ? sqrt(all.slope / all.power) : 0;
    clvox_volume_destroy(&a->average);
    a->average = a->next;
    a->next = NULL;
end:
    free(w.of_slice);
    return status;
}
