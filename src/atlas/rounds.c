/* SPDX-License-Identifier: Apache-2.0 */
#include "atlas/rounds.h"

#include <string.h>

#include "atlas/average.h"
#include "atlas/center.h"
#include "atlas/state.h"
#include "atlas/steps.h"
#include "atlas/vote.h"
#include "base/clock.h"
#include "base/matrix.h"
#include "io/volume/labels.h"

typedef struct tick {
    clv_atlas_run *a;
    int device;
} tick;

/* Within a registration. */
static int ticked(void *user, const clvox_step *step)
{
    const tick *t = user;
    return clv_atlas_told(t->a, t->device, step->fraction) < 0;
}

/* A subject's map is that of its registration. */
static void take_over(clv_atlas_run *a, clv_atlas_member *s, const clvox_register_result *r, bool deformable)
{
    if (!deformable)
        clv_matrix_copy(CLV_MATRIX(r->matrix), s->map.matrix);
    s->map.suspicions = r->suspicions | (deformable ? s->map.suspicions & CLVOX_SUSPECT_MIRRORED : 0);
    pthread_mutex_lock(&a->lock);
    a->out->device_bytes = r->device_bytes > a->out->device_bytes ? r->device_bytes : a->out->device_bytes;
    a->fresh[0]++;
    pthread_mutex_unlock(&a->lock);
}

/* A registration of a deformable round. */
typedef struct finding {
    clv_atlas_run *a;
    clv_atlas_member *s;
    int device;
    const clvox_register_images *images;
    const clvox_register_options *o;
    clvox_register_result *r;
} finding;

/* Maps that are on the device go to the mean, unless the subject is lost. */
static int find(void *user, const clv_register_fields *to)
{
    const finding *f = user;
    clvox_register_result_destroy(f->r); /* of an attempt that had no room */
    const int status = clv_register_to(f->a->ctx[f->device], f->images, f->o, to, f->r);
    return status < 0 || !to->buffer[0] || f->r->suspicions & CLVOX_SUSPECT_OVERLAP
               ? status
               : clv_atlas_center_add(f->a, f->s, f->device, to->buffer);
}

static int register_subject(clv_atlas_run *a, clv_atlas_member *s, int device, void *user)
{
    int status = CLVOX_OK;
    const bool deformable = a->out->rounds >= a->linear, first = a->out->rounds == 0;
    clvox_register_options o = a->o->registration;
    clvox_register_result r = {.warp = NULL};
    clvox_register_images images = clv_atlas_images(a, s, NULL);
    const clv_register_fields nowhere = {.buffer = {NULL, NULL}}; /* of a linear one: no image is warped */
    tick of = {a, device};
    (void)user;
    status = clv_atlas_state_find(a, s, device);
    if (status < 0)
        return status;
    if (status > 0) {
        pthread_mutex_lock(&a->lock);
        a->fresh[0]++;
        a->fresh[1]++;
        pthread_mutex_unlock(&a->lock);
        return status;
    }
    o.init = first && !deformable ? CLVOX_INIT_AUTO : CLVOX_INIT_MATRIX;
    clv_matrix_copy(CLV_MATRIX(s->map.matrix), o.matrix);
    if (deformable)
        o.linear = CLVOX_LINEAR_NONE;
    else
        o.deform = CLVOX_DEFORM_NONE;
    o.sides = o.sides && a->out->rounds == a->linear - 1; /* the sharpest template before any deformation */
    o.inverse = deformable;
    o.progress = ticked;
    o.user = &of;
    finding to = {a, s, device, &images, &o, &r};
    status = deformable ? clv_maps_find(a->maps, (int)(s - a->s), device, find, &to)
                        : clv_register_to(a->ctx[device], &images, &o, &nowhere, &r);
    if (status >= 0 && r.suspicions & CLVOX_SUSPECT_OVERLAP)
        status =
            clvox_fail(CLVOX_ERROR_DATA, "it is lost: less than a tenth of it comes to lie in the template");
    if (status == CLVOX_ERROR_DATA || status == CLVOX_ERROR_ARGUMENT)
        clv_atlas_fail(status, s);
    if (status == CLVOX_ERROR_DATA && a->o->skip_bad) {
        clv_maps_drop(a->maps, (int)(s - a->s));
        pthread_mutex_lock(&a->lock);
        clv_atlas_leave_out(s, clvox_message());
        pthread_mutex_unlock(&a->lock);
        status = CLVOX_OK;
        goto end;
    }
    CLV_TRY(status);
    take_over(a, s, &r, deformable);
    status = clv_atlas_state_keep(a, s);
end:
    clvox_register_result_destroy(&r);
    return status;
}

static int run_round(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    const bool deformable = a->out->rounds >= a->linear;
    clvox_atlas_round *round = &a->out->round[a->out->rounds];
    *round = (clvox_atlas_round){.deformable = deformable};
    a->stage = deformable ? "deformable round" : "linear round";
    const clvox_atlas_work name = deformable            ? CLVOX_ATLAS_DEFORMABLE
                                  : a->out->rounds == 0 ? CLVOX_ATLAS_FIRST_LINEAR
                                                        : CLVOX_ATLAS_LINEAR;
    if (deformable)
        CLV_TRY(clv_atlas_agree(a, clv_atlas_center_begin(a)));
    CLV_TRY(clv_atlas_each(
        a, &(clv_atlas_step){.take = register_subject, .work = 1, .name = name, .reads = CLV_ATLAS_IMAGE}));
    CLV_TRY(clv_atlas_share(a));
    if (deformable)
        CLV_TRY(clv_atlas_center_warps(a, round));
    else
        CLV_TRY(clv_atlas_center_affines(a, round));
    /* A small change may end the rounds. */
    CLV_TRY(clv_atlas_average(a, a->o->until > 0 && deformable ? 0 : a->rounds - a->out->rounds - 1));
    CLV_TRY(clv_atlas_agree(a, clv_atlas_replace(a, round)));
    a->out->rounds++;
    for (int i = 0; i < a->count && !deformable; i++)
        clv_matrix_copy(CLV_MATRIX(a->s[i].map.matrix), a->s[i].affine);
end:
    return status;
}

