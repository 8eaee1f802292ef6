/* SPDX-License-Identifier: Apache-2.0 */
/* An unbiased template by rounds of registration and averaging (Joshi et al. 2004; Avants and Gee 2004; Ha 2011,
 * chapter 2): linear ones, then deformable ones, the mean map removed in each. */
#include "atlas/atlas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atlas/options.h"
#include "base/clock.h"
#include "base/matrix.h"
#include "base/spares.h"
#include "io/labels.h"
#include "io/orientation.h"
#include "register/register.h"
#include "runtime/device/host.h"

void clvox_atlas_defaults(clvox_atlas_options *options)
{
    *options =
        (clvox_atlas_options){.channels = 1, .linear_rounds = 2, .rounds = 4, .clip_high = 1, .margin = -1};
    clvox_register_defaults(&options->registration);
}

int clv_atlas_fail(int status, const clv_atlas_member *s)
{
    return clvox_fail_in(status, s->given->name ? s->given->name : "a subject");
}

void clv_atlas_leave_out(clv_atlas_member *s, const char *why)
{
    if (why != s->map.left_out)
        snprintf(s->map.left_out, sizeof s->map.left_out, "%s", why);
    s->base = s->weight = 0;
}

/* ---- rounds -------------------------------------------------------------- */

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

int clv_atlas_keep(const clv_atlas_run *a, clvox_volume *volume)
{
    return volume ? clvox_store_keep(a->o->store, volume) : CLVOX_OK;
}

/* A subject's map is that of its registration. */
static int take_over(clv_atlas_run *a, clv_atlas_member *s, const clvox_register_result *r, bool deformable)
{
    if (!deformable)
        clv_matrix_copy(CLV_MATRIX(r->matrix), s->map.matrix);
    s->map.suspicions = r->suspicions | (deformable ? s->map.suspicions & CLVOX_SUSPECT_MIRRORED : 0);
    pthread_mutex_lock(&a->lock);
    a->out->device_bytes = r->device_bytes > a->out->device_bytes ? r->device_bytes : a->out->device_bytes;
    a->fresh[0]++;
    pthread_mutex_unlock(&a->lock);
    return deformable ? clv_atlas_fields_keep(a, s) : CLVOX_OK;
}

/* Maps that are on the device, to the mean, unless the subject is lost. */
static int add_to_mean(clv_atlas_run *a, clv_atlas_member *s, int device, clv_buffer *const maps[2],
                       const clvox_register_result *r)
{
    return r->suspicions & CLVOX_SUSPECT_OVERLAP ? CLVOX_OK : clv_atlas_center_add(a, s, device, maps);
}

static int register_on(clv_atlas_run *a, clv_atlas_member *s, int device, const clvox_register_images *images,
                       const clvox_register_options *o, clvox_register_result *r)
{
    const clv_register_fields to = {.buffer = {s->fields.buffer[0], s->fields.buffer[1]}};
    const int status = clv_register_to(a->ctx[device], images, o, &to, r);
    return status < 0 ? status : add_to_mean(a, s, device, to.buffer, r);
}

/* By way of buffers of the device, from where maps go to disk, or across a bus, faster. */
static int register_away(clv_atlas_run *a, clv_atlas_member *s, int device,
                         const clvox_register_images *images, const clvox_register_options *o,
                         clvox_register_result *r)
{
    int status = CLVOX_OK;
    clv_register_fields to = {.buffer = {NULL, NULL}};
    const size_t bytes = 3 * sizeof(float) * clvox_grid_voxels(&a->grid);
    const clv_request wanted[2] = {{&to.buffer[0], bytes, "map of a subject"},
                                   {&to.buffer[1], bytes, "inverse map of a subject"}};
    CLV_TRY(clv_pool_take(a->ctx[device], wanted, 2));
    CLV_TRY(clv_register_to(a->ctx[device], images, o, &to, r));
    CLV_TRY(clv_atlas_fields_fetch(a, s, device, to.buffer));
    status = add_to_mean(a, s, device, to.buffer, r);
end:
    clv_pool_release(wanted, 2);
    return status;
}

