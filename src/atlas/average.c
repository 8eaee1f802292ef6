/* SPDX-License-Identifier: Apache-2.0 */
/* The template as the average of what is seen through the maps. */
#include "atlas/average.h"

#include <math.h>
#include <stdlib.h>

#include "atlas/sums.h"
#include "base/clock.h"
#include "base/matrix.h"
#include "clvox/threads.h"
#include "clvox/filter.h"
#include "io/volume/volume.h"
#include "op/field/warp.h"
#include "op/image/resample.h"
#include "op/image/weighted_sum.h"
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

/* Trimmed mean of ascending values, without `share` of the weight at either end. */
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

int clv_atlas_pull(clv_atlas_run *a, int device, const clv_atlas_member *s, const clvox_volume *volume,
                   clvox_interpolation interpolation, clvox_volume **out)
{
    int status = CLVOX_OK;
    clv_loan loan;
    const clvox_apply_options options = {.size = sizeof options, .interpolation = interpolation,
                                         .outside = interpolation == CLVOX_INTERPOLATE_LABEL ? 0 : NAN};
    CLV_TRY(clv_maps_lend(a->maps, (int)(s - a->s), device, 1, &loan));
    status = clv_apply_field(a->ctx[device], volume, &a->grid, loan.field[0], CLV_MATRIX(s->map.matrix),
                             &options, out);
end:
    clv_maps_return(&loan);
    return status;
}

typedef struct averaging {
    clv_atlas_run *a;
    int channel;
    clvox_volume **warped; /* of a median or to compare; NULL: it takes no part, or is another member's */
    bool compares;       /* how like the average they are */
    pair *room;          /* of a median: count of them for each worker */
    clv_atlas_sums sums; /* of the mean: a pair for each voxel */
    clv_weighted_units units;
    int from; /* the first one of the group that is compared */
} averaging;

static int pull_one(clv_atlas_run *a, clv_atlas_member *s, int device, void *user)
{
    const averaging *w = user;
    clvox_volume **to = &w->warped[s - a->s];
    const clvox_volume *image = w->channel ? s->further[w->channel - 1] : s->image;
    const int status = clv_atlas_pull(a, device, s, image, CLVOX_INTERPOLATE_CUBIC, to);
    return status < 0 ? status : clv_atlas_keep(a, *to);
}

/* Subjects that are summed at once: where they lie on disk a group, whose memory is given back before the
 * next one's is read. */
static int together(const clv_atlas_run *a)
{
    enum { TOGETHER = 8 };
    return a->o->store ? TOGETHER : a->count;
}

/* On the device, without the image's way to the host and back unless it is wanted there: of a subject's
 * image through its whole map, sampled once, to the sum. */
static int sum_one(clv_atlas_run *a, clv_atlas_member *s, int device, void *user)
{
    int status = CLVOX_OK;
    averaging *w = user;
    clvox_context *ctx = a->ctx[device];
    const clvox_volume *image = w->channel ? s->further[w->channel - 1] : s->image;
    clvox_volume **to = &w->warped[s - a->s];
    const size_t from = clvox_grid_voxels(&image->grid) * sizeof(float),
                 bytes = clvox_grid_voxels(&a->grid) * sizeof(float);
    clv_buffer *in = NULL, *out = NULL, *sum;
    clv_loan loan = {.rooms = 0};
    clv_map map;
    const clv_request images[2] = {{&in, from, "image"}, {&out, bytes, "resampled image"}};
    CLV_TRY(clv_atlas_sums_make(&w->sums, device));
    CLV_TRY(clv_maps_take(a->maps, device, images, 2));
    CLV_TRY(clv_maps_lend(a->maps, (int)(s - a->s), device, 1, &loan));
    CLV_TRY(clv_atlas_sums_on(&w->sums, device, &sum));
    clv_map_between(&a->grid, &image->grid, CLV_MATRIX(s->map.matrix), 1, &map);
    CLV_TRY(clv_buffer_send(ctx, in, image->data, from));
    CLV_TRY(clv_warp(ctx, CLV_VOLUME(in, image->grid.size), &map, loan.field[0], CLV_CUBIC, NAN,
                     CLV_VOLUME(out, a->grid.size)));
    CLV_TRY(clv_weighted_sum(ctx, CLV_VOLUME(out, a->grid.size), (float)s->weight, &w->units, sum));
    if (w->compares) {
        CLV_TRY(clv_volume_room(&a->grid, 1, CLVOX_KIND_SCALAR, to));
        CLV_TRY(clv_buffer_fetch(ctx, out, (*to)->data, bytes));
        CLV_TRY(clv_atlas_keep(a, *to));
    }
    status = clv_finish(ctx); /* the time is this subject's */
end:
    clv_pool_release(images, 2);
    clv_maps_return(&loan);
    return status;
}

