/* SPDX-License-Identifier: Apache-2.0 */
/* A subject's images by themselves: what tells them apart from others, and copies on one scale. */
#include "atlas/scale.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "atlas/box.h"
#include "atlas/options.h"
#include "base/matrix.h"
#include "base/select.h"
#include "base/status.h"
#include "clvox/threads.h"
#include "io/volume/labels.h"
#include "io/volume/orientation.h"
#include "io/volume/volume.h"

uint64_t clv_atlas_hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

/* Hash of many values, in lanes that do not wait for each other. */
static uint64_t hash_values(uint64_t hash, const clvox_volume *v)
{
    enum { LANES = 4, PAIR = 2 };
    const size_t n = clvox_grid_voxels(&v->grid), step = LANES * PAIR, whole = n / step * step;
    uint64_t lane[LANES] = {hash, hash + 1, hash + 2, hash + 3};
    for (size_t i = 0; i < whole; i += step)
        for (size_t k = 0; k < LANES; k++) {
            uint64_t pair;
            memcpy(&pair, v->data + i + k * PAIR, sizeof pair);
            lane[k] = (lane[k] ^ pair) * UINT64_C(0x9e3779b97f4a7c15);
            lane[k] ^= lane[k] >> 32;
        }
    return clv_atlas_hash_bytes(clv_atlas_hash_bytes(hash, lane, sizeof lane), v->data + whole,
                                (n - whole) * sizeof *v->data);
}

static uint64_t hash_of(const clvox_atlas_subject *s)
{
    const clvox_volume *v = s->image;
    uint64_t hash = clv_atlas_hash_bytes(CLV_ATLAS_BASIS, v->grid.size, sizeof v->grid.size);
    hash = clv_atlas_hash_bytes(hash, v->grid.to_ras, sizeof v->grid.to_ras);
    hash = hash_values(hash, v);
    if (s->mask)
        hash = hash_values(hash, s->mask);
    return hash;
}

/* Hash of the other channels; 0 if there are none. */
static uint64_t hash_of_further(const clvox_atlas_subject *s, int channels)
{
    uint64_t hash = channels > 1 ? CLV_ATLAS_BASIS : 0;
    for (int c = 1; c < channels; c++) {
        const clvox_volume *v = s->further[c - 1];
        hash = clv_atlas_hash_bytes(hash, v->grid.size, sizeof v->grid.size);
        hash = clv_atlas_hash_bytes(hash, v->grid.to_ras, sizeof v->grid.to_ras);
        hash = hash_values(hash, v);
    }
    return hash;
}

void clv_atlas_hash(const clvox_atlas_subject *s, int channels, uint64_t hash[2])
{
    hash[0] = hash_of(s);
    hash[1] = hash_of_further(s, channels);
}

/* Sums of each row of an image: of its values above 0, and of these times x. */
typedef struct rows {
    const clvox_volume *of;
    double (*sum)[2];
} rows;

static int sum_slice(void *user, size_t z, int worker)
{
    const rows *r = user;
    const size_t nx = (size_t)r->of->grid.size[0], ny = (size_t)r->of->grid.size[1];
    (void)worker;
    for (size_t y = z * ny; y < (z + 1) * ny; y++) {
        const float *row = r->of->data + y * nx;
        double of_row = 0, along = 0;
        for (size_t x = 0; x < nx; x++) {
            const double value = row[x] > 0 && row[x] <= FLT_MAX ? (double)row[x] : 0;
            of_row += value;
            along += value * (double)x;
        }
        r->sum[y][0] = of_row, r->sum[y][1] = along;
    }
    return CLVOX_OK;
}

/* The centroid of values above 0, RAS mm; normalised ones lie above the 1st percentile then. */
static int centroid(const clvox_volume *v, double out[3])
{
    double sum = 0, at[3] = {0};
    const int *size = v->grid.size;
    const rows r = {v, malloc((size_t)size[1] * (size_t)size[2] * sizeof *r.sum)};
    if (!r.sum)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    clvox_parallel((size_t)size[2], sum_slice, (void *)&r);
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++) {
            const double *row = r.sum[(size_t)z * (size_t)size[1] + (size_t)y];
            sum += row[0];
            at[0] += row[1], at[1] += row[0] * y, at[2] += row[0] * z;
        }
    for (int i = 0; i < 3; i++)
        at[i] = sum > 0 ? at[i] / sum : (size[i] - 1) / 2.;
    clv_matrix_apply(CLV_MATRIX(v->grid.to_ras), at, out);
    free(r.sum);
    return CLVOX_OK;
}

/* Clipping limits of an image. */
typedef struct limits {
    float least, most;
} limits;