/* Without room of its own on the device. */
static int register_kept(clv_atlas_run *a, clv_atlas_member *s, int device,
                         const clvox_register_images *images, const clvox_register_options *o,
                         clvox_register_result *r)
{
    int status = CLVOX_OK;
    clvox_volume *const *kept = s->fields.kept;
    const size_t count = 3 * clvox_grid_voxels(&a->grid);
    float *values[2] = {NULL, NULL};
    clv_register_fields to = {.buffer = {NULL, NULL}};
    for (int i = 0; i < 2 && status >= 0; i++) {
        if (kept[i]->on_disk && !(values[i] = clv_large(count * sizeof(float))))
            status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        to.values[i] = kept[i]->on_disk ? values[i] : kept[i]->data;
    }
    CLV_TRY(status);
    CLV_TRY(clv_register_to(a->ctx[device], images, o, &to, r));
    for (int i = 0; i < 2; i++)
        if (values[i])
            CLV_TRY(clv_atlas_fields_write(a, s, i, values[i]));
end:
    clv_large_free(values[0]);
    clv_large_free(values[1]);
    return status;
}

/* Its maps go to where the subject has room for them. Where the device has less memory than it said, as
 * others have taken it, maps stay in host memory from then on: this subject's, and if that does not suffice
 * all. */
static int deform(clv_atlas_run *a, clv_atlas_member *s, int device, const clvox_register_images *images,
                  const clvox_register_options *o, clvox_register_result *r)
{
    int status = clv_atlas_fields_make(a, s, device);
    if (status < 0)
        return status;
    if (clv_atlas_fields_resident(s)) {
        status = register_on(a, s, device, images, o, r);
        if (status != CLVOX_ERROR_MEMORY)
            goto end;
        clvox_register_result_destroy(r);
        CLV_TRY(clv_atlas_fields_make_kept(a, s));
        clv_atlas_fields_no_more(a, device);
    }
    if (clv_atlas_fields_away(a, s)) {
        status = register_away(a, s, device, images, o, r);
        if (status != CLVOX_ERROR_MEMORY)
            goto end;
        clvox_register_result_destroy(r);
    }
    status = register_kept(a, s, device, images, o, r);
    if (status == CLVOX_ERROR_MEMORY) {
        const int left = clv_atlas_fields_leave(a, device);
        if (left > 0)
            clvox_register_result_destroy(r);
        if (left)
            status = left < 0 ? left : register_kept(a, s, device, images, o, r);
    }
end:
    if (status < 0)
        clv_atlas_fields_drop(a, s);
    return status;
}

bool clv_atlas_registers(const clvox_atlas_options *o, int channel)
{
    double all = 0;
    for (int c = 0; c < o->channels; c++)
        all += o->channel_weight[c];
    return o->channel_weight[channel] > 0 || !(all > 0);
}

clvox_register_images clv_atlas_images(const clv_atlas_run *a, const clv_atlas_member *s)
{
    clvox_register_images images = {.fixed = {a->average},
                                    .moving = {s->image},
                                    .channels = 1,
                                    .weight = {a->o->channel_weight[0]},
                                    .moving_mask = s->given->mask};
    for (int c = 1; c < a->o->channels; c++) {
        if (!clv_atlas_registers(a->o, c))
            continue;
        images.fixed[images.channels] = a->further[c - 1];
        images.moving[images.channels] = s->further[c - 1];
        images.weight[images.channels++] = a->o->channel_weight[c];
    }
    return images;
}

/* Channels without an image to begin with have none before the first average. */
static void leave_to_the_others(clvox_register_images *images)
{
    const int all = images->channels;
    images->channels = 1;
    for (int c = 1; c < all; c++) {
        if (!images->fixed[c])
            continue;
        images->fixed[images->channels] = images->fixed[c];
        images->moving[images->channels] = images->moving[c];
        images->weight[images->channels++] = images->weight[c];
    }
}

