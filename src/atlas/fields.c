/* SPDX-License-Identifier: Apache-2.0 */
/* Where the maps of subjects are during deformable rounds: fields as kernels hold them, on the device that
 * found them as long as it has room, else in host memory or options->store. Their bits do not depend on it.
 * */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "atlas/atlas.h"
#include "base/spares.h"
#include "io/store.h"
#include "runtime/device/gate.h"
#include "transform/field.h"

static size_t bytes_of(const clv_atlas_run *a)
{
    return 3 * sizeof(float) * clvox_grid_voxels(&a->grid);
}

/* ---- room on devices ------------------------------------------------------ */

/* Fields that a context holds at most while the mean map is removed: a sum, exp(-v) and exp(v) of each
 * move, two that are read and one that is made; and beside a registration: a sum, and the maps on their way
 * to the host. */
enum { OWN_FIELDS = 12, PASSING_FIELDS = 3 };
/* Of what registrations leave: other processes may share the device. */
static const double OF_WHAT_IS_LEFT = .5;

/* What a registration of any subject takes, with what is beside it. */
static double most_registering(const clv_atlas_run *a)
{
    clvox_volume average = {.grid = a->grid, .frames = 1};
    clvox_register_options o = a->o->registration;
    double most = 0;
    o.linear = CLVOX_LINEAR_NONE;
    o.inverse = 1;
    for (int i = 0; i < a->count; i++) {
        const clv_atlas_member *s = &a->s[i];
        clvox_register_images images = clv_atlas_images(a, s);
        for (int c = 0; c < images.channels; c++)
            images.fixed[c] = &average;
        if (s->image)
            most = fmax(most, (double)clvox_register_bytes(&images, &o));
    }
    return fmax(most + PASSING_FIELDS * (double)bytes_of(a), OWN_FIELDS * (double)bytes_of(a));
}

/* What of a device's memory maps may take beside its registrations. Maps on a CPU device would lie in the
 * host's memory as well. */
static double room_of(const clv_atlas_run *a, int device, double registering)
{
    const double asked = (double)a->o->device_bytes;
    int beside = 0; /* contexts on this device */
    if (clvox_context_limits(a->ctx[device])->type != CLVOX_DEVICE_GPU)
        return asked;
    for (int i = 0; i < a->devices; i++)
        beside += a->places[i].first == device;
    const double left = (double)clv_context_room(a->ctx[device]) - beside * registering;
    return asked > 0 ? fmin(asked, left) : OF_WHAT_IS_LEFT * left;
}

int clv_atlas_fields_open(clv_atlas_run *a)
{
    a->places = calloc((size_t)a->devices, sizeof *a->places);
    if (!a->places)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < a->devices; i++) {
        clv_gate *gate = clv_context_gate(a->ctx[i]);
        int first = 0;
        while (first < i && (!gate || clv_context_gate(a->ctx[first]) != gate))
            first++;
        a->places[i].first = first;
        a->places[i].spare = calloc(2 * (size_t)a->count, sizeof *a->places[i].spare);
        if (!a->places[i].spare)
            return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
    /* More than there are subjects: their maps wander from context to context, which keep what buffers they
     * had. */
    const double most = (double)a->count * a->devices, registering = most_registering(a);
    for (int i = 0; i < a->devices; i++)
        if (a->places[i].first == i)
            a->places[i].room = (long)fmin(fmax(room_of(a, i, registering) / (2 * (double)bytes_of(a)), 0), most);
    return CLVOX_OK;
}

void clv_atlas_fields_close(clv_atlas_run *a)
{
    for (int i = 0; a->s && a->places && i < a->count; i++)
        clv_atlas_fields_drop(a, &a->s[i]);
    for (int i = 0; a->places && i < a->devices; i++) {
        for (int k = 0; k < a->places[i].spares; k++)
            clv_buffer_destroy(&a->places[i].spare[k]);
        free(a->places[i].spare);
    }
    free(a->places);
    a->places = NULL;
}

