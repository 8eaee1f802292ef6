/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/stream.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Queues that items take in turn. */
enum { QUEUES = 4 };
enum { UP, EXECUTE, DOWN, STEPS };
/* A step ends because another one has failed, whose status is the stream's. */
enum { ABANDONED = -1000 };

/* The room of one item on the device, which items take in turn. done is of the last item that has come so
 * far. */
typedef struct lane {
    clv_buffer *in, *out;
    clv_pinned *to, *from; /* staging */
    clv_transfer done[STEPS];
} lane;

struct stream {
    clvox_context *ctx;
    const stream_work *work;
    stream_mode mode;
    stream_order order;
    clv_queue queue[QUEUES]; /* of a step, or of items */
    int queues, lanes;
    lane *lane;
    /* With threads that load and store: how far each has come, and whether all end. Else the same without
     * waiting. */
    bool threads, failed;
    int loaded, uploaded, downloaded, stored;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* ---- one after another on the host ---------------------------------------- */

/* Until *count is more than `item`, or all end. */
static int wait_until(stream *s, const int *count, int item)
{
    pthread_mutex_lock(&s->lock);
    while (*count <= item && !s->failed)
        pthread_cond_wait(&s->changed, &s->lock);
    const bool there = *count > item;
    pthread_mutex_unlock(&s->lock);
    return there ? CLVOX_OK : ABANDONED;
}

static void advance(stream *s, int *count, bool failed)
{
    pthread_mutex_lock(&s->lock);
    *count += !failed;
    s->failed |= failed;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* The staging of an item is filled, once the one before in it is on the device. */
static int load(stream *s, int item)
{
    const lane *l = &s->lane[item % s->lanes];
    int status = clv_transfer_wait(&l->done[UP]);
    if (status >= 0)
        status = s->work->load(s->work->user, item, l->to->data);
    advance(s, &s->loaded, status < 0);
    return status;
}

static int store(stream *s, int item)
{
    const lane *l = &s->lane[item % s->lanes];
    int status = clv_transfer_wait(&l->done[DOWN]);
    if (status >= 0 && s->work->out)
        status = s->work->store(s->work->user, item, l->from->data);
    advance(s, &s->stored, status < 0);
    return status;
}

/* ---- the steps ------------------------------------------------------------ */

/* The index of one of the stream's queues; -1: the context's own. */
static int queue_of(const stream *s, int step, int item)
{
    return s->mode == STREAM_SYNCHRONOUS ? -1
           : s->mode == STREAM_IMPLICIT  ? item % s->queues
           : step == EXECUTE             ? -1
           : s->queues == 1              ? (step == UP ? 0 : -1)
                                         : step == DOWN;
}

static int upload(stream *s, lane *l)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_queue_after(s->ctx, (const clv_transfer *[]){&l->done[EXECUTE]}, 1));
    clv_transfer_end(&l->done[UP]);
    CLV_TRY(clv_transfer_begin(s->ctx, l->in, CLV_TO_DEVICE, 0, l->to->data, s->work->in, &l->done[UP]));
    advance(s, &s->uploaded, false);
end:
    return status;
}

static int execute(stream *s, lane *l, int item)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_queue_after(s->ctx, (const clv_transfer *[]){&l->done[UP], &l->done[DOWN]}, 2));
    CLV_TRY(s->work->compute(s->work->user, item, l->in, l->out));
    clv_transfer_end(&l->done[EXECUTE]);
    status = clv_queue_mark(s->ctx, &l->done[EXECUTE]);
end:
    return status;
}

static int download(stream *s, lane *l)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_queue_after(s->ctx, (const clv_transfer *[]){&l->done[EXECUTE]}, 1));
    clv_transfer_end(&l->done[DOWN]);
    CLV_TRY(
        clv_transfer_begin(s->ctx, l->out, CLV_FROM_DEVICE, 0, l->from->data, s->work->out, &l->done[DOWN]));
    advance(s, &s->downloaded, false);