static int register_subject(clv_atlas_run *a, clv_atlas_member *s, int device, void *user)
{
    int status = CLVOX_OK;
    const bool deformable = a->out->rounds >= a->linear, first = a->out->rounds == 0;
    clvox_register_options o = a->o->registration;
    clvox_register_result r = {.warp = NULL};
    clvox_register_images images = clv_atlas_images(a, s);
    const clv_register_fields nowhere = {.buffer = {NULL, NULL}}; /* of a linear one: no image is warped */
    tick of = {a, device};
    (void)user;
    leave_to_the_others(&images);
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
    status = deformable ? deform(a, s, device, &images, &o, &r)
                        : clv_register_to(a->ctx[device], &images, &o, &nowhere, &r);
    if (status >= 0 && r.suspicions & CLVOX_SUSPECT_OVERLAP)
        status =
            clvox_fail(CLVOX_ERROR_DATA, "it is lost: less than a tenth of it comes to lie in the template");
    if (status == CLVOX_ERROR_DATA || status == CLVOX_ERROR_ARGUMENT)
        clv_atlas_fail(status, s);
    if (status == CLVOX_ERROR_DATA && a->o->skip_bad) {
        clv_atlas_fields_drop(a, s);
        pthread_mutex_lock(&a->lock);
        clv_atlas_leave_out(s, clvox_message());
        pthread_mutex_unlock(&a->lock);
        status = CLVOX_OK;
        goto end;
    }
    CLV_TRY(status);
    CLV_TRY(take_over(a, s, &r, deformable));
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
        CLV_TRY(clvox_team_agree(a->o->team, clv_atlas_center_begin(a)));
    CLV_TRY(clv_atlas_each(
        a, &(clv_atlas_step){.take = register_subject, .work = 1, .name = name, .reads = CLV_ATLAS_IMAGE}));
    CLV_TRY(clv_atlas_share(a));
    if (deformable)
        CLV_TRY(clv_atlas_center_warps(a, round));
    else
        CLV_TRY(clv_atlas_center_affines(a, round));
    /* A small change may end the rounds. */
    CLV_TRY(clv_atlas_average(a, a->o->until > 0 && deformable ? 0 : a->rounds - a->out->rounds - 1));
    CLV_TRY(clvox_team_agree(a->o->team, clv_atlas_replace(a, round)));
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

/* Of a further channel, the image to begin with. */
static int check_start(const clvox_volume *start, const clvox_atlas_options *o, int channel)
{
    const clvox_volume *own = o->further_start[channel - 1];
    clvox_grid grid, first;
    if (!own)
        return CLVOX_OK;
    if (!start || channel >= o->channels)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          start
                              ? "there is an image to begin with for channel %d, and no such channel"
                              : "there is an image to begin with for channel %d, and none for the first one",
                          channel + 1);
    if (!clv_atlas_is_image(own))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a template begins with 3-D images of one value a voxel");
    clvox_grid_canonical(&own->grid, &grid);
    clvox_grid_canonical(&start->grid, &first);
    if (!clvox_grid_equal(&grid, &first))
        return clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "the image to begin with of channel %d is not on the grid of the first one; bring it "
            "there (clvox apply)",
            channel + 1);
    return CLVOX_OK;
}

static int check_channels(const clvox_atlas_subject *s, int count, const clvox_volume *start,
                          const clvox_atlas_options *o)
{
    int status = clv_atlas_check_channels(o);
    if (status < 0)
        return status;
    for (int c = 0; c < o->channels; c++) {
        if (!(o->channel_weight[c] >= 0) || !isfinite(o->channel_weight[c]))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "the weight of a channel is not a number of at least 0");
    }
    for (int c = o->channels; c < CLVOX_ATLAS_CHANNELS; c++)
        if (o->channel_weight[c] != 0)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "more weights than channels, which are %d", o->channels);
    for (int c = 1; c < CLVOX_ATLAS_CHANNELS; c++)
        CLV_TRY(check_start(start, o, c));
    for (int i = 0; i < count; i++)
        if (s[i].image)
            CLV_TRY(clv_atlas_check_images(&s[i], o));
end:
    return status;
}

static bool scaled_for(const clvox_atlas_subject *s, const clvox_atlas_options *o)
{
    const clvox_atlas_scaled *a = s->scaled;
    return a->of == s->image && a->mask == s->mask && a->channels == o->channels &&
           !a->keep_intensities == !o->keep_intensities && a->clip_low == o->clip_low &&
           a->clip_high == o->clip_high && a->margin == o->margin;
}

/* A mask or labels, if any, on any grid. */
static bool is_map(const clvox_volume *v)
{
    return !v || (v->frames == 1 && (v->kind == CLVOX_KIND_SCALAR || v->kind == CLVOX_KIND_LABEL));
}

