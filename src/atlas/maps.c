/* SPDX-License-Identifier: Apache-2.0 */
#include "atlas/maps.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/spares.h"
#include "io/volume/orientation.h"
#include "io/volume/store.h"
#include "runtime/device/gate.h"
#include "transform/field.h"

/* A subject's warp and inverse. */
typedef struct fields {
    bool there;
    int device; /* whose context has the buffers; -1: none has */
    clv_buffer *buffer[2];
    clvox_volume *kept[2]; /* where there are no buffers: their values are not RAS mm, but the fields' */
    int moved[2];          /* each has taken the first so many of the moves */
} fields;

/* A context's room for maps. */
typedef struct place {
    int first;          /* the first of the contexts on its device */
    long room;          /* of that first one: subjects whose maps the device still takes */
    clv_buffer **spare; /* buffers that are left over */
    int spares;
    int busy, passing; /* of that first one: contexts with a subject, and those of which a map passes by */
    double idle_since; /* all of them do */
} place;

struct clv_maps {
    clv_maps_setting of;
    size_t bytes;         /* of a field */
    pthread_mutex_t lock; /* guards places, and where fields are */
    place *places;
    fields *each;
    const clv_maps_moves *moves;
};

static int moves_of(const clv_maps *m)
{
    return m->moves ? m->moves->count : 0;
}

/* ---- room on devices ------------------------------------------------------ */

/* Fields that a context holds at most while the mean map is removed: a sum, exp(-v) and exp(v) of each
 * move, two that are read and one that is made; and beside a registration: a sum, and the maps on their way
 * to the host. */
enum { OWN_FIELDS = 12, PASSING_FIELDS = 3 };
/* A share of what registrations leave: other processes may share the device. */
static const double OF_WHAT_IS_LEFT = .5;

/* Bytes of a device that maps may take beside its registrations. Maps on a CPU device would lie in the
 * host's memory as well. */
static double room_of(const clv_maps *m, int device)
{
    const double asked = (double)m->of.device_bytes, bytes = (double)m->bytes,
                 registering = fmax((double)m->of.registering + PASSING_FIELDS * bytes, OWN_FIELDS * bytes);
    int beside = 0; /* contexts on this device */
    if (clvox_context_limits(m->of.ctx[device])->type != CLVOX_DEVICE_GPU)
        return asked;
    for (int i = 0; i < m->of.devices; i++)
        beside += m->places[i].first == device;
    const double left = (double)clv_context_room(m->of.ctx[device]) - beside * registering;
    return asked > 0 ? fmin(asked, left) : OF_WHAT_IS_LEFT * left;
}

/* The first context on the same device. */
static int first_beside(const clv_maps *m, int device)
{
    const clv_gate *gate = clv_context_gate(m->of.ctx[device]);
    int first = 0;
    while (first < device && (!gate || clv_context_gate(m->of.ctx[first]) != gate))
        first++;
    return first;
}

