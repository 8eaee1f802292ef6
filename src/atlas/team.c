/* SPDX-License-Identifier: Apache-2.0 */
#include "atlas/team.h"

#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"

/* ---- who does what -------------------------------------------------------- */

bool clv_atlas_is_mine(const clv_atlas_run *a, const clv_atlas_member *s)
{
    return !a->o->team || a->s[s->first].owner == a->o->team->rank;
}

void clv_atlas_deal(clv_atlas_run *a)
{
    const int size = a->o->team ? a->o->team->size : 1;
    int next = 0;
    for (int i = 0; i < a->count && !a->apart; i++)
        a->s[i].owner = a->s[i].weight > 0 ? next++ % size : 0;
}

int clv_atlas_agree(const clv_atlas_run *a, int status)
{
    return clvox_team_agree(a->o->team, status);
}

int clv_atlas_have(const clv_atlas_run *a, bool memory)
{
    return clv_atlas_agree(a, memory ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory"));
}

/* ---- what all know -------------------------------------------------------- */

int clv_atlas_total(const clv_atlas_run *a, int64_t *values, size_t count)
{
    return a->o->team ? a->o->team->sum(a->o->team->user, values, count) : CLVOX_OK;
}

int clv_atlas_spread(const clv_atlas_run *a, int from, void *bytes, size_t size)
{
    return a->o->team ? a->o->team->spread(a->o->team->user, from, bytes, size) : CLVOX_OK;
}

int clv_atlas_spread_volume(const clv_atlas_run *a, int from, int frames, clvox_kind kind, clvox_volume **v)
{
    if (!a->o->team)
        return CLVOX_OK;
    int status = *v ? CLVOX_OK : clvox_volume_create(&a->grid, frames, kind, v);
    CLV_TRY(clv_atlas_agree(a, status));
    CLV_TRY(
        clv_atlas_spread(a, from, (*v)->data, clvox_grid_voxels(&a->grid) * (size_t)frames * sizeof(float)));
    status = clv_atlas_agree(a, clv_atlas_keep(a, *v));
end:
    return status;
}

/* Members know some subjects each, in records of whole numbers of 64 bits: those that this member has, all
 * others being 0, become those of all. */
typedef struct exchange {
    size_t size; /* of a record */
    bool (*has)(const clv_atlas_run *a, const clv_atlas_member *s);
    void (*put)(const clv_atlas_run *a, const clv_atlas_member *s, void *record);
    int (*take)(clv_atlas_member *s, const void *record);
} exchange;

static int share(clv_atlas_run *a, const exchange *e)
{
    int status = CLVOX_OK;
    char *records = calloc((size_t)a->count, e->size);
    CLV_TRY(clv_atlas_have(a, records != NULL));
    for (int i = 0; i < a->count; i++)
        if (e->has(a, &a->s[i]))
            e->put(a, &a->s[i], records + (size_t)i * e->size);
    CLV_TRY(clv_atlas_total(a, (int64_t *)(void *)records, (size_t)a->count * e->size / sizeof(int64_t)));
    for (int i = 0; i < a->count; i++)
        CLV_TRY(e->take(&a->s[i], records + (size_t)i * e->size));
end:
    free(records);
    return status;
}

static bool has_image(const clv_atlas_run *a, const clv_atlas_member *s)
{
    (void)a;
    return s->given->image != NULL;
}

/* An image, as integers. */
typedef struct contents {
    int64_t there, owner, hash[3], size[3], codes[2];
    double to_ras[4][4];
} contents;

static void put_contents(const clv_atlas_run *a, const clv_atlas_member *s, void *record)
{
    contents *c = record;
    *c = (contents){.there = 1,
                    .owner = a->o->team->rank,
                    .hash = {(int64_t)s->hash, (int64_t)s->further_hash, (int64_t)s->second},
                    .size = {s->grid.size[0], s->grid.size[1], s->grid.size[2]},
                    .codes = {s->grid.sform_code, s->grid.qform_code}};
    clv_matrix_copy(CLV_MATRIX(s->grid.to_ras), c->to_ras);
}

static int take_contents(clv_atlas_member *s, const void *record)
{
    const contents *c = record;
    if (c->there != 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "%s: its image is with %d members of the team, where each has its own",
                          s->given->name ? s->given->name : "a subject", (int)c->there);
    s->owner = (int)c->owner;
    s->hash = (uint64_t)c->hash[0];
    s->further_hash = (uint64_t)c->hash[1];
    s->second = (uint64_t)c->hash[2];
    for (int k = 0; k < 3; k++)
        s->grid.size[k] = (int)c->size[k];
    clv_matrix_copy(CLV_MATRIX(c->to_ras), s->grid.to_ras);
    s->grid.sform_code = (int)c->codes[0];
    s->grid.qform_code = (int)c->codes[1];
    return CLVOX_OK;
}

int clv_atlas_share_contents(clv_atlas_run *a)
{
    int64_t missing = 0;
    for (int i = 0; i < a->count; i++)
        missing += !a->s[i].given->image;
    const int status = clv_atlas_total(a, &missing, 1);
    a->apart = missing > 0;
    return status < 0 || !a->apart
               ? status
               : share(a, &(exchange){sizeof(contents), has_image, put_contents, take_contents});
}

/* An image on one scale. */
typedef struct scaled {
    double largest[CLVOX_ATLAS_CHANNELS], center[3];
    int64_t box[6];
    char left_out[sizeof(((clvox_atlas_map *)NULL)->left_out)];
} scaled;

static void put_scaled(const clv_atlas_run *a, const clv_atlas_member *s, void *record)
{
    scaled *p = record;
    (void)a;
    memcpy(p->largest, s->largest, sizeof s->largest);
    memcpy(p->center, s->center, sizeof s->center);
    for (int k = 0; k < 6; k++)
        p->box[k] = s->box[k / 3][k % 3];
    memcpy(p->left_out, s->map.left_out, strlen(s->map.left_out));
}

static int take_scaled(clv_atlas_member *s, const void *record)
{
    const scaled *p = record;
    memcpy(s->largest, p->largest, sizeof s->largest);
    memcpy(s->center, p->center, sizeof s->center);
    for (int k = 0; k < 6; k++)
        s->box[k / 3][k % 3] = (int)p->box[k];
    memcpy(s->map.left_out, p->left_out, sizeof p->left_out);
    return CLVOX_OK;
}

int clv_atlas_share_scaled(clv_atlas_run *a)
{
    return a->apart ? share(a, &(exchange){sizeof(scaled), has_image, put_scaled, take_scaled}) : CLVOX_OK;
}

/* A subject that takes part. */
typedef struct plain {
    double matrix[4][4], likeness, displacement, base, weight;
    int64_t suspicions;
    char left_out[sizeof(((clvox_atlas_map *)NULL)->left_out)];
} plain;

static void put_plain(const clv_atlas_run *a, const clv_atlas_member *s, void *record)
{
    plain *p = record;
    (void)a;
    clv_matrix_copy(CLV_MATRIX(s->map.matrix), p->matrix);
    p->likeness = s->map.likeness;
    p->displacement = s->map.displacement_mm;
    p->base = s->base;
    p->weight = s->weight;
    p->suspicions = s->map.suspicions;
    memcpy(p->left_out, s->map.left_out, sizeof p->left_out);
}

static int take_plain(clv_atlas_member *s, const void *record)
{
    const plain *p = record;
    clv_matrix_copy(CLV_MATRIX(p->matrix), s->map.matrix);
    s->map.likeness = p->likeness;
    s->map.displacement_mm = p->displacement;
    s->base = p->base;
    s->weight = p->weight;
    s->map.suspicions = (unsigned)p->suspicions;
    memcpy(s->map.left_out, p->left_out, sizeof p->left_out);
    return CLVOX_OK;
}

static int share_counts(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    const int size = a->o->team ? a->o->team->size : 1, rank = a->o->team ? a->o->team->rank : 0;
    int64_t *count = calloc((size_t)size + 2, sizeof *count);
    if (!count)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    count[0] = a->fresh[0], count[1] = a->fresh[1];
    count[2 + rank] = (int64_t)a->out->device_bytes;
    CLV_TRY(clv_atlas_total(a, count, (size_t)size + 2));
    a->registered += (int)count[0];
    a->out->resumed += (int)count[1];
    a->fresh[0] = a->fresh[1] = 0;
    for (int i = 0; i < size; i++)
        a->out->device_bytes =
            (size_t)count[2 + i] > a->out->device_bytes ? (size_t)count[2 + i] : a->out->device_bytes;
end:
    free(count);
    return status;
}

int clv_atlas_share(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    const char *why = "";
    if (a->o->team)
        CLV_TRY(share(a, &(exchange){sizeof(plain), clv_atlas_is_mine, put_plain, take_plain}));
    CLV_TRY(share_counts(a));
    a->weights = 0;
    for (int i = 0; i < a->count; i++) {
        a->weights += a->s[i].weight;
        why = *a->s[i].map.left_out ? a->s[i].map.left_out : why;
    }
    if (!(a->weights > 0))
        status = clvox_fail(CLVOX_ERROR_DATA, "no subject is left: %s", why);
end:
    return status;
}

/* All that follows from functions of libm, of a subject. */
typedef struct derived {
    double matrix[4][4], kernel, weight;
} derived;

int clv_atlas_settle(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    derived *d = a->o->team ? calloc((size_t)a->count, sizeof *d) : NULL;
    if (!a->o->team)
        return CLVOX_OK;
    CLV_TRY(clv_atlas_have(a, d != NULL));
    for (int i = 0; i < a->count; i++) {
        clv_matrix_copy(CLV_MATRIX(a->s[i].map.matrix), d[i].matrix);
        d[i].kernel = a->s[i].kernel;
        d[i].weight = a->s[i].weight;
    }
    CLV_TRY(clv_atlas_spread(a, 0, d, (size_t)a->count * sizeof *d));
    a->weights = 0;
    for (int i = 0; i < a->count; i++) {
        clv_matrix_copy(CLV_MATRIX(d[i].matrix), a->s[i].map.matrix);
        a->s[i].kernel = d[i].kernel;
        a->s[i].weight = d[i].weight;
        a->weights += d[i].weight;
    }
end:
    free(d);
    return status;
}