/* ---- the maps of a subject ------------------------------------------------- */

/* Buffers go back to their context, whose thread alone makes and ends them. */
static void give_back(clv_atlas_run *a, clv_atlas_fields *f)
{
    pthread_mutex_lock(&a->lock);
    for (int i = 0; i < 2; i++) {
        if (f->buffer[i]) {
            clv_atlas_place *place = &a->places[f->device];
            place->spare[place->spares++] = f->buffer[i];
        }
        f->buffer[i] = NULL;
    }
    pthread_mutex_unlock(&a->lock);
    f->there = f->summed = false;
    f->moved[0] = f->moved[1] = f->measured = 0;
}

void clv_atlas_fields_drop(clv_atlas_run *a, clv_atlas_member *s)
{
    give_back(a, &s->fields);
    clvox_volume_destroy(&s->fields.kept[0]);
    clvox_volume_destroy(&s->fields.kept[1]);
}

/* A pair of buffers that the context has left over, or may make: 2, 1 or 0. */
static int claim(clv_atlas_run *a, int device, clv_buffer *pair[2])
{
    clv_atlas_place *place = &a->places[device], *shared = &a->places[place->first];
    int claimed = 0;
    pthread_mutex_lock(&a->lock);
    if (place->spares >= 2) {
        pair[0] = place->spare[--place->spares];
        pair[1] = place->spare[--place->spares];
        claimed = 2;
    } else if (shared->room > 0) {
        shared->room--;
        claimed = 1;
    }
    pthread_mutex_unlock(&a->lock);
    return claimed;
}

/* A volume to be written: the old one, if there is one. */
static int fresh(const clv_atlas_run *a, clvox_volume **kept)
{
    return *kept ? CLVOX_OK : clv_store_room(a->o->store, &a->grid, 3, CLVOX_KIND_DISPLACEMENT, kept);
}

int clv_atlas_fields_make(clv_atlas_run *a, clv_atlas_member *s, int device)
{
    int status = CLVOX_OK;
    clv_atlas_fields *f = &s->fields;
    clv_buffer *pair[2] = {NULL, NULL};
    give_back(a, f);
    const int claimed = claim(a, device, pair);
    for (int i = 0; i < 2 && claimed == 1 && status >= 0; i++)
        status = clv_buffer_create(a->ctx[device], bytes_of(a), "map of a subject", &pair[i]);
    if (status < 0) {
        clv_buffer_destroy(&pair[0]);
        if (status != CLVOX_ERROR_MEMORY)
            return status;
    }
    if (!pair[0])
        return clv_atlas_fields_make_kept(a, s);
    clvox_volume_destroy(&f->kept[0]);
    clvox_volume_destroy(&f->kept[1]);
    pthread_mutex_lock(&a->lock); /* other threads ask where they are */
    f->device = device;
    f->buffer[0] = pair[0];
    f->buffer[1] = pair[1];
    f->there = true;
    pthread_mutex_unlock(&a->lock);
    return CLVOX_OK;
}

int clv_atlas_fields_make_kept(clv_atlas_run *a, clv_atlas_member *s)
{
    int status = CLVOX_OK;
    clv_atlas_fields *f = &s->fields;
    give_back(a, f);
    f->device = -1;
    CLV_TRY(fresh(a, &f->kept[0]));
    CLV_TRY(fresh(a, &f->kept[1]));
    f->there = true;
end:
    return status;
}

/* With the lock held. */
static void no_more(clv_atlas_run *a, int device)
{
    clv_atlas_place *place = &a->places[device];
    a->places[place->first].room = 0;
    while (place->spares)
        clv_buffer_destroy(&place->spare[--place->spares]);
    (void)clv_staging_drop(a->ctx[device]);
}

void clv_atlas_fields_no_more(clv_atlas_run *a, int device)
{
    pthread_mutex_lock(&a->lock);
    no_more(a, device);
    pthread_mutex_unlock(&a->lock);
}

