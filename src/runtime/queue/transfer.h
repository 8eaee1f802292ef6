/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers by way of pinned memory. One thread copies less than a bus carries, and a driver that is given
 * memory of the program copies with one: several threads have a piece of a transfer each, which they fill or
 * empty while those of others are on the bus. */
#ifndef CLV_RUNTIME_TRANSFER_H
#define CLV_RUNTIME_TRANSFER_H

#include "runtime/queue/buffer.h"

/* Host memory that the driver transfers without a copy of its own ("pinned"); where it has no room for
 * that, memory like any other. */
typedef struct clv_pinned {
    void *data;
    size_t bytes;
    void *mem; /* NULL: like any other; only src/runtime touches it */
    clvox_context *owner;
} clv_pinned;

/* On success *out is the caller's. */
int clv_pinned_create(clvox_context *ctx, size_t bytes, clv_pinned **out);
void clv_pinned_destroy(clv_pinned **pinned); /* NULL is legal */

/* Threads that pass pieces at once, and bytes of one: four contexts of two H200s took twice as long with
 * pieces of a quarter of that. */
enum { CLV_SLOTS = 16, CLV_PIECE = 1 << 20, CLV_STAGING = CLV_SLOTS * CLV_PIECE };

/* So many bytes of pinned memory, which the context keeps: for a function that is done with it before it
 * returns. NULL: there is none. */
void *clv_staging(clvox_context *ctx, size_t bytes);
/* Gives it back; whether there was any. */
bool clv_staging_drop(clvox_context *ctx);
/* Whether so many bytes pass faster by way of it than from the program's own memory. worth: as many must pass
 * at least if the context has yet to pin some. Never on CPU devices. */
bool clv_staging_pays(const clvox_context *ctx, size_t bytes, size_t worth);

typedef enum clv_direction { CLV_TO_DEVICE, CLV_FROM_DEVICE } clv_direction;

/* clv_buffer_write or clv_buffer_read in pinned memory, which is the queue's until clv_transfer_wait: any
 * number of threads may wait, while only one at a time begins a transfer. Each ends with clv_transfer_end,
 * which waits for nothing. Both take one that failed to begin, too. */
typedef struct clv_transfer {
    void *event; /* NULL: it is over */
} clv_transfer;
int clv_transfer_begin(clvox_context *ctx, clv_buffer *buffer, clv_direction direction, size_t offset,
                       void *pinned, size_t bytes, clv_transfer *transfer);
int clv_transfer_wait(const clv_transfer *transfer);
void clv_transfer_end(clv_transfer *transfer);

/* Queues beside the context's own, so that transfers and kernels overlap. Whatever the context queues goes to
 * the one in use; clv_queue_use returns the one before. */
typedef struct clv_queue {
    void *queue; /* only src/runtime touches it */
} clv_queue;
int clv_queue_open(clvox_context *ctx, clv_queue *queue);
void clv_queue_close(clv_queue *queue); /* waits for what is in it; also of one that failed to open */
clv_queue clv_queue_use(clvox_context *ctx, clv_queue queue);
/* All that is queued from now on begins after these transfers, of any queue. */
int clv_queue_after(clvox_context *ctx, const clv_transfer *const *before, int count);
/* Begins what has been queued; *mark is over once all of it is, as a transfer would be. */
int clv_queue_mark(clvox_context *ctx, clv_transfer *mark);
/* Transfers that a device makes at once while it computes: 2, or 1 where it does not tell. */
int clv_copy_engines(const clvox_context *ctx);

/* A transfer between a buffer and the host. */
typedef struct clv_passage {
    clv_buffer *buffer;
    clv_direction direction;
    size_t bytes;
    size_t files; /* whose parts follow each other, of which several are read or written at once; 0: one */
    /* Fills or empties a piece: from several threads. */
    int (*host)(void *user, size_t at, void *piece, size_t bytes);
    void *user;
} clv_passage;

/* In pieces, also on CPU devices. CLVOX_ERROR_MEMORY: there is no memory for them. */
int clv_pass(clvox_context *ctx, const clv_passage *passage);

/* As clv_buffer_write and clv_buffer_read from the buffer's start, in pieces where that is faster. */
int clv_buffer_send(clvox_context *ctx, clv_buffer *buffer, const void *data, size_t bytes);
int clv_buffer_fetch(clvox_context *ctx, clv_buffer *buffer, void *data, size_t bytes);

#endif