static int check(const clvox_atlas_subject *s, int count, const clvox_volume *start,
                 const clvox_atlas_options *o)
{
    int status = clv_options_check(&clv_atlas_table, o);
    if (status < 0)
        return status;
    if (count < 1 || count > CLV_ATLAS_MOST)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a template takes 1 to 65536 subjects");
    if (o->linear_rounds + o->rounds < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a template takes one round or more");
    if (o->clip_low >= o->clip_high)
        return clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "clipping takes two quantiles that ascend, as 0.005 and 0.995; 0 and 1 clip nothing");
    if (start && !clv_atlas_is_image(start))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a template begins with a 3-D image of one value a voxel");
    for (int i = 0; i < count; i++)
        if ((s[i].image ? !clv_atlas_is_image(s[i].image) : !o->team) || !(s[i].weight > 0) ||
            !isfinite(s[i].weight))
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "%s: a subject is a 3-D image of one value a voxel and has a weight above 0",
                              s[i].name ? s[i].name : "a subject");
    for (int i = 0; i < count; i++)
        if (!is_map(s[i].mask) || !is_map(s[i].labels))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: its %s 3-D of one value a voxel",
                              s[i].name ? s[i].name : "a subject",
                              is_map(s[i].mask) ? "labels are not" : "mask is not");
    for (int i = 0; i < count; i++)
        if (s[i].image && s[i].scaled && !scaled_for(&s[i], o))
            return clvox_fail(
                CLVOX_ERROR_ARGUMENT,
                "%s was scaled as another image or with other options; scale it with those of the run",
                s[i].name ? s[i].name : "a subject");
    return check_channels(s, count, start, o);
}

static int copy_of(const clvox_volume *v, clvox_volume **out)
{
    const int status = clvox_volume_create(&v->grid, v->frames, v->kind, out);
    if (status >= 0)
        memcpy((*out)->data, v->data, clvox_grid_voxels(&v->grid) * (size_t)v->frames * sizeof(float));
    return status;
}

int clv_atlas_shown(const clv_atlas_run *a, const clvox_volume *volume, clvox_volume **out)
{
    clv_orientation o, back;
    clv_orientation_of(&a->shown, &o);
    clv_orientation_inverse(&o, &back);
    return clv_orientation_volume(volume, &back, &a->shown, out);
}

int clv_atlas_show(const clv_atlas_run *a, clvox_volume **volume)
{
    clv_orientation o, back;
    clv_orientation_of(&a->shown, &o);
    clv_orientation_inverse(&o, &back);
    return clv_orientation_replace(&back, &a->shown, volume);
}

/* Of the image to begin with, what lies on the grid. */
static int cut(const clv_atlas_run *a, clvox_volume **volume)
{
    const clvox_volume *from = *volume;
    const int *size = a->grid.size, *whole = from->grid.size;
    clvox_volume *part = NULL;
    if (!memcmp(size, whole, sizeof a->grid.size))
        return CLVOX_OK;
    const int status = clvox_volume_create(&a->grid, 1, CLVOX_KIND_SCALAR, &part);
    for (int z = 0; status >= 0 && z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            memcpy(part->data + (size_t)size[0] * (size_t)(y + size[1] * z),
                   from->data + (size_t)a->cut[0] +
                       (size_t)whole[0] *
                           ((size_t)(y + a->cut[1]) + (size_t)whole[1] * (size_t)(z + a->cut[2])),
                   (size_t)size[0] * sizeof(float));
    clvox_volume_destroy(volume);
    *volume = part;
    return status;
}

/* An image to begin with, as the run stores it. */
static int begin_with(const clv_atlas_run *a, const clvox_volume *start, clvox_volume **out)
{
    clv_orientation o;
    clv_orientation_of(&start->grid, &o);
    const int status = clv_orientation_volume(start, &o, NULL, out);
    if (status < 0)
        return status;
    (*out)->type = CLVOX_TYPE_FLOAT32; /* not as the file was stored */
    (*out)->hint = CLVOX_LABELS_NONE;
    return cut(a, out);
}

/* The template of round 0. Channels that have no image to begin with get theirs from the first round on,
 * through maps that the others find: before, subjects do not lie on that image; without linear rounds they
 * lie where they stay. */
static int begin(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    clvox_atlas_round unused;
    if (!a->start) {
        CLV_TRY(clv_atlas_average(a, a->rounds));
        return clvox_team_agree(a->o->team, clv_atlas_replace(a, &unused));
    }
    status = begin_with(a, a->start, &a->average);
    for (int c = 1; status >= 0 && c < a->o->channels; c++)
        if (a->o->further_start[c - 1])
            status = begin_with(a, a->o->further_start[c - 1], &a->further[c - 1]);
    CLV_TRY(clvox_team_agree(a->o->team, status));
    for (int c = 1; c < a->o->channels && !a->linear; c++)
        if (!a->further[c - 1])
            CLV_TRY(clv_atlas_average_further(a, c));
end:
    return status;
}

static int run_all(clv_atlas_run *a, const clvox_atlas_subject *subjects)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_atlas_gather(a, subjects));
    CLV_TRY(clvox_team_agree(a->o->team, clv_atlas_fields_open(a)));
    CLV_TRY(clv_atlas_state_open(a));
    if (!a->average && (a->linear || !a->along))
        CLV_TRY(begin(a));
    if (a->at < 0)
        CLV_TRY(clv_atlas_run_until(a, a->linear));
    if (a->along)
        return clv_atlas_regress(a);
    a->at = 0;
    CLV_TRY(clv_atlas_run_until(a, a->rounds));
    status = clv_atlas_vote(a);