/* From the device to host memory or the store. With the lock held. */
static int to_kept(clv_atlas_run *a, clv_atlas_fields *f)
{
    int status = CLVOX_OK;
    float *values = clv_large(bytes_of(a));
    if (!values)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < 2; i++) {
        CLV_TRY(fresh(a, &f->kept[i]));
        CLV_TRY(clv_buffer_read(a->ctx[f->device], f->buffer[i], 0, values, bytes_of(a)));
        CLV_TRY(clv_store_put(f->kept[i], 0, values, bytes_of(a)));
    }
    clv_buffer_destroy(&f->buffer[0]);
    clv_buffer_destroy(&f->buffer[1]);
    f->device = -1;
end:
    clv_large_free(values);
    return status;
}

int clv_atlas_fields_leave(clv_atlas_run *a, int device)
{
    int status = CLVOX_OK, left = 0;
    pthread_mutex_lock(&a->lock); /* another thread may be about to take one of these subjects */
    for (int i = 0; i < a->count && status >= 0; i++) {
        clv_atlas_fields *f = &a->s[i].fields;
        if (f->buffer[0] && f->device == device) {
            status = to_kept(a, f);
            left++;
        }
    }
    left += a->places[device].spares + clv_staging_drop(a->ctx[device]);
    no_more(a, device);
    clv_atlas_center_stays(a);
    pthread_mutex_unlock(&a->lock);
    return status < 0 ? status : left > 0;
}

int clv_atlas_take(clv_atlas_run *a, int device, const clv_request *requests, int count)
{
    int status = clv_pool_take(a->ctx[device], requests, count);
    if (status == CLVOX_ERROR_MEMORY) {
        const int left = clv_atlas_fields_leave(a, device);
        if (left)
            status = left < 0 ? left : clv_pool_take(a->ctx[device], requests, count);
    }
    return status;
}

bool clv_atlas_fields_resident(const clv_atlas_member *s)
{
    return s->fields.there && s->fields.buffer[0];
}

bool clv_atlas_fields_away(const clv_atlas_run *a, const clv_atlas_member *s)
{
    const clv_atlas_fields *f = &s->fields;
    return f->kept[0] && f->kept[1] &&
           (f->kept[0]->on_disk || f->kept[1]->on_disk ||
            clvox_context_limits(a->ctx[0])->type == CLVOX_DEVICE_GPU);
}

int clv_atlas_fields_write(clv_atlas_run *a, clv_atlas_member *s, int which, const float *values)
{
    clv_atlas_fields *f = &s->fields;
    return f->buffer[which] ? clv_buffer_send(a->ctx[f->device], f->buffer[which], values, bytes_of(a))
                            : clv_store_put(f->kept[which], 0, values, bytes_of(a));
}

int clv_atlas_fields_read(clv_atlas_run *a, const clv_atlas_member *s, int which, float *values)
{
    const clv_atlas_fields *f = &s->fields;
    return f->buffer[which] ? clv_buffer_fetch(a->ctx[f->device], f->buffer[which], values, bytes_of(a))
                            : clv_store_get(f->kept[which], 0, values, bytes_of(a));
}

int clv_atlas_fields_fetch(clv_atlas_run *a, clv_atlas_member *s, int device, clv_buffer *const from[2])
{
    const int status = clv_atlas_fetch(a, device, from[0], s->fields.kept[0]);
    return status < 0 ? status : clv_atlas_fetch(a, device, from[1], s->fields.kept[1]);
}

int clv_atlas_fields_keep(const clv_atlas_run *a, const clv_atlas_member *s)
{
    const int status = clv_atlas_keep(a, s->fields.kept[0]);
    return status < 0 ? status : clv_atlas_keep(a, s->fields.kept[1]);
}

/* ---- on the device ---------------------------------------------------------- */

