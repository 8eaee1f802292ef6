/* SPDX-License-Identifier: Apache-2.0 */
/* Many items through a device that has room for a few: brought there, worked on, taken back (Ha 2011, chapter
 * 4). */
#ifndef BENCH_PAPERS_STREAM_H
#define BENCH_PAPERS_STREAM_H

#include "runtime/runtime.h"

/* How bringing, working and taking back overlap. The results are the same. */
typedef enum stream_mode {
    STREAM_SYNCHRONOUS, /* not at all: one item, one step at a time */
    STREAM_IMPLICIT,    /* queues in turn, one for all steps of an item; all items are on the device */
    STREAM_ENGINES,     /* a queue for each engine; with one for transfers two items are there */
    STREAM_INDEPENDENT, /* a queue for each step, on any device: three items */
    STREAM_DISK,        /* the same, and threads of their own that load and store */
    STREAM_MODES
} stream_mode;

/* In which order the steps of three items are queued: no matter where nothing waits; where compute does, the
 * steps queued before it go on meanwhile. */
typedef enum stream_order {
    STREAM_UED, /* up, compute (execute), down */
    STREAM_EDU,
    STREAM_DUE,
    STREAM_ORDERS
} stream_order;

/* load fills in bytes of staging and store takes out bytes from it, on the host, for every item once and in
 * order, but from threads of their own for STREAM_DISK; compute queues work on the context from in to out and
 * may wait. Sums over items have out 0, where nothing is taken back: store and out are NULL then, and
 * STREAM_IMPLICIT has one queue. The first negative status ends the stream. */
typedef struct stream_work {
    int count;
    size_t in, out; /* bytes of an item */
    int (*load)(void *user, int item, void *staging);
    int (*compute)(void *user, int item, clv_buffer *in, clv_buffer *out);
    int (*store)(void *user, int item, const void *staging);
    void *user;
} stream_work;

/* Room and queues for a stream; staging is pinned where the driver gives that. work is the caller's and has
 * to stay where it is; order is of STREAM_INDEPENDENT and STREAM_DISK. On success *out is the caller's. */
typedef struct stream stream;
int stream_create(clvox_context *ctx, const stream_work *work, stream_mode mode, stream_order order,
                  stream **out);
/* Streams all items, and waits until the last one is stored. May be called again. */
int stream_run(stream *items);
void stream_destroy(stream **items); /* NULL in it is legal */

#endif