int clv_maps_open(const clv_maps_setting *setting, clv_maps **out)
{
    clv_maps *m = *out = calloc(1, sizeof *m);
    if (!m)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    m->of = *setting;
    m->bytes = 3 * sizeof(float) * clvox_grid_voxels(&m->of.grid);
    pthread_mutex_init(&m->lock, NULL);
    m->places = calloc((size_t)m->of.devices, sizeof *m->places);
    m->each = calloc((size_t)m->of.count, sizeof *m->each);
    bool room = m->places && m->each;
    for (int i = 0; room && i < m->of.devices; i++) {
        m->places[i].first = first_beside(m, i);
        m->places[i].spare = calloc(2 * (size_t)m->of.count, sizeof(clv_buffer *));
        room = m->places[i].spare != NULL;
    }
    if (!room) {
        clv_maps_close(out);
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
    /* More than there are subjects: their maps wander from context to context, which keep what buffers they
     * had. */
    const double most = (double)m->of.count * m->of.devices;
    for (int i = 0; i < m->of.devices; i++)
        if (m->places[i].first == i)
            m->places[i].room = (long)fmin(fmax(room_of(m, i) / (2 * (double)m->bytes), 0), most);
    return CLVOX_OK;
}

void clv_maps_close(clv_maps **maps)
{
    clv_maps *m = *maps;
    if (!m)
        return;
    for (int i = 0; m->each && i < m->of.count; i++)
        clv_maps_drop(m, i);
    for (int i = 0; m->places && i < m->of.devices; i++) {
        for (int k = 0; k < m->places[i].spares; k++)
            clv_buffer_destroy(&m->places[i].spare[k]);
        free(m->places[i].spare);
    }
    pthread_mutex_destroy(&m->lock);
    free(m->places);
    free(m->each);
    free(m);
    *maps = NULL;
}

/* ---- between a device and the host ----------------------------------------- */

void clv_maps_busy(clv_maps *m, int device, int busy, int passing)
{
    double idle = 0;
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    place *p = &m->places[m->places[device].first];
    const bool before = p->busy && p->passing == p->busy;
    p->busy += busy;
    p->passing += passing;
    const bool now = p->busy && p->passing == p->busy;
    if (now && !before)
        p->idle_since = clv_seconds();
    else if (before && !now)
        idle = p->idle_since;
    pthread_mutex_unlock(&m->lock);
    if (idle > 0)
        m->of.passed(m->of.user, true, idle);
}

static int from_volume(void *user, size_t at, void *piece, size_t bytes)
{
    return clv_store_get(user, at, piece, bytes);
}

static int to_volume(void *user, size_t at, void *piece, size_t bytes)
{
    return clv_store_put(user, at, piece, bytes);
}

/* All values, of one on disk, and of all on a GPU, in pieces that several threads read or write while others
 * are under way. */
static int pass(clv_maps *m, int device, clv_buffer *buffer, clv_direction direction, clvox_volume *kept)
{
    clvox_context *ctx = m->of.ctx[device];
    const bool there = direction == CLV_TO_DEVICE;
    const clv_passage passage = {.buffer = buffer,
                                 .direction = direction,
                                 .bytes = m->bytes,
                                 .files = CLV_STORE_STRIPES,
                                 .host = there ? from_volume : to_volume,
                                 .user = kept};
    if (!kept->on_disk && !clv_staging_pays(ctx, m->bytes, 0))
        return there ? clv_buffer_write(ctx, buffer, 0, kept->data, m->bytes)
                     : clv_buffer_read(ctx, buffer, 0, kept->data, m->bytes);
    const int before = clv_finish(ctx); /* else the time would be that of a kernel */
    if (before < 0)
        return before;
    const double mark = clv_seconds();
    clv_maps_busy(m, device, 0, 1);
    const int status = clv_pass(ctx, &passage);
    clv_maps_busy(m, device, 0, -1);
    m->of.passed(m->of.user, false, mark);
    return status;
}

/* ---- places ------------------------------------------------------------------ */

/* Buffers go back to their context, whose thread alone makes and ends them. */
static void give_back(clv_maps *m, fields *f)
{
    pthread_mutex_lock(&m->lock);
    for (int i = 0; i < 2; i++) {
        if (f->buffer[i]) {
            place *p = &m->places[f->device];
            p->spare[p->spares++] = f->buffer[i];
        }
        f->buffer[i] = NULL;
    }
    f->there = false;
    f->moved[0] = f->moved[1] = 0;
    pthread_mutex_unlock(&m->lock);
}

static void drop_kept(fields *f)
{
    clvox_volume_destroy(&f->kept[0]);
    clvox_volume_destroy(&f->kept[1]);
}

void clv_maps_drop(clv_maps *m, int map)
{
    give_back(m, &m->each[map]);
    drop_kept(&m->each[map]);
}

/* A volume to be written: the old one, if there is one. */
static int fresh(const clv_maps *m, clvox_volume **kept)
{
    return *kept ? CLVOX_OK : clv_store_room(m->of.store, &m->of.grid, 3, CLVOX_KIND_DISPLACEMENT, kept);
}

/* Room in host memory or on disk. */
static int make_kept(clv_maps *m, fields *f)
{
    int status = CLVOX_OK;
    give_back(m, f);
    f->device = -1;
    CLV_TRY(fresh(m, &f->kept[0]));
    CLV_TRY(fresh(m, &f->kept[1]));
    f->there = true;
end:
    return status;
}

/* Room for maps that this device finds, which replace those there are: a pair of buffers that the context has
 * left over, or may make. */
static int make(clv_maps *m, fields *f, int device)
{
    int status = CLVOX_OK;
    place *p = &m->places[device], *shared = &m->places[p->first];
    clv_buffer *pair[2] = {NULL, NULL};
    give_back(m, f);
    pthread_mutex_lock(&m->lock);
    for (int i = 0; i < 2 && p->spares; i++) /* they come and go in pairs */
        pair[i] = p->spare[--p->spares];
    const bool may = !pair[0] && shared->room > 0;
    shared->room -= may;
    pthread_mutex_unlock(&m->lock);
    for (int i = 0; i < 2 && may && status >= 0; i++)
        status = clv_buffer_create(m->of.ctx[device], m->bytes, "map of a subject", &pair[i]);
    if (status < 0) {
        clv_buffer_destroy(&pair[0]);
        if (status != CLVOX_ERROR_MEMORY)
            return status;
    }
    if (!pair[0])
        return make_kept(m, f);
    drop_kept(f);
    pthread_mutex_lock(&m->lock);
    f->device = device;
    f->buffer[0] = pair[0];
    f->buffer[1] = pair[1];
    f->there = true;
    pthread_mutex_unlock(&m->lock);
    return CLVOX_OK;
}

bool clv_maps_there(const clv_maps *m, int map)
{
    return m && m->each[map].there;
}

int clv_maps_device(clv_maps *m, int map)
{
    if (!m)
        return -1;
    pthread_mutex_lock(&m->lock);
    const fields *f = &m->each[map];
    const int device = f->there && f->buffer[0] ? f->device : -1;
    pthread_mutex_unlock(&m->lock);
    return device;
}

/* On disk or across a bus: then they are moved each time that they are read, which is less work than to write
 * them again. */
static bool is_away(const clv_maps *m, const fields *f)
{
    return f->kept[0] && f->kept[1] &&
           (f->kept[0]->on_disk || f->kept[1]->on_disk ||
            clvox_context_limits(m->of.ctx[0])->type == CLVOX_DEVICE_GPU);
}

/* Values that have been written stay as they are. */
static int settle(const clv_maps *m, const fields *f)
{
    int status = CLVOX_OK;
    for (int i = 0; i < 2; i++)
        if (f->kept[i])
            CLV_TRY(clvox_store_keep(m->of.store, f->kept[i]));
end:
    return status;
}

void clv_maps_expect(clv_maps *m, int map)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    for (int i = 0; i < 2; i++)
        clvox_store_expect(m->each[map].kept[i]);
    pthread_mutex_unlock(&m->lock);
}