end:
    return status;
}

static void release(clvox_atlas_map *map)
{
    clvox_volume_destroy(&map->warp);
    clvox_volume_destroy(&map->inverse_warp);
    clvox_volume_destroy(&map->labels);
}

/* Of a subject that is given twice, what the first one has. */
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
        release(&map);
    }
    return status;
}

static int to_volumes(clv_atlas_run *a, clv_atlas_member *s, int device, void *user)
{
    int status = CLVOX_OK;
    const double mark = clv_seconds();
    (void)user;
    pthread_mutex_lock(&a->lock);
    a->out->resident += clv_atlas_fields_resident(s);
    pthread_mutex_unlock(&a->lock);
    if (a->o->template_only) {
        clv_atlas_fields_drop(a, s);
        return CLVOX_OK;
    }
    CLV_TRY(clv_atlas_fields_volumes(a, s, device));
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

/* Whether a run that failed so would fail again. */
static bool is_final(int status)
{
    return status == CLVOX_ERROR_DATA || status == CLVOX_ERROR_ARGUMENT || status == CLVOX_ERROR_FORMAT;
}

/* What is being written ends, also after a failure, which stays the one that is told. Where that fails now
 * the result is whole. */
static int end_state(clv_atlas_run *a, int status)
{
    char sentence[2048];
    snprintf(sentence, sizeof sentence, "%s", clvox_message());
    clv_atlas_state_end(a);
    return status < 0 ? clvox_fail((clvox_status)status, "%s", sentence) : status;
}

/* The result of one template. */
static int hand_over_all(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_atlas_hand_over(a));
    if (a->average)
        CLV_TRY(clv_atlas_show(a, &a->average));
    for (int c = 1; c < a->o->channels; c++)
        if (a->further[c - 1])
            CLV_TRY(clv_atlas_show(a, &a->further[c - 1]));
end:
    return status;
}

