/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over subjects, whole numbers of 32 bits: of those that each device has on the device, and of all
 * piece by piece on the host. */
#include "atlas/sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/spares.h"
#include "clvox/threads.h"

/* PIECE: of a sum, as many numbers as come from a device at once, into one of CLV_SLOTS places, for which a
 * thread each adds up the devices' pieces, in PARTs that stay in a cache. */
enum { PART = 4096, PIECE = CLV_PIECE / sizeof(int32_t) };

int clv_atlas_sums_open(clv_atlas_run *a, size_t count, clv_atlas_sums *s)
{
    *s = (clv_atlas_sums){.a = a, .count = count};
    s->of = calloc((size_t)a->devices, sizeof(clv_buffer *));
    s->room = calloc((size_t)a->devices, sizeof(int32_t *));
    s->own = calloc((size_t)a->devices, sizeof *s->own);
    for (int i = 0; s->own && i < a->devices; i++)
        pthread_mutex_init(&s->own[i], NULL);
    s->all = a->o->team ? clv_large((count + 1) * sizeof *s->all) : NULL;
    return s->of && s->room && s->own && (s->all || !a->o->team)
               ? CLVOX_OK
               : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

void clv_atlas_sums_close(clv_atlas_sums *s)
{
    clv_atlas_sums_clear(s);
    for (int i = 0; s->own && i < s->a->devices; i++)
        pthread_mutex_destroy(&s->own[i]);
    free(s->of);
    free(s->room);
    free(s->own);
    clv_large_free(s->all);
    *s = (clv_atlas_sums){.a = s->a};
}

void clv_atlas_sums_clear(clv_atlas_sums *s)
{
    for (int i = 0; s->of && i < s->a->devices; i++)
        clv_pool_release(&(clv_request){&s->of[i], 0, ""}, 1);
}

int clv_atlas_sums_on(clv_atlas_sums *s, int device, clv_buffer **sum)
{
    int status = CLVOX_OK;
    clvox_context *ctx = s->a->ctx[device];
    const size_t bytes = s->count * sizeof(int32_t);
    if (!s->of[device]) {
        CLV_TRY(clv_buffer_create(ctx, bytes, "sum over subjects", &s->of[device]));
        CLV_TRY(clv_buffer_fill(ctx, s->of[device], 0, 0, bytes));
    }
    *sum = s->of[device];
end:
    return status;
}

int clv_atlas_sums_make(clv_atlas_sums *s, int device)
{
    clv_buffer *sum;
    int status = clv_atlas_sums_on(s, device, &sum);
    if (status == CLVOX_ERROR_MEMORY) {
        const int left = clv_maps_leave(s->a->maps, device);
        if (left)
            status = left < 0 ? left : clv_atlas_sums_on(s, device, &sum);
    }
    return status;
}

/* ---- of all devices -------------------------------------------------------- */

static int make_room(clv_atlas_run *a, int device, void *user)
{
    clv_atlas_sums *s = user;
    const size_t most = (size_t)CLV_SLOTS * PIECE, numbers = s->count < most ? s->count : most;
    s->room[device] = s->of[device] ? clv_staging(a->ctx[device], numbers * sizeof(int32_t)) : NULL;
    return s->room[device] || !s->of[device] ? CLVOX_OK
                                             : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

/* One piece, which the devices' rooms have in this slot: all in one pass, as the host's memory is what
 * limits it. */
static void add_piece(const clv_atlas_sums *s, size_t slot, size_t from, size_t count)
{
    int32_t sum[PART];
    for (size_t at = 0; at < count; at += PART) {
        const size_t n = count - at < PART ? count - at : PART;
        memset(sum, 0, n * sizeof *sum);
        for (int i = 0; i < s->a->devices; i++) {
            const int32_t *piece = s->of[i] ? s->room[i] + slot * PIECE + at : NULL;
            for (size_t v = 0; piece && v < n; v++)
                sum[v] += piece[v];
        }
        if (s->a->o->team)
            memcpy(s->all + from + at, sum, n * sizeof *sum);
        else
            s->take(s->user, sum, from + at, n);
    }
}

/* The devices' pieces into this slot of their rooms, all at once. */
static int fetch_piece(const clv_atlas_sums *s, size_t slot, size_t from, size_t count, clv_transfer *passing)
{
    int status = CLVOX_OK;
    const clv_atlas_run *a = s->a;
    for (int i = 0; i < a->devices && status >= 0; i++) {
        if (!s->of[i])
            continue;
        pthread_mutex_lock(&s->own[i]); /* one thread begins to fetch at a time */
        status = clv_transfer_begin(a->ctx[i], s->of[i], CLV_FROM_DEVICE, from * sizeof *s->room[i],
                                    s->room[i] + slot * PIECE, count * sizeof *s->room[i], &passing[i]);
        pthread_mutex_unlock(&s->own[i]);
    }
    for (int i = 0; i < a->devices; i++) {
        const int passed = clv_transfer_wait(&passing[i]);
        clv_transfer_end(&passing[i]);
        status = status < 0 ? status : passed;
    }
    return status;
}

/* Every CLV_SLOTS-th piece from `slot` on. */
static int add_up(void *user, size_t slot, int worker)
{
    int status = CLVOX_OK;
    const clv_atlas_sums *s = user;
    clv_transfer *passing = calloc((size_t)s->a->devices, sizeof *passing);
    (void)worker;
    if (!passing)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (size_t from = slot * PIECE; from < s->count; from += (size_t)CLV_SLOTS * PIECE) {
        const size_t count = s->count - from < PIECE ? s->count - from : PIECE;
        CLV_TRY(fetch_piece(s, slot, from, count, passing));
        add_piece(s, slot, from, count);
    }
end:
    free(passing);
    return status;
}

/* ---- of a team ------------------------------------------------------------- */

static size_t part_end(const clv_atlas_sums *s, size_t index)
{
    return (index + 1) * PART < s->count ? (index + 1) * PART : s->count;
}

/* Two numbers of 32 bits as one of 64, whose upper one lacks 1 where the lower one is below 0, as in a
 * sum of such. */
static int pair_part(void *user, size_t index, int worker)
{
    const clv_atlas_sums *s = user;
    (void)worker;
    for (size_t k = index * PART; k < part_end(s, index); k += 2) {
        const int64_t pair = (int64_t)s->all[k + 1] * (INT64_C(1) << 32) + s->all[k];
        memcpy(s->all + k, &pair, sizeof pair);
    }
    return CLVOX_OK;
}

static int take_part(void *user, size_t index, int worker)
{
    const clv_atlas_sums *s = user;
    const size_t from = index * PART, end = part_end(s, index);
    (void)worker;
    for (size_t k = from; k < end; k += 2) {
        int64_t pair;
        memcpy(&pair, s->all + k, sizeof pair);
        s->all[k] = (int32_t)(uint32_t)(uint64_t)pair;
        s->all[k + 1] = (int32_t)((pair - s->all[k]) / (INT64_C(1) << 32));
    }
    s->take(s->user, s->all + from, from, end - from);
    return CLVOX_OK;
}

static int total(clv_atlas_sums *s)
{
    int status = CLVOX_OK;
    const size_t parts = (s->count + PART - 1) / PART;
    s->all[s->count] = 0; /* the other one of the last pair, if any */
    CLV_TRY(clvox_parallel(parts, pair_part, s));
    CLV_TRY(clv_atlas_total(s->a, (int64_t *)(void *)s->all, (s->count + 1) / 2));
    status = clvox_parallel(parts, take_part, s);
end:
    return status;
}

int clv_atlas_sums_take(clv_atlas_sums *s, clv_atlas_sums_taker take, void *user)
{
    int status = CLVOX_OK;
    clv_atlas_run *a = s->a;
    s->take = take;
    s->user = user;
    CLV_TRY(clv_atlas_every(a, make_room, s));
    CLV_TRY(clv_atlas_agree(a, clvox_parallel(CLV_SLOTS, add_up, s)));
    if (a->o->team)
        status = total(s);
end:
    clv_atlas_sums_clear(s);
    return status;
}