static float clipped(float value, const limits *l)
{
    return value < l->least ? l->least : value > l->most ? l->most : value;
}

/* Those of clvox_filter_winsorize, without its copies. room: as many values as the volume has. */
static int find_limits(const clvox_atlas_options *o, const clvox_volume *v, float *room, limits *l)
{
    size_t finite = 0;
    *l = (limits){-INFINITY, INFINITY};
    if (!(o->clip_low > 0 || o->clip_high < 1))
        return CLVOX_OK;
    const int status = clv_labels_refuse(v);
    if (status < 0)
        return status;
    for (size_t i = 0; i < clvox_grid_voxels(&v->grid); i++)
        if (isfinite(v->data[i]))
            room[finite++] = v->data[i];
    if (!finite)
        return clvox_fail(CLVOX_ERROR_DATA, "there is no finite value to take quantiles of");
    l->least = (float)clv_select_quantile(room, finite, o->clip_low);
    l->most = (float)clv_select_quantile(room, finite, o->clip_high);
    return CLVOX_OK;
}

/* ---- percentiles: by how many values have the same upper 16 bits, several threads at a time ---- */

enum { PART = 1 << 18, BINS = 1 << 16, LAYERS = 8 };

/* In the order of values; 0 and -0 are one. */
static uint32_t key_of(float value)
{
    uint32_t bits;
    value += 0.F;
    memcpy(&bits, &value, sizeof bits);
    return bits ^ (uint32_t)(-(int32_t)(bits >> 31) | INT32_MIN);
}

typedef struct layer {
    pthread_mutex_t lock;
    uint32_t bin[BINS];
} layer;

enum { ENDS = 2 };

typedef struct percentiles {
    const clvox_volume *v;
    const limits *l;
    layer *layers;
    pthread_mutex_t lock; /* guards the ones below */
    float least, most;
    float *room; /* values of the bins that have the wanted ones: the first's, the last's from the end on */
    uint32_t wanted[ENDS]; /* bins */
    size_t found[ENDS], all;
} percentiles;

static size_t part_end(const clvox_volume *v, size_t index)
{
    const size_t n = clvox_grid_voxels(&v->grid);
    return (index + 1) * PART < n ? (index + 1) * PART : n;
}

