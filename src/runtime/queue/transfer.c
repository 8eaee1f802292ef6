/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/queue/transfer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/threads.h"
#include "runtime/device/context.h"
#include "runtime/queue/witness.h"

/* ---- one ------------------------------------------------------------------- */

int clv_transfer_begin(clvox_context *ctx, clv_buffer *buffer, clv_direction direction, size_t offset,
                       void *pinned, size_t bytes, clv_transfer *transfer)
{
    int status = CLVOX_OK;
    cl_event event = NULL;
    const bool there = direction == CLV_TO_DEVICE;
    transfer->event = NULL;
    if (bytes == 0 || clv_buffer_in_place(buffer, offset, pinned) || ctx->options.profile)
        return there ? clv_buffer_write(ctx, buffer, offset, pinned, bytes)
                     : clv_buffer_read(ctx, buffer, offset, pinned, bytes);
    if (there)
        CLV_CL(
            clEnqueueWriteBuffer(ctx->queue, buffer->mem, CL_FALSE, offset, bytes, pinned, 0, NULL, &event),
            "clEnqueueWriteBuffer", "sending data to the device");
    else
        CLV_CL(clEnqueueReadBuffer(ctx->queue, buffer->mem, CL_FALSE, offset, bytes, pinned, 0, NULL, &event),
               "clEnqueueReadBuffer", "fetching data from the device");
    transfer->event = event;
    CLV_CL(clFlush(ctx->queue), "clFlush", "beginning a transfer of data");
end:
    return status;
}

int clv_transfer_wait(const clv_transfer *transfer)
{
    int status = CLVOX_OK;
    cl_event event = transfer->event;
    if (event)
        CLV_CL(clWaitForEvents(1, &event), "clWaitForEvents", "a transfer of data");
end:
    return status;
}

void clv_transfer_end(clv_transfer *transfer)
{
    if (transfer->event)
        clReleaseEvent(transfer->event);
    transfer->event = NULL;
}

/* ---- queues ------------------------------------------------------------------ */

int clv_queue_open(clvox_context *ctx, clv_queue *queue)
{
    int status = CLVOX_OK;
    cl_int error;
    const cl_command_queue_properties properties = ctx->options.profile ? CL_QUEUE_PROFILING_ENABLE : 0;
    cl_command_queue made = clCreateCommandQueue(ctx->context, ctx->device, properties, &error);
    queue->queue = error == CL_SUCCESS ? made : NULL;
    CLV_CL(error, "clCreateCommandQueue", "transfers beside kernels");
end:
    return status;
}

void clv_queue_close(clv_queue *queue)
{
    if (!queue->queue)
        return;
    clFinish(queue->queue);
    clReleaseCommandQueue(queue->queue);
    queue->queue = NULL;
}

clv_queue clv_queue_use(clvox_context *ctx, clv_queue queue)
{
    const clv_queue before = {ctx->queue};
    ctx->queue = queue.queue;
    return before;
}

int clv_queue_after(clvox_context *ctx, const clv_transfer *const *before, int count)
{
    int status = CLVOX_OK;
    enum { MOST = 4 };
    cl_event events[MOST];
    cl_uint there = 0;
    for (int i = 0; i < count && i < MOST; i++)
        if (before[i]->event)
            events[there++] = before[i]->event;
    if (there)
        CLV_CL(clEnqueueBarrierWithWaitList(ctx->queue, there, events, NULL), "clEnqueueBarrierWithWaitList",
               "waiting for a transfer of data");
end:
    return status;
}

int clv_queue_mark(clvox_context *ctx, clv_transfer *mark)
{
    int status = CLVOX_OK;
    cl_event event = NULL;
    mark->event = NULL;
    CLV_CL(clEnqueueMarkerWithWaitList(ctx->queue, 0, NULL, &event), "clEnqueueMarkerWithWaitList",
           "marking what is queued");
    mark->event = event;
    CLV_CL(clFlush(ctx->queue), "clFlush", "beginning what is queued");
end:
    return status;
}