/* Takes the moves that it lacks; the buffers change places at each. */
static int catch_up(const clv_atlas_run *a, const clv_atlas_fields *f, int device, int which,
                    clv_buffer **field, clv_buffer **room)
{
    int status = CLVOX_OK;
    for (int number = f->moved[which]; number < a->moves; number++) {
        clv_buffer *given = *field;
        CLV_TRY(clv_atlas_center_follow(a, device, which, number, given, *room));
        *field = *room;
        *room = given;
    }
end:
    return status;
}

int clv_atlas_fields_on(clv_atlas_run *a, const clv_atlas_member *s, int device, int which,
                        clv_buffer *room[2], clv_buffer **field)
{
    int status = CLVOX_OK;
    const clv_atlas_fields *f = &s->fields;
    *field = f->buffer[which];
    if (*field)
        return CLVOX_OK;
    CLV_TRY(clv_atlas_send(a, device, f->kept[which], room[0]));
    CLV_TRY(catch_up(a, f, device, which, &room[0], &room[1]));
    *field = room[0];
end:
    return status;
}

int clv_atlas_fields_move(clv_atlas_run *a, clv_atlas_member *s, int device, clv_buffer *room[3],
                          clv_buffer *field[2])
{
    int status = CLVOX_OK;
    clv_atlas_fields *f = &s->fields;
    const bool away = clv_atlas_fields_away(a, s);
    for (int i = 0; i < 2; i++) {
        if (f->buffer[i]) {
            CLV_TRY(catch_up(a, f, device, i, &f->buffer[i], &room[2]));
            field[i] = f->buffer[i];
        } else {
            CLV_TRY(clv_atlas_send(a, device, f->kept[i], room[i]));
            CLV_TRY(catch_up(a, f, device, i, &room[i], &room[2]));
            field[i] = room[i];
            if (!away && f->moved[i] < a->moves)
                CLV_TRY(clv_atlas_fetch(a, device, field[i], f->kept[i]));
        }
        if (!away)
            f->moved[i] = a->moves;
    }
end:
    return status;
}

/* From there, after its moves. */
static int to_volume(clv_atlas_run *a, const clv_atlas_member *s, int device, int which, clvox_volume **to)
{
    int status = CLVOX_OK;
    clv_buffer *room[2] = {NULL, NULL}, *field;
    const clv_request wanted[2] = {{&room[0], bytes_of(a), "map of a subject"},
                                   {&room[1], bytes_of(a), "moved map of a subject"}};
    CLV_TRY(clv_pool_take(a->ctx[device], wanted, 2));
    CLV_TRY(clv_atlas_fields_on(a, s, device, which, room, &field));
    status = clv_field_download_shown(a->ctx[device], field, &a->grid, &a->shown, to);
end:
    clv_pool_release(wanted, 2);
    return status;
}

/* The warps of the result, in RAS mm on the grid that the caller knows; the fields are gone. */
int clv_atlas_fields_volumes(clv_atlas_run *a, clv_atlas_member *s, int device)
{
    int status = CLVOX_OK;
    clv_atlas_fields *f = &s->fields;
    clvox_volume **to[2] = {&s->map.warp, &s->map.inverse_warp};
    for (int i = 0; f->there && i < 2; i++) {
        if (f->buffer[i]) {
            CLV_TRY(clv_field_download_shown(a->ctx[f->device], f->buffer[i], &a->grid, &a->shown, to[i]));
        } else if (f->moved[i] < a->moves) {
            CLV_TRY(to_volume(a, s, device, i, to[i]));
        } else {
            CLV_TRY(clv_field_unpack(a->ctx[0], f->kept[i]->data, &a->grid, to[i]));
            CLV_TRY(clv_atlas_show(a, to[i]));
        }
        clvox_volume_destroy(&f->kept[i]);
        CLV_TRY(clv_atlas_keep(a, *to[i]));
    }
    clv_atlas_fields_drop(a, s);
end:
    return status;
}
