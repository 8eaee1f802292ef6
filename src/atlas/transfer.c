/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes between a device and host memory or disk. One thread copies less than a bus carries, and a driver
 * that is given memory of the program copies with one: pieces go by way of pinned memory, which several
 * threads fill or empty while another one's is on the bus. */
#include <stdatomic.h>
#include <stdlib.h>

#include "atlas/atlas.h"
#include "base/clock.h"
#include "clvox/threads.h"
#include "io/store.h"

enum { SLOTS = 16, PIECE = 1 << 20 };

int clv_atlas_pieces(clv_atlas_run *a, int device, size_t bytes)
{
    clv_atlas_place *place = &a->places[device];
    const size_t all =
        (size_t)SLOTS * PIECE; /* at once, as pinning more later takes longer than all of it now */
    if (place->pieces && place->pieces->bytes >= bytes)
        return CLVOX_OK;
    if (bytes > all / 4 && clvox_context_limits(a->ctx[device])->type == CLVOX_DEVICE_GPU)
        bytes = bytes > all ? bytes : all;
    clv_pinned_destroy(&place->pieces);
    return clv_pinned_create(a->ctx[device], bytes, &place->pieces);
}

void clv_atlas_busy(clv_atlas_run *a, int device, int busy, int passing)
{
    double idle = 0;
    if (!a->places)
        return;
    pthread_mutex_lock(&a->lock);
    clv_atlas_place *place = &a->places[a->places[device].first];
    const bool before = place->busy && place->passing == place->busy;
    place->busy += busy;
    place->passing += passing;
    const bool now = place->busy && place->passing == place->busy;
    if (now && !before)
        place->idle_since = clv_seconds();
    else if (before && !now)
        idle = place->idle_since;
    pthread_mutex_unlock(&a->lock);
    if (idle > 0)
        clv_atlas_timed(a, a->registering ? CLVOX_ATLAS_IDLE : CLVOX_ATLAS_IDLE_AFTER, idle);
}

typedef struct transfer {
    clvox_context *ctx;
    clv_buffer *to; /* NULL: from there to the volume */
    const clv_buffer *from;
    clvox_volume *volume;
    size_t bytes, pieces;
    char *slots;
    atomic_size_t next;
    pthread_mutex_t lock; /* of the device: one thread at a time begins to pass a piece */
} transfer;

/* The next piece to be taken is of another file than the one before; PIECE after PIECE of each. */
static size_t piece_of(const transfer *t, size_t turn)
{
    const size_t each = (t->pieces + CLV_STORE_STRIPES - 1) / CLV_STORE_STRIPES;
    return turn % CLV_STORE_STRIPES * each + turn / CLV_STORE_STRIPES;
}

static int pass_piece(transfer *t, char *slot, size_t at, size_t count)
{
    clv_transfer passing = {NULL};
    int status = t->to ? clv_store_get(t->volume, at, slot, count) : CLVOX_OK;
    if (status < 0)
        return status;
    pthread_mutex_lock(&t->lock);
    status = t->to ? clv_buffer_write_begin(t->ctx, t->to, at, slot, count, &passing)
                   : clv_buffer_read_begin(t->ctx, t->from, at, slot, count, &passing);
    pthread_mutex_unlock(&t->lock);
    const int passed = clv_transfer_wait(&passing);
    status = status < 0 ? status : passed;
    return status < 0 || t->to ? status : clv_store_put(t->volume, at, slot, count);
}

static int pass_pieces(void *user, size_t slot, int worker)
{
    int status = CLVOX_OK;
    transfer *t = user;
    const size_t each = (t->pieces + CLV_STORE_STRIPES - 1) / CLV_STORE_STRIPES;
    (void)worker;
    for (size_t turn; (turn = atomic_fetch_add(&t->next, 1)) < each * CLV_STORE_STRIPES;) {
        const size_t at = piece_of(t, turn) * PIECE;
        if (at < t->bytes)
            CLV_TRY(
                pass_piece(t, t->slots + slot * PIECE, at, t->bytes - at < PIECE ? t->bytes - at : PIECE));
    }
end:
    return status;
}

static int pass_all(clv_atlas_run *a, int device, transfer *t)
{
    int status = CLVOX_OK;
    const size_t slots = t->pieces < SLOTS ? t->pieces : SLOTS;
    pthread_mutex_init(&t->lock, NULL);
    CLV_TRY(clv_atlas_pieces(a, device, slots * PIECE));
    t->slots = a->places[device].pieces->data;
    status = clvox_parallel(slots, pass_pieces, t);
end:
    pthread_mutex_destroy(&t->lock);
    return status;
}

static int pass(clv_atlas_run *a, int device, transfer *t)
{
    clvox_context *ctx = t->ctx = a->ctx[device];
    t->bytes = clvox_grid_voxels(&t->volume->grid) * (size_t)t->volume->frames * sizeof(float);
    t->pieces = (t->bytes + PIECE - 1) / PIECE;
    if (!t->volume->on_disk && clvox_context_limits(ctx)->type != CLVOX_DEVICE_GPU)
        return t->to ? clv_buffer_write(ctx, t->to, 0, t->volume->data, t->bytes)
                     : clv_buffer_read(ctx, t->from, 0, t->volume->data, t->bytes);
    const int before = clv_finish(ctx); /* else the time would be that of a kernel */
    if (before < 0)
        return before;
    const double mark = clv_seconds();
    clv_atlas_busy(a, device, 0, 1);
    const int status = pass_all(a, device, t);
    clv_atlas_busy(a, device, 0, -1);
    clv_atlas_timed(a, CLVOX_ATLAS_PASSING, mark);
    return status;
}

int clv_atlas_send(clv_atlas_run *a, int device, const clvox_volume *volume, clv_buffer *to)
{
    clvox_volume same = *volume; /* nothing is written to it */
    return pass(a, device, &(transfer){.to = to, .volume = &same});
}

int clv_atlas_fetch(clv_atlas_run *a, int device, const clv_buffer *from, clvox_volume *volume)
{
    return pass(a, device, &(transfer){.from = from, .volume = volume});
}

/* Between a buffer and host memory. */
static int pass_memory(clv_atlas_run *a, int device, transfer *t, void *memory, size_t bytes)
{
    clvox_context *ctx = t->ctx = a->ctx[device];
    clvox_volume there = {.data = memory};
    t->volume = &there;
    t->bytes = bytes;
    t->pieces = (bytes + PIECE - 1) / PIECE;
    int status = CLVOX_ERROR_MEMORY;
    if (t->pieces > 1 && clvox_context_limits(ctx)->type == CLVOX_DEVICE_GPU)
        status = pass_all(a, device, t);
    /* Plainly where it does not pay, or there is no pinned memory. */
    if (status == CLVOX_ERROR_MEMORY)
        status = t->to ? clv_buffer_write(ctx, t->to, 0, memory, bytes)
                       : clv_buffer_read(ctx, t->from, 0, memory, bytes);
    return status;
}

int clv_atlas_upload(clv_atlas_run *a, int device, const void *from, size_t bytes, clv_buffer *to)
{
    return pass_memory(a, device, &(transfer){.to = to}, (void *)from, bytes); /* nothing is written to it */
}

int clv_atlas_download(clv_atlas_run *a, int device, const clv_buffer *from, size_t bytes, void *to)
{
    return pass_memory(a, device, &(transfer){.from = from}, to, bytes);
}