end:
    return status;
}

/* ---- threads that load and store ------------------------------------------- */

typedef struct helper {
    stream *s;
    int (*take)(stream *s, int item);
    const int *after; /* it waits until this is more than the item less `lead` */
    int lead, status;
    char sentence[1024]; /* which belongs to the thread */
    pthread_t thread;
} helper;

static void *help(void *argument)
{
    helper *h = argument;
    stream *s = h->s;
    for (int item = 0; h->status >= 0 && item < s->work->count; item++) {
        h->status = item < h->lead ? CLVOX_OK : wait_until(s, h->after, item - h->lead);
        if (h->status >= 0)
            h->status = h->take(s, item);
    }
    if (h->status < 0)
        snprintf(h->sentence, sizeof h->sentence, "%s", clvox_message());
    return NULL;
}

static int outcome(int status, const helper *h)
{
    return h->status < 0 && h->status != ABANDONED && (status >= 0 || status == ABANDONED)
               ? clvox_fail((clvox_status)h->status, "%s", h->sentence)
               : status;
}

/* ---- all items ------------------------------------------------------------ */

/* The staging that a step takes from, or into, is ready. */
static int wait_for_staging(stream *s, int which, int item)
{
    if (which == UP)
        return s->threads ? wait_until(s, &s->loaded, item) : load(s, item);
    if (which == DOWN && item >= s->lanes)
        return s->threads ? wait_until(s, &s->stored, item - s->lanes) : store(s, item - s->lanes);
    return CLVOX_OK;
}

static int step(stream *s, int which, int item)
{
    if (item < 0 || item >= s->work->count || (which == DOWN && !s->work->out))
        return CLVOX_OK;
    int status = wait_for_staging(s, which, item);
    if (status < 0)
        return status;
    lane *l = &s->lane[item % s->lanes];
    const int queue = queue_of(s, which, item);
    const clv_queue own = queue < 0 ? (clv_queue){NULL} : clv_queue_use(s->ctx, s->queue[queue]);
    status = which == UP ? upload(s, l) : which == EXECUTE ? execute(s, l, item) : download(s, l);
    if (queue >= 0)
        clv_queue_use(s->ctx, own);
    return status >= 0 && s->mode == STREAM_SYNCHRONOUS ? clv_finish(s->ctx) : status;
}

static int run_items(stream *s)
{
    static const int steps[STREAM_ORDERS][STEPS] = {
        {UP, EXECUTE, DOWN}, {EXECUTE, DOWN, UP}, {DOWN, UP, EXECUTE}};
    int status = CLVOX_OK;
    const int count = s->work->count;
    /* By how many items each is behind bringing; with one queue beside the own, that works and takes back. */
    const int lag[STEPS] = {0, s->queues > 0, s->queues > 1 ? 2 : s->queues};
    for (int k = 0; s->mode == STREAM_IMPLICIT && k < STEPS * count; k++)
        CLV_TRY(step(s, k / count, k % count));
    for (int at = 0; s->mode != STREAM_IMPLICIT && at < count + lag[DOWN]; at++)
        for (int k = 0; k < STEPS; k++) {
            const int which = s->mode < STREAM_INDEPENDENT ? k : steps[s->order][k];
            CLV_TRY(step(s, which, at - lag[which]));
        }
end:
    return status;
}

/* Nothing is under way any more, and nothing of one run is waited for in another. */
static void settle(stream *s)
{
    for (int i = 0; i < s->queues; i++) {
        const clv_queue own = clv_queue_use(s->ctx, s->queue[i]);
        clv_finish(s->ctx);
        clv_queue_use(s->ctx, own);
    }
    clv_finish(s->ctx);
    for (int i = 0; s->lane && i < s->lanes; i++)
        for (int k = 0; k < STEPS; k++)
            clv_transfer_end(&s->lane[i].done[k]);
}