void clv_maps_rest(const clv_maps *m, int map)
{
    for (int i = 0; m && i < 2; i++)
        clvox_store_rest(m->each[map].kept[i]);
}

/* ---- a device with less memory than it reports -------------------------------- */

/* It takes no further maps, and what it holds for none is gone. With the lock held. */
static void no_more(clv_maps *m, int device)
{
    place *p = &m->places[device];
    m->places[p->first].room = 0;
    while (p->spares)
        clv_buffer_destroy(&p->spare[--p->spares]);
    (void)clv_staging_drop(m->of.ctx[device]);
}

/* From the device to host memory or the store. With the lock held. */
static int to_kept(clv_maps *m, fields *f)
{
    int status = CLVOX_OK;
    float *values = clv_large(m->bytes);
    if (!values)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < 2; i++) {
        CLV_TRY(fresh(m, &f->kept[i]));
        CLV_TRY(clv_buffer_read(m->of.ctx[f->device], f->buffer[i], 0, values, m->bytes));
        CLV_TRY(clv_store_put(f->kept[i], 0, values, m->bytes));
    }
    clv_buffer_destroy(&f->buffer[0]);
    clv_buffer_destroy(&f->buffer[1]);
    f->device = -1;
end:
    clv_large_free(values);
    return status;
}

int clv_maps_leave(clv_maps *m, int device)
{
    int status = CLVOX_OK, left = 0;
    if (!m)
        return 0;
    pthread_mutex_lock(&m->lock); /* another thread may be about to take one of these subjects */
    for (int i = 0; i < m->of.count && status >= 0; i++) {
        fields *f = &m->each[i];
        if (f->buffer[0] && f->device == device) {
            status = to_kept(m, f);
            left++;
        }
    }
    left += m->places[device].spares + clv_staging_drop(m->of.ctx[device]);
    no_more(m, device);
    pthread_mutex_unlock(&m->lock);
    return status < 0 ? status : left > 0;
}