static int run(clv_atlas_run *a, clvox_context *context, const clvox_atlas_subject *subjects)
{
    int status = CLVOX_OK;
    const clvox_atlas_options *o = a->o;
    clvox_atlas_result *result = a->out;
    const int templates = a->along ? a->along->count : 1;
    pthread_mutex_init(&a->lock, NULL);
    CLV_TRY(clvox_team_agree(o->team, clv_atlas_devices_open(a, context)));
    a->stage = "first mean";
    a->at = -1;
    a->usual = 2;
    a->linear = o->registration.linear == CLVOX_LINEAR_NONE ? 0 : o->linear_rounds;
    a->rounds = a->linear + (o->registration.deform == CLVOX_DEFORM_NONE ? 0 : o->rounds);
    a->all = a->count * ((1 + CLV_ATLAS_AVERAGING) * (a->linear + templates * (a->rounds - a->linear)) +
                         CLV_ATLAS_AVERAGING * (1 + (a->along ? templates : 0)));
    a->s = calloc((size_t)a->count, sizeof *a->s);
    result->map = calloc((size_t)a->count, sizeof *result->map);
    result->round = calloc((size_t)a->rounds + 1, sizeof *result->round);
    if (!a->s || !result->map || !result->round)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(clvox_team_agree(o->team, status));
    status = run_all(a, subjects);
    const bool finals = is_final(status) && !result->rounds;
    result->subjects = a->count;
    if (status >= 0 && !a->along)
        status = clvox_team_agree(o->team, hand_over_all(a));
    result->average = a->average;
    for (int c = 1; c < o->channels; c++)
        result->further[c - 1] = a->further[c - 1];
    status = end_state(a, status);
    if (status >= 0 && !a->along)
        status = clv_atlas_state_share_end(a);
    if (o->state && finals && (!o->team || !o->team->rank))
        clvox_atlas_forget(o->state);
end:
    clv_atlas_center_end(a);
    clv_atlas_fields_close(a);
    for (int i = 0; a->s && i < a->count; i++) {
        clv_atlas_scaled_release(&a->s[i].own_scaled);
        release(&a->s[i].map);
    }
    clvox_volume_destroy(&a->next);
    free(a->s);
    free(a->key);
    clv_atlas_devices_close(a);
    pthread_mutex_destroy(&a->lock);
    if (status < 0)
        clvox_atlas_result_destroy(result);
    return status;
}

int clvox_atlas(clvox_context *context, const clvox_atlas_subject *subjects, int count,
                const clvox_volume *start, const clvox_atlas_options *options, clvox_atlas_result *result)
{
    CLV_HOST_THREADS(context);
    clvox_atlas_options standard;
    clvox_atlas_defaults(&standard);
    options = options ? options : &standard;
    *result = (clvox_atlas_result){.average = NULL};
    const int status = clvox_team_agree(options->team, check(subjects, count, start, options));
    if (status < 0)
        return status;
    clv_atlas_run a = {.o = options, .start = start, .count = count, .out = result};
    return run(&a, context, subjects);
}

static int check_regression(const clvox_atlas_regression *r, const clvox_atlas_subject *s, int count)
{
    if (r->count < 1 || !(r->bandwidth > 0))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "a regression takes one value or more, and a bandwidth above 0");
    for (int i = 0; i < r->count; i++)
        if (!isfinite(r->at[i]))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "a template is wanted at %g, which is not a number",
                              r->at[i]);
    for (int i = 0; i < count; i++)
        if (!isfinite(r->covariate[i]))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: its covariate is not known",
                              s[i].name ? s[i].name : "a subject");
    return CLVOX_OK;
}

int clvox_atlas_regress(clvox_context *context, const clvox_atlas_subject *subjects, int count,
                        const clvox_volume *start, const clvox_atlas_options *options,
                        const clvox_atlas_regression *regression)
{
    CLV_HOST_THREADS(context);
    clvox_atlas_options standard;
    clvox_atlas_defaults(&standard);
    options = options ? options : &standard;
    int status = CLVOX_OK;
    clvox_atlas_result result = {.average = NULL};
    status = check(subjects, count, start, options);
    if (status >= 0)
        status = check_regression(regression, subjects, count);
    CLV_TRY(clvox_team_agree(options->team, status));
    clv_atlas_run a = {.o = options, .start = start, .along = regression, .count = count, .out = &result};
    status = run(&a, context, subjects);
    clvox_atlas_result_destroy(&result);
end:
    return status;
}

void clvox_atlas_result_destroy(clvox_atlas_result *result)
{
    if (!result)
        return;
    for (int i = 0; result->map && i < result->subjects; i++) {
        clvox_volume_destroy(&result->map[i].warp);
        clvox_volume_destroy(&result->map[i].inverse_warp);
        clvox_volume_destroy(&result->map[i].labels);
    }
    clvox_volume_destroy(&result->average);
    for (int c = 1; c < CLVOX_ATLAS_CHANNELS; c++)
        clvox_volume_destroy(&result->further[c - 1]);
    clvox_volume_destroy(&result->labels);
    free(result->map);
    free(result->round);
    *result = (clvox_atlas_result){.average = NULL};
}