int stream_run(stream *s)
{
    if (s->work->count < 1)
        return CLVOX_OK;
    s->failed = false;
    s->loaded = s->uploaded = s->downloaded = s->stored = 0;
    helper loader = {.s = s, .take = load, .after = &s->uploaded, .lead = s->lanes},
           storer = {.s = s, .take = store, .after = &s->downloaded};
    s->threads = s->mode == STREAM_DISK && !pthread_create(&loader.thread, NULL, help, &loader);
    if (s->threads && s->work->out && pthread_create(&storer.thread, NULL, help, &storer)) {
        /* One without the other would wait for ever. */
        advance(s, &s->stored, true);
        pthread_join(loader.thread, NULL);
        return clvox_fail(CLVOX_ERROR_MEMORY, "no thread for a stream can be started");
    }
    int status = run_items(s);
    if (status < 0)
        advance(s, &s->stored, true);
    if (s->threads) {
        pthread_join(loader.thread, NULL);
        if (s->work->out)
            pthread_join(storer.thread, NULL);
        status = outcome(outcome(status, &loader), &storer);
    } else {
        for (int item = s->stored; status >= 0 && s->work->out && item < s->work->count; item++)
            status = store(s, item);
    }
    settle(s);
    return status;
}

/* ---- room ----------------------------------------------------------------- */

static int open_queues(stream *s)
{
    int status = CLVOX_OK;
    const int wanted = s->mode == STREAM_SYNCHRONOUS ? 0
                       : s->mode == STREAM_IMPLICIT  ? (s->work->out ? QUEUES : 1)
                       : s->mode == STREAM_ENGINES   ? clv_copy_engines(s->ctx)
                                                     : 2;
    for (; s->queues < wanted; s->queues++)
        CLV_TRY(clv_queue_open(s->ctx, &s->queue[s->queues]));
    status = clv_finish(s->ctx); /* what is under way on the context's own comes first */
end:
    return status;
}

static int open_lanes(stream *s)
{
    int status = CLVOX_OK;
    const int count = s->work->count, most = s->mode == STREAM_SYNCHRONOUS ? 1
                                             : s->mode == STREAM_IMPLICIT  ? count
                                             : s->mode == STREAM_ENGINES   ? 1 + s->queues
                                                                           : STEPS;
    s->lanes = most < count ? most : count;
    s->lane = calloc((size_t)s->lanes, sizeof *s->lane);
    if (!s->lane)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < s->lanes; i++) {
        lane *l = &s->lane[i];
        const clv_request requests[] = {{&l->in, s->work->in, "items of a stream"},
                                        {&l->out, s->work->out, "results of a stream"}};
        CLV_TRY(clv_pool_take(s->ctx, requests, s->work->out ? 2 : 1));
        CLV_TRY(clv_pinned_create(s->ctx, s->work->in, &l->to));
        if (s->work->out)
            CLV_TRY(clv_pinned_create(s->ctx, s->work->out, &l->from));
    }
end:
    return status;
}

void stream_destroy(stream **items)
{
    stream *s = *items;
    if (!s)
        return;
    settle(s);
    for (int i = 0; i < s->queues; i++)
        clv_queue_close(&s->queue[i]);
    for (int i = 0; s->lane && i < s->lanes; i++) {
        lane *l = &s->lane[i];
        clv_pinned_destroy(&l->to);
        clv_pinned_destroy(&l->from);
        clv_buffer_destroy(&l->in);
        clv_buffer_destroy(&l->out);
    }
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s->lane);
    free(s);
    *items = NULL;
}

int stream_create(clvox_context *ctx, const stream_work *work, stream_mode mode, stream_order order,
                  stream **out)
{
    int status = CLVOX_OK;
    stream *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    *s = (stream){.ctx = ctx, .work = work, .mode = mode, .order = order};
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    if (work->count > 0) {
        CLV_TRY(open_queues(s));
        CLV_TRY(open_lanes(s));
    }
    *out = s;
    s = NULL;
end:
    stream_destroy(&s);
    return status;
}