static void divide(void *user, const int32_t *sum, size_t from, size_t count)
{
    const averaging *w = user;
    for (size_t k = 0; k < count; k += 2)
        w->a->next->data[(from + k) / 2] = clv_weighted_mean(sum + k, &w->units);
}

static int middle_slice(void *user, size_t index, int worker)
{
    const averaging *w = user;
    const size_t slice = (size_t)w->a->grid.size[0] * (size_t)w->a->grid.size[1];
    for (size_t v = index * slice; v < (index + 1) * slice; v++)
        w->a->next->data[v] = middle_of(w->a, w->warped, v, w->room + (size_t)worker * (size_t)w->a->count);
    return CLVOX_OK;
}

/* Moments of a subject's values x and the template's y where both are defined: of a slice, and of all slices. */
typedef struct moments {
    double n, x, y, xx, yy, xy;
} moments;

typedef struct comparison {
    const averaging *w;
    moments *of_slice; /* count of subjects for each */
} comparison;

static moments moments_of(const float *x, const float *y, size_t count)
{
    moments m = {0};
    for (size_t i = 0; i < count; i++) {
        const double p = x[i], q = y[i];
        if (isfinite(p))
            m.n++, m.x += p, m.y += q, m.xx += p * p, m.yy += q * q, m.xy += p * q;
    }
    return m;
}

static int compare_slice(void *user, size_t index, int worker)
{
    const comparison *c = user;
    const clv_atlas_run *a = c->w->a;
    const size_t slice = (size_t)a->grid.size[0] * (size_t)a->grid.size[1], from = index * slice;
    (void)worker;
    for (int i = c->w->from; i < a->count && i < c->w->from + together(a); i++)
        if (c->w->warped[i])
            c->of_slice[index * (size_t)a->count + (size_t)i] =
                moments_of(c->w->warped[i]->data + from, a->next->data + from, slice);
    return CLVOX_OK;
}

/* Squared correlation with the template where both are. */
static double likeness(const comparison *c, int subject)
{
    const clv_atlas_run *a = c->w->a;
    moments m = {0};
    for (size_t z = 0; z < (size_t)a->grid.size[2]; z++) {
        const moments *s = &c->of_slice[z * (size_t)a->count + (size_t)subject];
        m.n += s->n, m.x += s->x, m.y += s->y, m.xx += s->xx, m.yy += s->yy, m.xy += s->xy;
    }
    const double xy = m.xy - m.x * m.y / m.n, v = (m.xx - m.x * m.x / m.n) * (m.yy - m.y * m.y / m.n);
    return v > 0 ? xy * xy / v : NAN;
}

