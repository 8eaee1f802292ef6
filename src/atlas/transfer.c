/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes between a device and host memory or disk, and how long devices wait for them. */
#include "atlas/atlas.h"
#include "base/clock.h"
#include "io/store.h"

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

static int from_volume(void *user, size_t at, void *piece, size_t bytes)
{
    return clv_store_get(user, at, piece, bytes);
}

static int to_volume(void *user, size_t at, void *piece, size_t bytes)
{
    return clv_store_put(user, at, piece, bytes);
}

static int pass(clv_atlas_run *a, int device, clv_buffer *buffer, clv_direction direction,
                clvox_volume *volume)
{
    clvox_context *ctx = a->ctx[device];
    const bool there = direction == CLV_TO_DEVICE;
    const clv_passage passage = {.buffer = buffer,
                                 .direction = direction,
                                 .bytes = clvox_grid_voxels(&volume->grid) * (size_t)volume->frames *
                                          sizeof(float),
                                 .files = CLV_STORE_STRIPES,
                                 .host = there ? from_volume : to_volume,
                                 .user = volume};
    if (!volume->on_disk && !clv_staging_pays(ctx, passage.bytes, 0))
        return there ? clv_buffer_write(ctx, buffer, 0, volume->data, passage.bytes)
                     : clv_buffer_read(ctx, buffer, 0, volume->data, passage.bytes);
    const int before = clv_finish(ctx); /* else the time would be that of a kernel */
    if (before < 0)
        return before;
    const double mark = clv_seconds();
    clv_atlas_busy(a, device, 0, 1);
    const int status = clv_pass(ctx, &passage);
    clv_atlas_busy(a, device, 0, -1);
    clv_atlas_timed(a, CLVOX_ATLAS_PASSING, mark);
    return status;
}

int clv_atlas_send(clv_atlas_run *a, int device, const clvox_volume *volume, clv_buffer *to)
{
    clvox_volume same = *volume; /* nothing is written to it */
    return pass(a, device, to, CLV_TO_DEVICE, &same);
}

int clv_atlas_fetch(clv_atlas_run *a, int device, clv_buffer *from, clvox_volume *volume)
{
    return pass(a, device, from, CLV_FROM_DEVICE, volume);
}
