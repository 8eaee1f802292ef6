/* SPDX-License-Identifier: Apache-2.0 */
/* Many items through a device that has room for a few: brought there, worked on, taken back (Ha 2011, chapter
 * 4). */
#ifndef CLV_RUNTIME_STREAM_H
#define CLV_RUNTIME_STREAM_H

#include "runtime/queue/transfer.h"

/* How bringing, working and taking back overlap. The results are the same. */
typedef enum clv_stream_mode {
    CLV_STREAM_SYNCHRONOUS, /* not at all: one item, one step at a time */
    CLV_STREAM_IMPLICIT,    /* queues in turn, one for all steps of an item; all items are on the device */
    CLV_STREAM_ENGINES,     /* a queue for each engine; with one for transfers two items are there */
    CLV_STREAM_INDEPENDENT, /* a queue for each step, on any device: three items */
    CLV_STREAM_DISK,        /* the same, and threads of their own that load and store */
    CLV_STREAM_MODES
} clv_stream_mode;
extern const char *const clv_stream_words[CLV_STREAM_MODES];

/* In which order the steps of three items are queued: no matter where nothing waits; where compute does, the
 * steps queued before it go on meanwhile. */
typedef enum clv_stream_order {
    CLV_STREAM_UED, /* up, compute (execute), down */
    CLV_STREAM_EDU,
    CLV_STREAM_DUE,
    CLV_STREAM_ORDERS
} clv_stream_order;
extern const char *const clv_stream_orders[CLV_STREAM_ORDERS];

/* load fills in bytes of staging and store takes out bytes from it, on the host, for every item once and in
 * order, but from threads of their own for CLV_STREAM_DISK; compute queues work on the context from in to out
 * and may wait. Sums over items have out 0, where nothing is taken back: store and out are NULL then, and
 * CLV_STREAM_IMPLICIT has one queue. The first negative status ends the stream. */
typedef struct clv_stream_work {
    int count;
    size_t in, out; /* bytes of an item */
    int (*load)(void *user, int item, void *staging);
    int (*compute)(void *user, int item, clv_buffer *in, clv_buffer *out);
    int (*store)(void *user, int item, const void *staging);
    void *user;
} clv_stream_work;

/* Items on the device at once, and the device memory that they take. */
int clv_stream_items(const clvox_context *ctx, const clv_stream_work *work, clv_stream_mode mode);
size_t clv_stream_bytes(const clvox_context *ctx, const clv_stream_work *work, clv_stream_mode mode);

/* Room and queues for a stream; staging is pinned where the driver gives that. work is the caller's and has
 * to stay where it is; order is of CLV_STREAM_INDEPENDENT and CLV_STREAM_DISK. On success *out is the
 * caller's. */
typedef struct clv_stream clv_stream;
int clv_stream_create(clvox_context *ctx, const clv_stream_work *work, clv_stream_mode mode,
                      clv_stream_order order, clv_stream **out);
/* Streams all items, and waits until the last one is stored. May be called again. */
int clv_stream_run(clv_stream *stream);
void clv_stream_destroy(clv_stream **stream); /* NULL in it is legal */

#endif