/* How like the template the subjects are, of a group a slice at a time; their images are gone then. */
static int compare(averaging *w)
{
    int status = CLVOX_OK;
    const clv_atlas_run *a = w->a;
    const size_t slices = (size_t)a->grid.size[2];
    const int group = together(a);
    comparison c = {.w = w, .of_slice = malloc(slices * (size_t)a->count * sizeof *c.of_slice)};
    if (!c.of_slice)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (w->from = 0; w->from < a->count; w->from += group) {
        CLV_TRY(clvox_parallel(slices, compare_slice, &c));
        for (int i = w->from; i < a->count && i < w->from + group; i++)
            if (w->warped[i]) {
                a->s[i].map.likeness = likeness(&c, i);
                clvox_volume_destroy(&w->warped[i]);
            }
    }
end:
    free(c.of_slice);
    return status;
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

static int take_mean(averaging *w)
{
    int status = CLVOX_OK;
    clv_atlas_run *a = w->a;
    w->units = clv_weighted_units_of(a->largest[w->channel], clv_atlas_taking_part(a));
    CLV_TRY(clv_atlas_agree(a, clv_atlas_sums_open(a, 2 * clvox_grid_voxels(&a->grid), &w->sums)));
    CLV_TRY(clv_atlas_each(a, &(clv_atlas_step){sum_one, w, CLV_ATLAS_AVERAGING / a->o->channels,
                                                CLVOX_ATLAS_PULL, CLV_ATLAS_IMAGE | CLV_ATLAS_WARPS, false}));
    const double mark = clv_seconds();
    CLV_TRY(clv_atlas_agree(a, clv_volume_room(&a->grid, 1, CLVOX_KIND_SCALAR, &a->next)));
    CLV_TRY(clv_atlas_sums_take(&w->sums, divide, w));
    clv_atlas_timed(a, CLVOX_ATLAS_MEAN_IMAGE, mark);
end:
    clv_atlas_sums_close(&w->sums);
    return status;
}

/* Trimmed mean and median want all values of a voxel in one place. */
static int take_middle(averaging *w)
{
    int status = CLVOX_OK;
    clv_atlas_run *a = w->a;
    w->room = malloc((size_t)a->count * (size_t)clvox_threads() * sizeof *w->room);
    CLV_TRY(clv_atlas_have(a, w->room != NULL));
    CLV_TRY(clv_atlas_each(a, &(clv_atlas_step){pull_one, w, CLV_ATLAS_AVERAGING / a->o->channels,
                                                CLVOX_ATLAS_PULL, CLV_ATLAS_IMAGE | CLV_ATLAS_WARPS, false}));
    const double mark = clv_seconds();
    CLV_TRY(clv_atlas_agree(a, clv_volume_room(&a->grid, 1, CLVOX_KIND_SCALAR, &a->next)));
    for (int i = 0; i < a->count; i++)
        if (a->s[i].weight > 0) {
            CLV_TRY(clv_atlas_spread_volume(a, a->s[i].owner, 1, CLVOX_KIND_SCALAR, &w->warped[i]));
            clvox_store_rest(w->warped[i]);
        }
    CLV_TRY(clvox_parallel((size_t)a->grid.size[2], middle_slice, w));
    clv_atlas_timed(a, CLVOX_ATLAS_MEAN_IMAGE, mark);
end:
    free(w->room);
    return status;
}

/* Averages one channel; the subjects' similarity is that of the first one. */
static int average_channel(clv_atlas_run *a, int to_come, int channel)
{
    int status = CLVOX_OK;
    averaging w = {.a = a, .channel = channel, .compares = to_come <= 0 && !channel};
    w.warped = calloc((size_t)a->count, sizeof(clvox_volume *));
    CLV_TRY(clv_atlas_have(a, w.warped != NULL));
    CLV_TRY(a->o->average == CLVOX_AVERAGE_MEAN ? take_mean(&w) : take_middle(&w));
    CLV_TRY(clv_atlas_agree(a, a->o->unsharp > 0 ? sharpen(a) : CLVOX_OK));
    CLV_TRY(clv_atlas_spread(a, 0, a->next->data, clvox_grid_voxels(&a->grid) * sizeof(float)));
    if (w.compares) {
        const double mark = clv_seconds();
        CLV_TRY(compare(&w));
        clv_atlas_timed(a, CLVOX_ATLAS_LIKENESS, mark);
    }
    status = clv_atlas_share(a);
end:
    for (int i = 0; w.warped && i < a->count; i++)
        clvox_volume_destroy(&w.warped[i]);
    free(w.warped);
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