static int count_part(void *user, size_t index, int worker)
{
    percentiles *p = user;
    layer *to = &p->layers[index % LAYERS];
    float least = INFINITY, most = -INFINITY;
    (void)worker;
    pthread_mutex_lock(&to->lock);
    for (size_t i = index * PART; i < part_end(p->v, index); i++) {
        const float value = clipped(p->v->data[i], p->l);
        if (!isfinite(value))
            continue;
        to->bin[key_of(value) >> 16]++;
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_lock(&p->lock);
    p->least = least < p->least ? least : p->least;
    p->most = most > p->most ? most : p->most;
    pthread_mutex_unlock(&p->lock);
    return CLVOX_OK;
}

static void put(percentiles *p, int which, const float *some, size_t *count)
{
    pthread_mutex_lock(&p->lock);
    p->found[which] += *count;
    memcpy(p->room + (which ? p->all - p->found[1] : p->found[0] - *count), some, *count * sizeof *some);
    pthread_mutex_unlock(&p->lock);
    *count = 0;
}

static int collect_part(void *user, size_t index, int worker)
{
    enum { SOME = 1024 };
    percentiles *p = user;
    float some[ENDS][SOME];
    size_t count[ENDS] = {0};
    const uint32_t first = p->wanted[0], last = p->wanted[1];
    (void)worker;
    for (size_t i = index * PART; i < part_end(p->v, index); i++) {
        const float value = clipped(p->v->data[i], p->l);
        const uint32_t bin = key_of(value) >> 16;
        if (bin != first && bin != last)
            continue;
        const int which = bin != first;
        some[which][count[which]++] = value;
        if (count[which] == SOME)
            put(p, which, some[which], &count[which]);
    }
    for (int k = 0; k < ENDS; k++)
        put(p, k, some[k], &count[k]);
    return CLVOX_OK;
}

/* The bin of a place in the order of all that are finite, and how many are in those before. */
static uint32_t bin_of(const percentiles *p, size_t place, size_t *before)
{
    const uint32_t *bin = p->layers[0].bin; /* of all */
    uint32_t k = 0;
    for (*before = 0; *before + bin[k] <= place; k++)
        *before += bin[k];
    return k;
}

static double pick(float *values, size_t count, size_t place)
{
    size_t same = 0; /* those of the background, often */
    while (same < count && values[same] == values[0])
        same++;
    return same == count ? (double)values[0] : clv_select(values, count, place);
}

/* The values at two places in that order. */
static void values_at(percentiles *p, const size_t place[ENDS], double value[ENDS])
{
    size_t before[ENDS];
    for (int k = 0; k < ENDS; k++)
        p->wanted[k] = bin_of(p, place[k], &before[k]);
    clvox_parallel((p->all + PART - 1) / PART, collect_part, p);
    value[0] = pick(p->room, p->found[0], place[0] - before[0]);
    value[1] = p->wanted[0] == p->wanted[1]
                   ? pick(p->room, p->found[0], place[1] - before[1])
                   : pick(p->room + p->all - p->found[1], p->found[1], place[1] - before[1]);
}

/* The 1st and 99th percentile of the finite values, clipped; the least and the largest, where those are one
 * value or nobody asks for percentiles. room: as many values as the volume has. */
static int range_of(const clvox_volume *v, const limits *l, bool whole, float *room, double *low,
                    double *high)
{
    size_t finite = 0;
    percentiles p = {.v = v,
                     .l = l,
                     .least = INFINITY,
                     .most = -INFINITY,
                     .room = room,
                     .all = clvox_grid_voxels(&v->grid)};
    p.layers = calloc(LAYERS, sizeof *p.layers);
    if (!p.layers)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    pthread_mutex_init(&p.lock, NULL);
    for (int k = 0; k < LAYERS; k++)
        pthread_mutex_init(&p.layers[k].lock, NULL);
    clvox_parallel((p.all + PART - 1) / PART, count_part, &p);
    for (int k = 1; k < LAYERS; k++)
        for (int i = 0; i < BINS; i++)
            p.layers[0].bin[i] += p.layers[k].bin[i];
    for (int i = 0; i < BINS; i++)
        finite += p.layers[0].bin[i];
    *low = (double)p.least;
    *high = (double)p.most;
    if (!whole && p.most > p.least) {
        const size_t place[ENDS] = {(size_t)(.01 * (double)(finite - 1)),
                                    (size_t)(.99 * (double)(finite - 1))};
        double value[ENDS];
        values_at(&p, place, value);
        if (value[1] > value[0]) /* else a few voxels are not the background */
            *low = value[0], *high = value[1];
    }
    for (int k = 0; k < LAYERS; k++)
        pthread_mutex_destroy(&p.layers[k].lock);
    pthread_mutex_destroy(&p.lock);
    free(p.layers);
    return CLVOX_OK;
}

typedef struct scaling {
    const clvox_volume *given;
    clvox_volume *to;
    const limits *l;
    double low, range;
    bool keep;
    pthread_mutex_t lock; /* guards the largest absolute value */
    float largest;
} scaling;

static int scale_part(void *user, size_t index, int worker)
{
    scaling *w = user;
    float largest = 0;
    const double low = w->low, range = w->range;
    (void)worker;
    for (size_t i = index * PART; i < part_end(w->given, index); i++) {
        const float value = clipped(w->given->data[i], w->l),
                    scaled = w->keep ? value : (float)(100 * ((double)value - low) / range);
        w->to->data[i] = scaled;
        const float size = fabsf(scaled) <= FLT_MAX ? fabsf(scaled) : 0;
        largest = size > largest ? size : largest;
    }
    pthread_mutex_lock(&w->lock);
    w->largest = largest > w->largest ? largest : w->largest;
    pthread_mutex_unlock(&w->lock);
    return CLVOX_OK;
}

/* A copy whose 1st and 99th percentile are 0 and 100, of the finite values, clipped before. */
static int scale_image(const clvox_atlas_options *options, const clvox_volume *given, int channel,
                       double *largest, clvox_volume **out)
{
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(&given->grid);
    double low = 0, high = 0;
    clv_orientation o;
    limits l;
    CLV_TRY(clv_volume_room(&given->grid, 1, CLVOX_KIND_SCALAR, out));
    CLV_TRY(find_limits(options, given, (*out)->data, &l));
    CLV_TRY(range_of(given, &l, options->keep_intensities, (*out)->data, &low, &high));
    const bool even = !(high > low);
    if (!isfinite(low)) {
        status = clvox_fail(CLVOX_ERROR_DATA, "no value of %s is a finite number",
                            channel ? "a channel" : "the image");
        goto end;
    }
    if (even && (!channel || clv_atlas_registers(options, channel))) {
        status = channel ? clvox_fail(CLVOX_ERROR_DATA,
                                      "its channel %d has one value: nothing to register it by", channel + 1)
                         : clvox_fail(CLVOX_ERROR_DATA, "the image has one value: nothing to register it by");
        goto end;
    }
    scaling w = {.given = given,
                 .to = *out,
                 .l = &l,
                 .low = low,
                 .range = even ? 1 : high - low,
                 .keep = options->keep_intensities,
                 .lock = PTHREAD_MUTEX_INITIALIZER};
    clvox_parallel((n + PART - 1) / PART, scale_part, &w);
    pthread_mutex_destroy(&w.lock);
    *largest = (double)w.largest;
    clv_orientation_of(&given->grid, &o); /* as registrations want it */
    status = clv_orientation_replace(&o, NULL, out);
end:
    clvox_store_rest(given);
    return status;
}

static int scale_channel(const clvox_atlas_subject *s, const clvox_atlas_options *o, int channel,
                         clvox_atlas_scaled *to)
{
    const clvox_volume *given = channel ? s->further[channel - 1] : s->image;
    int status = scale_image(o, given, channel, &to->largest[channel], &to->image[channel]);
    if (status >= 0 && !channel)
        status = centroid(to->image[0], to->center);
    if (status >= 0 && !channel && o->margin >= 0)
        status = clv_atlas_find_box(to->image[0], s->mask, to->box);
    if (status == CLVOX_ERROR_DATA || status == CLVOX_ERROR_ARGUMENT)
        return clvox_fail_in(status, s->name ? s->name : "a subject");
    return status < 0 ? status : clvox_store_keep(o->store, to->image[channel]);
}

int clv_atlas_scale(const clvox_atlas_subject *s, const clvox_atlas_options *o, clvox_atlas_scaled *to)
{
    int status = CLVOX_OK;
    for (int c = 0; c < o->channels && status >= 0; c++)
        status = scale_channel(s, o, c, to);
    clvox_store_rest(s->mask);
    return status;
}

void clv_atlas_scaled_release(clvox_atlas_scaled *scaled)
{
    for (int c = 0; c < CLVOX_ATLAS_CHANNELS; c++)
        clvox_volume_destroy(&scaled->image[c]);
}

bool clv_atlas_registers(const clvox_atlas_options *o, int channel)
{
    double all = 0;
    for (int c = 0; c < o->channels; c++)
        all += o->channel_weight[c];
    return o->channel_weight[channel] > 0 || !(all > 0);
}

bool clv_atlas_is_image(const clvox_volume *v)
{
    return v && v->kind == CLVOX_KIND_SCALAR && v->frames == 1;
}

int clv_atlas_check_channels(const clvox_atlas_options *o)
{
    return o->channels >= 1 && o->channels <= CLVOX_ATLAS_CHANNELS
               ? CLVOX_OK
               : clvox_fail(CLVOX_ERROR_ARGUMENT, "%d channels; a template takes 1 to %d", o->channels,
                            CLVOX_ATLAS_CHANNELS);
}

int clv_atlas_check_images(const clvox_atlas_subject *s, const clvox_atlas_options *o)
{
    for (int c = 0; c < o->channels; c++)
        if (!clv_atlas_is_image(c ? s->further[c - 1] : s->image))
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "%s: its channel %d is missing, or not a 3-D image of one value a voxel",
                              s->name ? s->name : "a subject", c + 1);
    return CLVOX_OK;
}

