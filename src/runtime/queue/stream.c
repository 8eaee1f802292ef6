/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/queue/stream.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/context.h"
#include "runtime/queue/witness.h"

const char *const clv_stream_words[CLV_STREAM_MODES] = {"synchronous", "implicit", "engines", "independent",
                                                        "disk"};
const char *const clv_stream_orders[CLV_STREAM_ORDERS] = {"UED", "EDU", "DUE"};

/* QUEUES: of items in turn. ENGINES: a vendor's count of engines for copies, which OpenCL has no name for. */
enum { QUEUES = 4, ENGINES = 0x4007 };
enum { UP, EXECUTE, DOWN, STEPS };
/* Of a step that ends because another one has failed, whose status is the stream's. */
enum { ABANDONED = -1000 };

/* The room of one item on the device, which items take in turn. An event is of the last item that has come so
 * far. */
typedef struct lane {
    clv_buffer *in, *out;
    clv_pinned *to, *from; /* staging */
    cl_event event[STEPS];
} lane;

struct clv_stream {
    clvox_context *ctx;
    const clv_stream_work *work;
    clv_stream_mode mode;
    clv_stream_order order;
    cl_command_queue own, queue[QUEUES]; /* of the context; of a step, or of items */
    int queues, lanes;
    lane *lane;
    /* With threads that load and store: how far each has come, and whether all end. Else the same without
     * waiting. */
    bool threads, failed;
    int loaded, uploaded, downloaded, stored;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* ---- sizes --------------------------------------------------------------- */

/* Engines that copy while others compute. */
static int copy_engines(const clvox_context *ctx)
{
    cl_uint engines = 0;
    if (clGetDeviceInfo(ctx->device, ENGINES, sizeof engines, &engines, NULL) != CL_SUCCESS)
        engines = 1;
    return engines > 1 ? 2 : 1;
}

int clv_stream_items(const clvox_context *ctx, const clv_stream_work *work, clv_stream_mode mode)
{
    const int most = mode == CLV_STREAM_SYNCHRONOUS ? 1
                     : mode == CLV_STREAM_IMPLICIT  ? work->count
                     : mode == CLV_STREAM_ENGINES   ? 1 + copy_engines(ctx)
                                                    : STEPS;
    return most < work->count ? most : work->count;
}

size_t clv_stream_bytes(const clvox_context *ctx, const clv_stream_work *work, clv_stream_mode mode)
{
    return (size_t)clv_stream_items(ctx, work, mode) * (work->in + work->out);
}

/* ---- one after another on the host ---------------------------------------- */

static int wait_for(cl_event event)
{
    int status = CLVOX_OK;
    if (event)
        CLV_CL(clWaitForEvents(1, &event), "clWaitForEvents", "waiting for a transfer");
end:
    return status;
}

/* Until *count is more than `item`, or all end. */
static int wait_until(clv_stream *s, const int *count, int item)
{
    pthread_mutex_lock(&s->lock);
    while (*count <= item && !s->failed)
        pthread_cond_wait(&s->changed, &s->lock);
    const bool there = *count > item;
    pthread_mutex_unlock(&s->lock);
    return there ? CLVOX_OK : ABANDONED;
}

static void advance(clv_stream *s, int *count, bool failed)
{
    pthread_mutex_lock(&s->lock);
    *count += !failed;
    s->failed |= failed;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* The staging of an item is filled, once the one before in it is on the device. */
static int load(clv_stream *s, int item)
{
    lane *l = &s->lane[item % s->lanes];
    int status = wait_for(l->event[UP]);
    if (status >= 0)
        status = s->work->load(s->work->user, item, l->to->data);
    advance(s, &s->loaded, status < 0);
    return status;
}

static int store(clv_stream *s, int item)
{
    lane *l = &s->lane[item % s->lanes];
    int status = wait_for(l->event[DOWN]);
    if (status >= 0 && s->work->out)
        status = s->work->store(s->work->user, item, l->from->data);
    advance(s, &s->stored, status < 0);
    return status;
}

/* ---- the steps ------------------------------------------------------------ */

static cl_command_queue queue_of(const clv_stream *s, int step, int item)
{
    static const int with_one_engine[STEPS] = {0, 1, 1};
    return s->mode == CLV_STREAM_SYNCHRONOUS ? s->own
           : s->mode == CLV_STREAM_IMPLICIT  ? s->queue[item % s->queues]
           : step == EXECUTE                 ? s->own
           : s->queues == 1                  ? (with_one_engine[step] ? s->own : s->queue[0])
                                             : s->queue[step == DOWN];
}

/* Takes the event of a step over, whose time --profile shows. */
static int note(clv_stream *s, lane *l, int step, cl_event event)
{
    if (l->event[step])
        clReleaseEvent(l->event[step]);
    l->event[step] = event;
    if (step == EXECUTE || !s->ctx->options.profile)
        return CLVOX_OK;
    clRetainEvent(event);
    return clv_timing_add(s->ctx, event, step == UP ? "(to the device)" : "(from the device)", NULL,
                          (double)(step == UP ? s->work->in : s->work->out));
}

/* After a command: begun, and where nothing overlaps waited for. */
static int begun(const clv_stream *s, cl_command_queue queue)
{
    int status = CLVOX_OK;
    if (s->mode == CLV_STREAM_SYNCHRONOUS)
        CLV_CL(clFinish(queue), "clFinish", "waiting for the device");
    else
        CLV_CL(clFlush(queue), "clFlush", "beginning a step of a stream");
end:
    return status;
}

/* Those of the events that there are. */
static cl_uint list(cl_event a, cl_event b, cl_event out[2])
{
    cl_uint count = 0;
    if (a)
        out[count++] = a;
    if (b)
        out[count++] = b;
    return count;
}

static int upload(clv_stream *s, int item)
{
    int status = CLVOX_OK;
    lane *l = &s->lane[item % s->lanes];
    cl_event event = NULL, before[2];
    const cl_command_queue queue = queue_of(s, UP, item);
    CLV_TRY(s->threads ? wait_until(s, &s->loaded, item) : load(s, item));
    const cl_uint count = list(l->event[EXECUTE], NULL, before);
    CLV_CL(clEnqueueWriteBuffer(queue, l->in->mem, CL_FALSE, 0, s->work->in, l->to->data, count,
                                count ? before : NULL, &event),
           "clEnqueueWriteBuffer", "sending an item to the device");
    CLV_TRY(note(s, l, UP, event));
    CLV_TRY(begun(s, queue));
    advance(s, &s->uploaded, false);
end:
    return status;
}

static int execute(clv_stream *s, int item)
{
    int status = CLVOX_OK;
    lane *l = &s->lane[item % s->lanes];
    cl_event event = NULL, before[2];
    const cl_command_queue queue = queue_of(s, EXECUTE, item);
    const cl_uint count = list(l->event[UP], l->event[DOWN], before);
    s->ctx->queue = queue;
    CLV_CL(clEnqueueBarrierWithWaitList(queue, count, before, NULL), "clEnqueueBarrierWithWaitList",
           "waiting for an item");
    CLV_TRY(s->work->compute(s->work->user, item, l->in, l->out));
    CLV_CL(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), "clEnqueueMarkerWithWaitList",
           "marking an item");
    CLV_TRY(note(s, l, EXECUTE, event));
    status = begun(s, queue);
end:
    s->ctx->queue = s->own;
    return status;
}

static int download(clv_stream *s, int item)
{
    int status = CLVOX_OK;
    lane *l = &s->lane[item % s->lanes];
    cl_event event = NULL;
    const cl_command_queue queue = queue_of(s, DOWN, item);
    if (!s->work->out)
        return CLVOX_OK;
    if (item >= s->lanes) /* the one before in its staging */
        CLV_TRY(s->threads ? wait_until(s, &s->stored, item - s->lanes) : store(s, item - s->lanes));
    CLV_CL(clEnqueueReadBuffer(queue, l->out->mem, CL_FALSE, 0, s->work->out, l->from->data, 1,
                               &l->event[EXECUTE], &event),
           "clEnqueueReadBuffer", "fetching an item from the device");
    CLV_TRY(note(s, l, DOWN, event));
    CLV_TRY(begun(s, queue));
    advance(s, &s->downloaded, false);
end:
    return status;
}

/* ---- threads that load and store ------------------------------------------- */

typedef struct helper {
    clv_stream *s;
    int (*take)(clv_stream *s, int item);
    const int *after; /* it waits until this is more than the item less `lead` */
    int lead, status;
    char sentence[1024]; /* which belongs to the thread */
    pthread_t thread;
} helper;

static void *help(void *argument)
{
    helper *h = argument;
    clv_stream *s = h->s;
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

/* Nothing is under way any more, and no event of one run is waited for in another. */
static void settle(clv_stream *s)
{
    for (int i = 0; i < s->queues; i++)
        clFinish(s->queue[i]);
    clFinish(s->own);
    for (int i = 0; s->lane && i < s->lanes; i++)
        for (int k = 0; k < STEPS; k++)
            if (s->lane[i].event[k]) {
                clReleaseEvent(s->lane[i].event[k]);
                s->lane[i].event[k] = NULL;
            }
}

/* ---- all items ------------------------------------------------------------ */

static int step(clv_stream *s, int which, int item)
{
    return item < 0 || item >= s->work->count ? CLVOX_OK
           : which == UP                      ? upload(s, item)
           : which == EXECUTE                 ? execute(s, item)
                                              : download(s, item);
}

static int run_items(clv_stream *s)
{
    static const int steps[CLV_STREAM_ORDERS][STEPS] = {
        {UP, EXECUTE, DOWN}, {EXECUTE, DOWN, UP}, {DOWN, UP, EXECUTE}};
    int status = CLVOX_OK;
    const int count = s->work->count;
    if (s->mode == CLV_STREAM_IMPLICIT) {
        for (int which = UP; which < STEPS; which++)
            for (int item = 0; item < count; item++)
                CLV_TRY(step(s, which, item));
        goto end;
    }
    if (s->mode == CLV_STREAM_SYNCHRONOUS) {
        for (int item = 0; item < count; item++)
            for (int which = UP; which < STEPS; which++)
                CLV_TRY(step(s, which, item));
        goto end;
    }
    const int lag = s->queues == 1 ? 1 : 2; /* of taking back: one queue works and takes back */
    for (int at = 0; at < count + lag; at++)
        for (int k = 0; k < STEPS; k++) {
            const int which = s->mode == CLV_STREAM_ENGINES ? k : steps[s->order][k];
            CLV_TRY(step(s, which, which == UP ? at : which == EXECUTE ? at - 1 : at - lag));
        }
end:
    return status;
}

int clv_stream_run(clv_stream *s)
{
    clv_witness witness;
    if (s->work->count < 1)
        return CLVOX_OK;
    s->failed = false;
    s->loaded = s->uploaded = s->downloaded = s->stored = 0;
    helper loader = {.s = s, .take = load, .after = &s->uploaded, .lead = s->lanes},
           storer = {.s = s, .take = store, .after = &s->downloaded};
    s->threads = s->mode == CLV_STREAM_DISK && !pthread_create(&loader.thread, NULL, help, &loader);
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
    if (status >= 0)
        status = clv_witness_ask(s->ctx, NULL, 0, 0, &witness);
    return status < 0 ? status : clv_witness_hear(s->ctx, &witness, NULL);
}

/* ---- room ----------------------------------------------------------------- */

static int open_queues(clv_stream *s)
{
    int status = CLVOX_OK;
    cl_int error;
    const cl_command_queue_properties properties = s->ctx->options.profile ? CL_QUEUE_PROFILING_ENABLE : 0;
    const int wanted = s->mode == CLV_STREAM_SYNCHRONOUS ? 0
                       : s->mode == CLV_STREAM_IMPLICIT  ? (s->work->out ? QUEUES : 1)
                       : s->mode == CLV_STREAM_ENGINES   ? copy_engines(s->ctx)
                                                         : 2;
    for (; s->queues < wanted; s->queues++) {
        s->queue[s->queues] = clCreateCommandQueue(s->ctx->context, s->ctx->device, properties, &error);
        CLV_CL(error, "clCreateCommandQueue", "a stream");
    }
    /* What is under way on the context's own comes first. */
    CLV_CL(clFinish(s->own), "clFinish", "waiting for the device");
end:
    return status;
}

static int open_lanes(clv_stream *s)
{
    int status = CLVOX_OK;
    s->lanes = clv_stream_items(s->ctx, s->work, s->mode);
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

void clv_stream_destroy(clv_stream **stream)
{
    clv_stream *s = *stream;
    if (!s)
        return;
    settle(s);
    for (int i = 0; i < s->queues; i++)
        clReleaseCommandQueue(s->queue[i]);
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
    *stream = NULL;
}

int clv_stream_create(clvox_context *ctx, const clv_stream_work *work, clv_stream_mode mode,
                      clv_stream_order order, clv_stream **out)
{
    int status = CLVOX_OK;
    clv_stream *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    *s = (clv_stream){.ctx = ctx, .work = work, .mode = mode, .order = order, .own = ctx->queue};
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    if (work->count > 0) {
        CLV_TRY(open_queues(s));
        CLV_TRY(open_lanes(s));
    }
    *out = s;
    s = NULL;
end:
    clv_stream_destroy(&s);
    return status;
}