int clv_maps_take(clv_maps *m, int device, const clv_request *requests, int count)
{
    int status = clv_pool_take(m->of.ctx[device], requests, count);
    if (status == CLVOX_ERROR_MEMORY) {
        const int left = clv_maps_leave(m, device);
        if (left)
            status = left < 0 ? left : clv_pool_take(m->of.ctx[device], requests, count);
    }
    return status;
}

/* ---- written ------------------------------------------------------------------ */

/* By way of buffers of the device, from where maps go to disk, or across a bus, faster; or without room on
 * it. */
static int find_kept(clv_maps *m, const fields *f, int device, bool passing, clv_maps_finder find, void *user)
{
    int status = CLVOX_OK;
    float *values[2] = {NULL, NULL};
    clv_register_fields to = {.buffer = {NULL, NULL}};
    const clv_request wanted[2] = {{&to.buffer[0], m->bytes, "map of a subject"},
                                   {&to.buffer[1], m->bytes, "inverse map of a subject"}};
    if (passing)
        CLV_TRY(clv_pool_take(m->of.ctx[device], wanted, 2));
    for (int i = 0; i < 2 && !passing; i++) {
        values[i] = f->kept[i]->on_disk ? clv_large(m->bytes) : NULL;
        if (f->kept[i]->on_disk && !values[i])
            CLV_TRY(clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory"));
        to.values[i] = values[i] ? values[i] : f->kept[i]->data;
    }
    CLV_TRY(find(user, &to));
    for (int i = 0; i < 2; i++)
        if (passing)
            CLV_TRY(pass(m, device, to.buffer[i], CLV_FROM_DEVICE, f->kept[i]));
        else if (values[i])
            CLV_TRY(clv_store_put(f->kept[i], 0, values[i], m->bytes));
end:
    clv_pool_release(wanted, 2);
    clv_large_free(values[0]);
    clv_large_free(values[1]);
    return status;
}

int clv_maps_find(clv_maps *m, int map, int device, clv_maps_finder find, void *user)
{
    fields *f = &m->each[map];
    int status = make(m, f, device);
    if (status < 0)
        return status;
    if (f->buffer[0]) {
        status = find(user, &(clv_register_fields){.buffer = {f->buffer[0], f->buffer[1]}});
        if (status != CLVOX_ERROR_MEMORY)
            goto end;
        CLV_TRY(make_kept(m, f));
        pthread_mutex_lock(&m->lock);
        no_more(m, device);
        pthread_mutex_unlock(&m->lock);
    }
    status = is_away(m, f) ? find_kept(m, f, device, true, find, user) : CLVOX_ERROR_MEMORY;
    if (status == CLVOX_ERROR_MEMORY)
        status = find_kept(m, f, device, false, find, user);
    if (status == CLVOX_ERROR_MEMORY) {
        const int left = clv_maps_leave(m, device);
        if (left)
            status = left < 0 ? left : find_kept(m, f, device, false, find, user);
    }
end:
    if (status >= 0)
        status = settle(m, f);
    if (status < 0)
        clv_maps_drop(m, map);
    return status;
}

int clv_maps_put(clv_maps *m, int map, int device, const float *values)
{
    int status = CLVOX_OK;
    fields *f = &m->each[map];
    CLV_TRY(make(m, f, device));
    for (int i = 0; i < 2; i++, values += m->bytes / sizeof *values)
        CLV_TRY(f->buffer[i] ? clv_buffer_send(m->of.ctx[f->device], f->buffer[i], values, m->bytes)
                             : clv_store_put(f->kept[i], 0, values, m->bytes));
    status = settle(m, f);
end:
    return status;
}

int clv_maps_get(clv_maps *m, int map, float *values)
{
    int status = CLVOX_OK;
    const fields *f = &m->each[map];
    for (int i = 0; i < 2; i++, values += m->bytes / sizeof *values)
        CLV_TRY(f->buffer[i] ? clv_buffer_fetch(m->of.ctx[f->device], f->buffer[i], values, m->bytes)
                             : clv_store_get(f->kept[i], 0, values, m->bytes));
end:
    return status;
}

/* ---- lent on a device ---------------------------------------------------------- */

void clv_maps_follow(clv_maps *m, const clv_maps_moves *moves)
{
    if (m)
        m->moves = moves;
}

int clv_maps_moved(clv_maps *m)
{
    int least = moves_of(m);
    pthread_mutex_lock(&m->lock);
    for (int i = 0; i < m->of.count; i++)
        for (int k = 0; k < 2; k++)
            if (m->each[i].there && m->each[i].moved[k] < least)
                least = m->each[i].moved[k];
    pthread_mutex_unlock(&m->lock);
    return least;
}

/* Takes the moves that it lacks; the buffers change places at each. */
static int catch_up(const clv_maps *m, const fields *f, int device, int which, clv_buffer **field,
                    clv_buffer **room)
{
    int status = CLVOX_OK;
    for (int number = f->moved[which]; number < moves_of(m); number++) {
        clv_buffer *given = *field;
        CLV_TRY(m->moves->follow(m->moves->user, device, which, number, given, *room));
        *field = *room;
        *room = given;
    }
end:
    return status;
}

int clv_maps_lend(clv_maps *m, int map, int device, int count, clv_loan *loan)
{
    int status = CLVOX_OK;
    *loan = (clv_loan){.rooms = 0};
    if (!clv_maps_there(m, map))
        return CLVOX_OK;
    fields *f = &m->each[map];
    const bool ready = f->buffer[0] && count == 1 && f->moved[0] == moves_of(m);
    const clv_request wanted[3] = {{&loan->room[0], m->bytes, "map of a subject"},
                                   {&loan->room[1], m->bytes, "map of a subject"},
                                   {&loan->room[2], m->bytes, "map of a subject"}};
    CLV_TRY(clv_maps_take(m, device, wanted, ready ? 0 : count + 1));
    loan->rooms = ready ? 0 : count + 1;
    const bool passes = loan->passes = is_away(m, f);
    for (int i = 0; i < count; i++) {
        clv_buffer **field = f->buffer[i] ? &f->buffer[i] : &loan->room[i];
        if (!f->buffer[i])
            CLV_TRY(pass(m, device, *field, CLV_TO_DEVICE, f->kept[i]));
        CLV_TRY(catch_up(m, f, device, i, field, &loan->room[count]));
        if (!f->buffer[i] && !passes && f->moved[i] < moves_of(m))
            CLV_TRY(pass(m, device, *field, CLV_FROM_DEVICE, f->kept[i]));
        if (!passes)
            f->moved[i] = moves_of(m);
        loan->field[i] = *field;
    }
end:
    if (status < 0)
        clv_maps_return(loan);
    return status;
}

void clv_maps_return(clv_loan *loan)
{
    for (int i = 0; i < loan->rooms; i++)
        clv_pool_release(&(clv_request){&loan->room[i], 0, ""}, 1);
    *loan = (clv_loan){.rooms = 0};
}

int clv_maps_volumes(clv_maps *m, int map, int device, clvox_volume **const to[2])
{
    int status = CLVOX_OK;
    clv_loan loan = {.rooms = 0};
    if (!clv_maps_there(m, map))
        return CLVOX_OK;
    fields *f = &m->each[map];
    const bool lacks = f->moved[0] < moves_of(m) || f->moved[1] < moves_of(m);
    if (!f->buffer[0] && lacks)
        CLV_TRY(clv_maps_lend(m, map, device, 2, &loan));
    for (int i = 0; i < 2; i++) {
        const clv_buffer *field = f->buffer[i] ? f->buffer[i] : loan.field[i];
        if (field) {
            CLV_TRY(clv_field_download_shown(m->of.ctx[device], field, &m->of.grid, &m->of.shown, to[i]));
        } else {
            CLV_TRY(clv_field_unpack(m->of.ctx[0], f->kept[i]->data, &m->of.grid, to[i]));
            CLV_TRY(clv_orientation_show(&m->of.shown, to[i]));
        }
        clvox_volume_destroy(&f->kept[i]);
        CLV_TRY(clvox_store_keep(m->of.store, *to[i]));
    }
    clv_maps_drop(m, map);
end:
    clv_maps_return(&loan);
    return status;
}