int clvox_atlas_scale(const clvox_atlas_subject *subject, const clvox_atlas_options *options,
                      clvox_atlas_scaled **out)
{
    CLV_GIVEN(subject, out);
    int status = CLVOX_OK;
    clvox_atlas_options standard;
    clvox_atlas_defaults(&standard);
    options = options ? options : &standard;
    clvox_atlas_scaled *made = NULL;
    *out = NULL;
    CLV_TRY(clv_atlas_check_channels(options));
    CLV_TRY(clv_atlas_check_images(subject, options));
    CLV_TRY(clv_options_check(&clv_atlas_table, options));
    made = calloc(1, sizeof *made);
    if (!made) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    made->of = subject->image;
    made->mask = subject->mask;
    made->channels = options->channels;
    made->keep_intensities = options->keep_intensities;
    made->clip_low = options->clip_low;
    made->clip_high = options->clip_high;
    made->margin = options->margin;
    clv_atlas_hash(subject, options->channels, made->hash);
    CLV_TRY(clv_atlas_scale(subject, options, made));
    *out = made;
    made = NULL;
end:
    clvox_atlas_scaled_destroy(&made);
    return status;
}

void clvox_atlas_scaled_destroy(clvox_atlas_scaled **scaled)
{
    if (!scaled || !*scaled)
        return;
    clv_atlas_scaled_release(*scaled);
    free(*scaled);
    *scaled = NULL;
}