int clv_copy_engines(const clvox_context *ctx)
{
    enum { ENGINES = 0x4007 }; /* a vendor's, which OpenCL has no name for */
    cl_uint engines = 0;
    if (clGetDeviceInfo(ctx->device, ENGINES, sizeof engines, &engines, NULL) != CL_SUCCESS)
        engines = 1;
    return engines > 1 ? 2 : 1;
}

/* ---- pinned memory ----------------------------------------------------------- */

static int pin(clvox_context *ctx, clv_pinned *pinned)
{
    int status = CLVOX_OK;
    cl_int error;
    pinned->mem =
        clCreateBuffer(ctx->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, pinned->bytes, NULL, &error);
    CLV_CL(error, "clCreateBuffer", "pinned host memory");
    pinned->data = clEnqueueMapBuffer(ctx->queue, pinned->mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                      pinned->bytes, 0, NULL, NULL, &error);
    CLV_CL(error, "clEnqueueMapBuffer", "pinned host memory");
end:
    return status;
}

int clv_pinned_create(clvox_context *ctx, size_t bytes, clv_pinned **out)
{
    int status = CLVOX_OK;
    clv_pinned *pinned = calloc(1, sizeof *pinned);
    *out = NULL;
    if (!pinned)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    pinned->owner = ctx;
    pinned->bytes = bytes;
    status = pin(ctx, pinned);
    if (status == CLVOX_ERROR_MEMORY) {
        if (pinned->mem)
            clReleaseMemObject(pinned->mem);
        pinned->mem = NULL;
        pinned->data = malloc(bytes);
        status = pinned->data ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
    CLV_TRY(status);
    *out = pinned;
    pinned = NULL;
end:
    clv_pinned_destroy(&pinned);
    return status;
}

void clv_pinned_destroy(clv_pinned **pinned)
{
    clv_pinned *p = *pinned;
    if (!p)
        return;
    if (!p->mem)
        free(p->data);
    else if (p->data)
        clEnqueueUnmapMemObject(p->owner->queue, p->mem, p->data, 0, NULL, NULL);
    if (p->mem)
        clReleaseMemObject(p->mem);
    free(p);
    *pinned = NULL;
}

bool clv_staging_pays(const clvox_context *ctx, size_t bytes, size_t worth)
{
    const size_t pinned = 1 << 22; /* less has arrived before the threads have begun */
    return ctx->limits.type == CLVOX_DEVICE_GPU && bytes >= pinned && (ctx->staging || bytes >= worth);
}

bool clv_staging_drop(clvox_context *ctx)
{
    const bool there = ctx->staging != NULL;
    clv_pinned_destroy(&ctx->staging);
    return there;
}

void *clv_staging(clvox_context *ctx, size_t bytes)
{
    /* At once, as pinning more later takes longer than all of it now. */
    const size_t least = ctx->limits.type == CLVOX_DEVICE_GPU ? CLV_STAGING : 0;
    bytes = bytes > least ? bytes : least;
    if (ctx->staging && ctx->staging->bytes < bytes)
        clv_pinned_destroy(&ctx->staging);
    return ctx->staging || clv_pinned_create(ctx, bytes, &ctx->staging) >= 0 ? ctx->staging->data : NULL;
}

/* ---- much, in pieces ----------------------------------------------------------- */

typedef struct passing {
    clvox_context *ctx;
    const clv_passage *p;
    char *slots;
    size_t pieces;
    atomic_size_t next;
    pthread_mutex_t lock; /* of the queue: one thread at a time begins to pass a piece */
} passing;

/* The next piece to be taken is of another file than the one before; piece after piece of each. */
static size_t turns_of_a_file(const passing *t)
{
    const size_t files = t->p->files ? t->p->files : 1;
    return (t->pieces + files - 1) / files;
}

static int pass_piece(passing *t, char *slot, size_t at, size_t count)
{
    const clv_passage *p = t->p;
    const bool there = p->direction == CLV_TO_DEVICE;
    clv_transfer one;
    int status = there ? p->host(p->user, at, slot, count) : CLVOX_OK;
    if (status < 0)
        return status;
    pthread_mutex_lock(&t->lock);
    status = clv_transfer_begin(t->ctx, p->buffer, p->direction, at, slot, count, &one);
    pthread_mutex_unlock(&t->lock);
    const int passed = clv_transfer_wait(&one);
    clv_transfer_end(&one);
    status = status < 0 ? status : passed;
    return status < 0 || there ? status : p->host(p->user, at, slot, count);
}

static int pass_pieces(void *user, size_t slot, int worker)
{
    int status = CLVOX_OK;
    passing *t = user;
    const size_t files = t->p->files ? t->p->files : 1, each = turns_of_a_file(t), bytes = t->p->bytes;
    (void)worker;
    for (size_t turn; (turn = atomic_fetch_add(&t->next, 1)) < each * files;) {
        const size_t at = (turn % files * each + turn / files) * CLV_PIECE;
        if (at < bytes)
            CLV_TRY(pass_piece(t, t->slots + slot * CLV_PIECE, at,
                               bytes - at < CLV_PIECE ? bytes - at : CLV_PIECE));
    }
end:
    return status;
}

static int from_memory(void *user, size_t at, void *piece, size_t bytes)
{
    memcpy(piece, (const char *)user + at, bytes);
    return CLVOX_OK;
}

static int to_memory(void *user, size_t at, void *piece, size_t bytes)
{
    memcpy((char *)user + at, piece, bytes);
    return CLVOX_OK;
}

int clv_pass(clvox_context *ctx, const clv_passage *p)
{
    passing t = {.ctx = ctx, .p = p, .pieces = (p->bytes + CLV_PIECE - 1) / CLV_PIECE};
    const size_t slots = t.pieces < CLV_SLOTS ? t.pieces : CLV_SLOTS;
    const bool whole = p->host == to_memory; /* else nobody has all of it at the end */
    clv_witness witness;
    if (p->bytes == 0)
        return CLVOX_OK;
    if (!(t.slots = clv_staging(ctx, slots * CLV_PIECE)))
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    pthread_mutex_init(&t.lock, NULL);
    int status = clvox_parallel(slots, pass_pieces, &t);
    pthread_mutex_destroy(&t.lock);
    if (status < 0 || p->direction == CLV_TO_DEVICE)
        return status;
    status = clv_witness_ask(ctx, p->buffer, 0, whole ? p->bytes : 0, &witness);
    return status < 0 ? status : clv_witness_hear(ctx, &witness, p->user);
}

/* ---- between host memory and a buffer -------------------------------------------- */

/* To pin memory takes as long as the driver's own copies of so much. */
static const size_t WORTH = 1 << 24;

static int pass_memory(clvox_context *ctx, clv_buffer *buffer, clv_direction direction, void *data,
                       size_t bytes)
{
    const bool there = direction == CLV_TO_DEVICE;
    int status = CLVOX_ERROR_MEMORY;
    if (!buffer->host && clv_staging_pays(ctx, bytes, WORTH))
        status = clv_pass(ctx, &(clv_passage){.buffer = buffer,
                                              .direction = direction,
                                              .bytes = bytes,
                                              .host = there ? from_memory : to_memory,
                                              .user = data});
    if (status == CLVOX_ERROR_MEMORY) /* or there is no pinned memory */
        status = there ? clv_buffer_write(ctx, buffer, 0, data, bytes)
                       : clv_buffer_read(ctx, buffer, 0, data, bytes);
    return status;
}

int clv_buffer_send(clvox_context *ctx, clv_buffer *buffer, const void *data, size_t bytes)
{
    return pass_memory(ctx, buffer, CLV_TO_DEVICE, (void *)data, bytes); /* nothing is written to it */
}

int clv_buffer_fetch(clvox_context *ctx, clv_buffer *buffer, void *data, size_t bytes)
{
    return pass_memory(ctx, buffer, CLV_FROM_DEVICE, data, bytes);
}