int clv_atlas_run_until(clv_atlas_run *a, int rounds)
{
    int status = CLVOX_OK;
    while (a->out->rounds < rounds) {
        CLV_TRY(run_round(a));
        const clvox_atlas_round *last = &a->out->round[a->out->rounds - 1];
        if (last->deformable && last->change < a->o->until)
            break;
        if (a->out->rounds < a->rounds || (a->along && a->at < 0))
            CLV_TRY(clv_atlas_state_advance(a));
    }
end:
    return status;
}

/* ---- what a template hands over ----------------------------------------------- */

static int copy_of(const clvox_volume *v, clvox_volume **out)
{
    const int status = clvox_volume_create(&v->grid, v->frames, v->kind, out);
    if (status >= 0)
        memcpy((*out)->data, v->data, clvox_grid_voxels(&v->grid) * (size_t)v->frames * sizeof(float));
    return status;
}

/* A subject that is given twice has copies of what the first one has. */
static int copy_volumes(const clv_atlas_run *a, const clvox_atlas_map *first, clvox_atlas_map *to)
{
    int status = CLVOX_OK;
    if (first->warp) {
        CLV_TRY(copy_of(first->warp, &to->warp));
        CLV_TRY(copy_of(first->inverse_warp, &to->inverse_warp));
    }
    if (first->labels) {
        CLV_TRY(copy_of(first->labels, &to->labels));
        CLV_TRY(clv_labels_copy_names(first->labels, NULL, to->labels));
        to->labels->type = first->labels->type;
    }
    CLV_TRY(clv_atlas_keep(a, to->warp));
    CLV_TRY(clv_atlas_keep(a, to->inverse_warp));
    status = clv_atlas_keep(a, to->labels);
end:
    return status;
}

/* The figures of a subject's map, without volumes. */
static clvox_atlas_map figures_of(const clv_atlas_run *a, const clv_atlas_member *s)
{
    const clv_atlas_member *first = &a->s[s->first];
    clvox_atlas_map map = first->map;
    map.share = first->weight > 0 ? s->own * first->kernel / a->weights : 0;
    map.warp = map.inverse_warp = map.labels = NULL;
    return map;
}

/* To the caller: of those given more often the first one last, as copies are made of its volumes. */
static int give(clv_atlas_run *a, clv_atlas_member *s, int device)
{
    int status = CLVOX_OK;
    const clvox_atlas_options *o = a->o;
    for (int i = a->count - 1; i >= s->first && status >= 0; i--) {
        if (a->s[i].first != s->first)
            continue;
        clvox_atlas_map map = figures_of(a, &a->s[i]);
        if (i == s->first) {
            map.warp = s->map.warp, map.inverse_warp = s->map.inverse_warp, map.labels = s->map.labels;
            s->map.warp = s->map.inverse_warp = s->map.labels = NULL;
        } else {
            status = copy_volumes(a, &s->map, &map);
        }
        if (status >= 0)
            status = o->map(o->user, a->ctx[device], a->at, a->s[i].place, &map);
        clv_atlas_release_map(&map);
    }
    return status;
}

static int to_volumes(clv_atlas_run *a, clv_atlas_member *s, int device, void *user)
{
    int status = CLVOX_OK;
    const int map = (int)(s - a->s);
    const double mark = clv_seconds();
    (void)user;
    pthread_mutex_lock(&a->lock);
    a->out->resident += clv_maps_device(a->maps, map) >= 0;
    pthread_mutex_unlock(&a->lock);
    if (a->o->template_only) {
        clv_maps_drop(a->maps, map);
        return CLVOX_OK;
    }
    CLV_TRY(clv_maps_volumes(a->maps, map, device,
                             (clvox_volume **[2]){&s->map.warp, &s->map.inverse_warp}));
    CLV_TRY(clv_atlas_label(a, s, device));
    clv_atlas_timed(a, CLVOX_ATLAS_HAND_OVER, mark);
    status = a->o->map ? give(a, s, device) : CLVOX_OK;
end:
    return status;
}

int clv_atlas_hand_over(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    a->out->resident = 0;
    CLV_TRY(clv_atlas_each(
        a, &(clv_atlas_step){.take = to_volumes, .name = CLVOX_ATLAS_WORKS, .reads = CLV_ATLAS_WARPS}));
    for (int i = 0; i < a->count; i++)
        a->out->map[a->s[i].place] = figures_of(a, &a->s[i]);
    for (int i = 0; i < a->count; i++) {
        clvox_atlas_map *from = &a->s[i].map, *to = &a->out->map[a->s[i].place];
        to->warp = from->warp, to->inverse_warp = from->inverse_warp, to->labels = from->labels;
        from->warp = from->inverse_warp = from->labels = NULL;
    }
    for (int i = 0; i < a->count; i++) {
        const clvox_atlas_map *first = &a->out->map[a->s[a->s[i].first].place];
        if (a->s[i].first != i)
            CLV_TRY(copy_volumes(a, first, &a->out->map[a->s[i].place]));
    }
end:
    return status;
}
