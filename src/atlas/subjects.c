/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects as they are given: told apart by their contents, brought to one scale, placed on one grid. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atlas/atlas.h"
#include "base/clock.h"
#include "base/matrix.h"
#include "clvox/threads.h"
#include "base/select.h"
#include "io/labels.h"
#include "io/orientation.h"
#include "io/volume.h"

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

static const uint64_t BASIS = UINT64_C(14695981039346656037);

/* Of many: in lanes that do not wait for each other. */
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
    return hash_bytes(hash_bytes(hash, lane, sizeof lane), v->data + whole, (n - whole) * sizeof *v->data);
}

/* Of words. With the other hash it tells contents apart where no process has both images. */
static uint64_t second_of(uint64_t hash, const clvox_volume *v)
{
    for (size_t i = 0; v && i < clvox_grid_voxels(&v->grid); i++) {
        uint32_t word;
        memcpy(&word, &v->data[i], sizeof word);
        hash = (hash + word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

static uint64_t hash_of(const clvox_atlas_subject *s)
{
    const clvox_volume *v = s->image;
    uint64_t hash = hash_bytes(BASIS, v->grid.size, sizeof v->grid.size);
    hash = hash_bytes(hash, v->grid.to_ras, sizeof v->grid.to_ras);
    hash = hash_values(hash, v);
    if (s->mask)
        hash = hash_values(hash, s->mask);
    return hash;
}

/* Of the other channels; 0 where there are none. */
static uint64_t hash_of_further(const clvox_atlas_subject *s, int channels)
{
    uint64_t hash = channels > 1 ? BASIS : 0;
    for (int c = 1; c < channels; c++) {
        const clvox_volume *v = s->further[c - 1];
        hash = hash_bytes(hash, v->grid.size, sizeof v->grid.size);
        hash = hash_bytes(hash, v->grid.to_ras, sizeof v->grid.to_ras);
        hash = hash_values(hash, v);
    }
    return hash;
}

static bool is_same_volume(const clvox_volume *a, const clvox_volume *b)
{
    return a == b || (a && b && !memcmp(&a->grid, &b->grid, sizeof a->grid) &&
                      !memcmp(a->data, b->data, clvox_grid_voxels(&a->grid) * sizeof *a->data));
}

static bool is_same_further(const clv_atlas_run *a, const clvox_atlas_subject *s,
                            const clvox_atlas_subject *t)
{
    bool same = true;
    for (int c = 1; c < a->o->channels; c++)
        same = same && is_same_volume(s->further[c - 1], t->further[c - 1]);
    return same;
}

static bool is_same(const clv_atlas_run *a, const clv_atlas_member *s, const clv_atlas_member *t)
{
    return (a->apart ? s->second == t->second
                     : is_same_volume(s->given->image, t->given->image) &&
                           is_same_volume(s->given->mask, t->given->mask) &&
                           is_same_further(a, s->given, t->given)) &&
           (!a->along || a->along->covariate[s->place] == a->along->covariate[t->place]);
}

/* By the first channel before the others: those that do not register change no order of sums. */
static int by_contents(const void *a, const void *b)
{
    const clv_atlas_member *x = a, *y = b;
    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
           : x->further_hash != y->further_hash
               ? (x->further_hash > y->further_hash) - (x->further_hash < y->further_hash)
               : x->place - y->place;
}

static int hash_one(void *user, size_t index, int worker)
{
    const clv_atlas_run *a = user;
    clv_atlas_member *s = &a->s[index];
    (void)worker;
    if (!s->given->image)
        return CLVOX_OK;
    s->grid = s->given->image->grid;
    s->hash = hash_of(s->given);
    s->further_hash = hash_of_further(s->given, a->o->channels);
    if (a->o->team)
        s->second = second_of(second_of(BASIS, s->given->image), s->given->mask);
    for (int c = 1; c < a->o->channels; c++) {
        if (a->o->team)
            s->second = second_of(s->second, s->given->further[c - 1]);
        clvox_store_rest(s->given->further[c - 1]);
    }
    clvox_store_rest(s->given->image);
    clvox_store_rest(s->given->mask);
    if (a->along)
        s->hash = hash_bytes(s->hash, &a->along->covariate[index], sizeof *a->along->covariate);
    return CLVOX_OK;
}

/* Of each row of an image: the sum of its values above 0, and of these times x. */
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

/* What an image is clipped at. */
typedef struct limits {
    float least, most;
} limits;

static float clipped(float value, const limits *l)
{
    return value < l->least ? l->least : value > l->most ? l->most : value;
}

/* Those of clvox_filter_winsorize, without its copies. room: as many values as the volume has. */
static int find_limits(const clv_atlas_run *a, const clvox_volume *v, float *room, limits *l)
{
    size_t finite = 0;
    *l = (limits){-INFINITY, INFINITY};
    if (!(a->o->clip_low > 0 || a->o->clip_high < 1))
        return CLVOX_OK;
    const int status = clv_labels_refuse(v);
    if (status < 0)
        return status;
    for (size_t i = 0; i < clvox_grid_voxels(&v->grid); i++)
        if (isfinite(v->data[i]))
            room[finite++] = v->data[i];
    if (!finite)
        return clvox_fail(CLVOX_ERROR_DATA, "there is no finite value to take quantiles of");
    l->least = (float)clv_select_quantile(room, finite, a->o->clip_low);
    l->most = (float)clv_select_quantile(room, finite, a->o->clip_high);
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
static int scale_image(const clv_atlas_run *a, clv_atlas_member *s, int channel, clvox_volume **out)
{
    int status = CLVOX_OK;
    const clvox_volume *given = channel ? s->given->further[channel - 1] : s->given->image;
    const size_t n = clvox_grid_voxels(&given->grid);
    double low = 0, high = 0;
    clv_orientation o;
    limits l;
    CLV_TRY(clv_volume_room(&given->grid, 1, CLVOX_KIND_SCALAR, out));
    status = find_limits(a, given, (*out)->data, &l);
    if (status < 0) {
        clv_atlas_fail(status, s);
        goto end;
    }
    CLV_TRY(range_of(given, &l, a->o->keep_intensities, (*out)->data, &low, &high));
    const bool even = !(high > low);
    if (!isfinite(low)) {
        status = clvox_fail(CLVOX_ERROR_DATA, "no value of %s is a finite number",
                            channel ? "a channel" : "the image");
        clv_atlas_fail(status, s);
        goto end;
    }
    if (even && (!channel || clv_atlas_registers(a->o, channel))) {
        status = channel ? clvox_fail(CLVOX_ERROR_DATA,
                                      "its channel %d has one value: nothing to register it by", channel + 1)
                         : clvox_fail(CLVOX_ERROR_DATA, "the image has one value: nothing to register it by");
        clv_atlas_fail(status, s);
        goto end;
    }
    scaling w = {.given = given,
                 .to = *out,
                 .l = &l,
                 .low = low,
                 .range = even ? 1 : high - low,
                 .keep = a->o->keep_intensities,
                 .lock = PTHREAD_MUTEX_INITIALIZER};
    clvox_parallel((n + PART - 1) / PART, scale_part, &w);
    pthread_mutex_destroy(&w.lock);
    s->largest[channel] = (double)w.largest;
    clv_orientation_of(&given->grid, &o); /* as registrations want it */
    status = clv_orientation_replace(&o, NULL, out);
end:
    clvox_store_rest(given);
    return status;
}

/* All channels of a subject. */
static int normalise(const clv_atlas_run *a, clv_atlas_member *s)
{
    int status = CLVOX_OK;
    CLV_TRY(scale_image(a, s, 0, &s->image));
    CLV_TRY(centroid(s->image, s->center));
    if (a->o->margin >= 0)
        CLV_TRY(clv_atlas_find_box(s->image, s->given->mask, s->box));
    CLV_TRY(clv_atlas_keep(a, s->image));
    for (int c = 1; c < a->o->channels; c++) {
        CLV_TRY(scale_image(a, s, c, &s->further[c - 1]));
        CLV_TRY(clv_atlas_keep(a, s->further[c - 1]));
    }
end:
    clvox_store_rest(s->given->mask);
    return status;
}

double clv_atlas_edge(const clvox_grid *grid)
{
    return cbrt(fabs(clv_matrix_determinant(CLV_MATRIX(grid->to_ras))));
}

/* ---- the grid, and where subjects begin ----------------------------------- */

/* From one voxel of a subject to another: about its centroid, along R, A and S. */
static void span(const clv_atlas_member *s, const clvox_grid *grid, const int voxel[2][3], double low[3],
                 double high[3])
{
    for (int k = 0; k < 3; k++)
        low[k] = INFINITY, high[k] = -INFINITY;
    for (int corner = 0; corner < 8; corner++) {
        double at[3], ras[3];
        for (int k = 0; k < 3; k++)
            at[k] = voxel[corner >> k & 1][k];
        clv_matrix_apply(CLV_MATRIX(grid->to_ras), at, ras);
        for (int k = 0; k < 3; k++) {
            low[k] = fmin(low[k], ras[k] - s->center[k]);
            high[k] = fmax(high[k], ras[k] - s->center[k]);
        }
    }
}

/* The box of its image, or what of that is around its head. */
static void box_of(const clv_atlas_run *a, const clv_atlas_member *s, double low[3], double high[3])
{
    const double margin = a->o->margin;
    const int *size = s->grid.size;
    double from[3], to[3];
    span(s, &s->grid, (const int[2][3]){{0}, {size[0] - 1, size[1] - 1, size[2] - 1}}, low, high);
    if (margin < 0)
        return;
    span(s, &s->upright, (const int(*)[3])s->box, from, to);
    for (int k = 0; k < 3; k++) {
        low[k] = fmax(low[k], from[k] - margin);
        high[k] = fmin(high[k], to[k] + margin);
    }
}

/* Along R, A and S, around all boxes once their centroids lie on one point, with voxels of the median volume.
 * */
static int grid_around(clv_atlas_run *a, const double mean[3])
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    double *edge = malloc((size_t)a->count * sizeof *edge);
    int count = 0;
    if (!edge)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < a->count; i++) {
        const clvox_grid *g = &a->s[i].grid;
        if (!a->s[i].weight)
            continue;
        edge[count++] = clv_atlas_edge(g);
        double from[3], to[3];
        box_of(a, &a->s[i], from, to);
        for (int k = 0; k < 3; k++) {
            low[k] = fmin(low[k], from[k]);
            high[k] = fmax(high[k], to[k]);
        }
    }
    qsort(edge, (size_t)count, sizeof *edge, clv_ascending);
    double voxel = edge[count / 2];
    free(edge);
    clv_matrix_identity(a->shown.to_ras);
    for (int k = 0; k < 3; k++) {
        a->shown.size[k] = (int)ceil((high[k] - low[k]) / voxel - 1e-6) + 1;
        a->shown.to_ras[k][k] = voxel;
        a->shown.to_ras[k][3] = mean[k] + low[k];
    }
    return CLVOX_OK;
}

/* The part of the grid around a box, with the margin, as far as the grid reaches. */
static void cut_grid(clv_atlas_run *a, int box[2][3], const clv_orientation *o)
{
    double spacing[3], first[3];
    clv_orientation back;
    clvox_grid_spacing(&a->grid, spacing);
    for (int k = 0; k < 3; k++) {
        const double more = a->o->margin / spacing[k], last = a->grid.size[k] - 1;
        const int from = (int)fmax(floor(box[0][k] - more + 1e-6), 0),
                  to = (int)fmin(ceil(box[1][k] + more - 1e-6), last);
        a->cut[k] = from;
        a->grid.size[k] = to - from + 1;
        first[k] = from;
    }
    double at[3];
    clv_matrix_apply(CLV_MATRIX(a->grid.to_ras), first, at);
    for (int k = 0; k < 3; k++)
        a->grid.to_ras[k][3] = at[k];
    clv_orientation_inverse(o, &back);
    clv_orientation_grid(&a->grid, &back, &a->shown);
}

/* On the grid that the image to begin with has, or all subjects, what holds its head or theirs. */
static int cut_to_heads(clv_atlas_run *a, const clv_orientation *o)
{
    int status = CLVOX_OK, box[2][3] = {{INT_MAX, INT_MAX, INT_MAX}, {0}};
    clvox_volume *start = NULL;
    if (a->start) {
        CLV_TRY(clv_orientation_volume(a->start, o, NULL, &start));
        CLV_TRY(clv_atlas_find_box(start, NULL, box));
    }
    for (int i = 0; i < a->count && !a->start; i++)
        for (int k = 0; k < 3 && a->s[i].weight > 0; k++) {
            const int *first = a->s[i].box[0], *last = a->s[i].box[1];
            box[0][k] = first[k] < box[0][k] ? first[k] : box[0][k];
            box[1][k] = last[k] > box[1][k] ? last[k] : box[1][k];
        }
    cut_grid(a, box, o);
end:
    clvox_volume_destroy(&start);
    return clvox_team_agree(a->o->team, status);
}

static int place(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    bool one = true, alike = true; /* on one grid, and stored alike */
    const clv_atlas_member *first = NULL;
    clv_orientation o;
    double mean[3] = {0};
    for (int i = 0; i < a->count; i++) {
        const clv_atlas_member *s = &a->s[i];
        if (!s->weight)
            continue;
        for (int k = 0; k < 3; k++)
            mean[k] += s->weight * s->center[k] / a->weights;
        first = first ? first : s;
        one &= clvox_grid_equal(&first->upright, &s->upright) != 0;
        alike &= clvox_grid_equal(&first->grid, &s->grid) != 0;
    }
    if (a->start)
        a->shown = a->start->grid;
    else if (one)
        a->shown = alike ? first->grid : first->upright;
    else
        CLV_TRY(grid_around(a, mean));
    clv_orientation_of(&a->shown, &o);
    clv_orientation_grid(&a->shown, &o, &a->grid);
    if (a->o->margin >= 0 && (a->start || one))
        CLV_TRY(cut_to_heads(a, &o));
    for (int i = 0; i < a->count; i++) {
        clv_matrix_identity(a->s[i].map.matrix);
        for (int k = 0; k < 3 && !one && !a->start && a->s[i].weight > 0; k++)
            a->s[i].map.matrix[k][3] = a->s[i].center[k] - mean[k];
        clv_matrix_copy(CLV_MATRIX(a->s[i].map.matrix), a->s[i].affine);
    }
end:
    return status;
}

/* To a float's digits. By way of memory: gcc 12 leaves the conversions out where it makes vectors of them,
 * and then equal weights may differ. */
static double rounded(double weight)
{
    volatile float digits = (float)weight;
    return (double)digits;
}

static bool hashes_alike(const clv_atlas_member *s, const clv_atlas_member *t)
{
    return s->hash == t->hash && s->further_hash == t->further_hash;
}

/* Brings those of the same contents together: they are registered once, with the sum of their weights. */
static void find_twins(clv_atlas_run *a)
{
    double most = 0;
    for (int i = 0; i < a->count; i++) {
        clv_atlas_member *s = &a->s[i];
        s->first = i;
        for (int k = i - 1; k >= 0 && s->first == i && hashes_alike(&a->s[k], s); k--)
            if (is_same(a, &a->s[k], s))
                s->first = a->s[k].first;
        a->s[s->first].base += s->own;
        most = fmax(most, a->s[s->first].base);
    }
    for (int i = 0; i < a->count; i++) { /* the same bits for weights of the same ratios */
        a->s[i].own = rounded(a->s[i].own / most);
        a->s[i].base = rounded(a->s[i].base / most);
    }
}

/* Where the data are at fault, the image is NULL and the reason is kept. */
static int normalise_one(void *user, size_t index, int worker)
{
    const clv_atlas_run *a = user;
    clv_atlas_member *s = &a->s[index];
    (void)worker;
    const int status = s->weight > 0 && s->given->image ? normalise(a, s) : CLVOX_OK;
    if (status != CLVOX_ERROR_DATA || !a->o->skip_bad)
        return status;
    clvox_volume_destroy(&s->image);
    for (int c = 1; c < CLVOX_ATLAS_CHANNELS; c++)
        clvox_volume_destroy(&s->further[c - 1]);
    memset(s->largest, 0, sizeof s->largest);
    snprintf(s->map.left_out, sizeof s->map.left_out, "%s", clvox_message());
    return CLVOX_OK;
}

static int sort_out(clv_atlas_run *a, const clvox_atlas_subject *subjects)
{
    int status = CLVOX_OK;
    for (int i = 0; i < a->count; i++)
        a->s[i] = (clv_atlas_member){.given = &subjects[i], .place = i, .own = subjects[i].weight};
    CLV_TRY(clvox_team_agree(a->o->team, clvox_parallel((size_t)a->count, hash_one, a)));
    CLV_TRY(clv_atlas_share_contents(a));
    for (int i = 0; i < a->count; i++)
        clvox_grid_canonical(&a->s[i].grid, &a->s[i].upright);
    qsort(a->s, (size_t)a->count, sizeof *a->s, by_contents);
    find_twins(a);
    clv_atlas_weigh(a);
    CLV_TRY(clvox_team_agree(a->o->team, clvox_parallel((size_t)a->count, normalise_one, a)));
    status = clv_atlas_share_scaled(a);
end:
    return status;
}

int clv_atlas_gather(clv_atlas_run *a, const clvox_atlas_subject *subjects)
{
    int status = CLVOX_OK;
    const double mark = clv_seconds();
    CLV_TRY(sort_out(a, subjects));
    for (int i = 0; i < a->count; i++)
        if (*a->s[i].map.left_out)
            clv_atlas_leave_out(&a->s[i], a->s[i].map.left_out);
    for (int i = 0; i < a->count; i++)
        for (int c = 0; c < a->o->channels; c++)
            a->largest[c] = fmax(a->largest[c], a->s[i].largest[c]);
    clv_atlas_deal(a);
    CLV_TRY(clv_atlas_share(a));
    status = place(a);
    clv_atlas_timed(a, CLVOX_ATLAS_GATHER, mark);
end:
    return status;
}
