/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects as they are given: told apart by their contents, brought to one scale, placed on one grid. */
#include "atlas/subjects.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atlas/box.h"
#include "atlas/steps.h"
#include "base/clock.h"
#include "base/matrix.h"
#include "clvox/threads.h"
#include "base/select.h"
#include "io/volume/orientation.h"
#include "io/volume/volume.h"

/* Second hash, by words. With the first it tells contents apart when no process has both images. */
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
    uint64_t hash[2];
    s->grid = s->given->image->grid;
    if (s->given->scaled)
        memcpy(hash, s->given->scaled->hash, sizeof hash);
    else
        clv_atlas_hash(s->given, a->o->channels, hash);
    s->hash = hash[0];
    s->further_hash = hash[1];
    if (a->o->team)
        s->second = second_of(second_of(CLV_ATLAS_BASIS, s->given->image), s->given->mask);
    for (int c = 1; c < a->o->channels; c++) {
        if (a->o->team)
            s->second = second_of(s->second, s->given->further[c - 1]);
        clvox_store_rest(s->given->further[c - 1]);
    }
    clvox_store_rest(s->given->image);
    clvox_store_rest(s->given->mask);
    if (a->along)
        s->hash = clv_atlas_hash_bytes(s->hash, &a->along->covariate[index], sizeof *a->along->covariate);
    return CLVOX_OK;
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
    return clv_atlas_agree(a, status);
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

/* If the data are at fault, the image is NULL and the reason is kept. */
static int scale_one(void *user, size_t index, int worker)
{
    const clv_atlas_run *a = user;
    clv_atlas_member *s = &a->s[index];
    const clvox_atlas_scaled *scaled = s->given->scaled;
    (void)worker;
    if (!(s->weight > 0) || !s->given->image)
        return CLVOX_OK;
    const int status = scaled ? CLVOX_OK : clv_atlas_scale(s->given, a->o, &s->own_scaled);
    if (status >= 0) {
        scaled = scaled ? scaled : &s->own_scaled;
        s->image = scaled->image[0];
        memcpy(s->further, scaled->image + 1, sizeof s->further);
        memcpy(s->largest, scaled->largest, sizeof s->largest);
        memcpy(s->center, scaled->center, sizeof s->center);
        memcpy(s->box, scaled->box, sizeof s->box);
        return CLVOX_OK;
    }
    clv_atlas_scaled_release(&s->own_scaled);
    if (status != CLVOX_ERROR_DATA || !a->o->skip_bad)
        return status;
    snprintf(s->map.left_out, sizeof s->map.left_out, "%s", clvox_message());
    return CLVOX_OK;
}

static int sort_out(clv_atlas_run *a, const clvox_atlas_subject *subjects)
{
    int status = CLVOX_OK;
    for (int i = 0; i < a->count; i++)
        a->s[i] = (clv_atlas_member){.given = &subjects[i], .place = i, .own = subjects[i].weight};
    CLV_TRY(clv_atlas_agree(a, clvox_parallel((size_t)a->count, hash_one, a)));
    CLV_TRY(clv_atlas_share_contents(a));
    for (int i = 0; i < a->count; i++)
        clvox_grid_canonical(&a->s[i].grid, &a->s[i].upright);
    qsort(a->s, (size_t)a->count, sizeof *a->s, by_contents);
    find_twins(a);
    clv_atlas_weigh(a);
    CLV_TRY(clv_atlas_agree(a, clvox_parallel((size_t)a->count, scale_one, a)));
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
