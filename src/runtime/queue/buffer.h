/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory: buffers, transfers, and what a pipeline asks for at once. */
#ifndef CLV_RUNTIME_BUFFER_H
#define CLV_RUNTIME_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "clvox/device.h"

/* A device allocation. mem and image are cl_mem that only src/runtime touches. */
typedef struct clv_buffer {
    void *mem;
    void *image; /* NULL but after clv_buffer_image */
    size_t bytes;
    char *host; /* the caller's memory that it lies in; NULL: its own */
    clvox_context *owner;
} clv_buffer;

/* what names the buffer in error messages ("displacement field"). On success
 * *out is the caller's; on failure NULL. Contents are undefined. */
int clv_buffer_create(clvox_context *ctx, size_t bytes, const char *what, clv_buffer **out);
void clv_buffer_destroy(clv_buffer **buffer); /* NULL is legal */
/* A caller's cl_mem of the same cl_context as a buffer, for one call: it stays the caller's, and *out is not to be
 * destroyed. CLVOX_ERROR_ARGUMENT where it has less than so many bytes. */
int clv_buffer_wrap(clvox_context *ctx, void *mem, size_t bytes, const char *what, clv_buffer *out);
/* Lets kernels read the buffer as an image1d_buffer_t of float4 too, passed by
 * CLV_IMAGE. For comparisons: CPU devices read images many times slower. */
int clv_buffer_image(clvox_context *ctx, clv_buffer *buffer, const char *what);
/* Blocking transfers between host and device. */
int clv_buffer_write(clvox_context *ctx, clv_buffer *buffer, size_t offset, const void *data,
                     size_t bytes);
int clv_buffer_read(clvox_context *ctx, const clv_buffer *buffer, size_t offset, void *data,
                    size_t bytes);
/* The same in pinned memory, which is the queue's until clv_transfer_wait: several threads may wait for a
 * transfer each, while only one at a time begins one. */
typedef struct clv_transfer {
    void *event; /* NULL: it is over */
} clv_transfer;
int clv_buffer_read_begin(clvox_context *ctx, const clv_buffer *buffer, size_t offset, void *data,
                          size_t bytes, clv_transfer *transfer);
int clv_buffer_write_begin(clvox_context *ctx, clv_buffer *buffer, size_t offset, const void *data,
                           size_t bytes, clv_transfer *transfer);
int clv_transfer_wait(clv_transfer *transfer); /* also of one that is over, or failed to begin */
/* In queue order, without waiting. Offsets and sizes are multiples of 4. */
int clv_buffer_fill(clvox_context *ctx, clv_buffer *buffer, size_t offset, uint32_t word,
                    size_t bytes);
int clv_buffer_copy(clvox_context *ctx, const clv_buffer *from, size_t from_offset, clv_buffer *to,
                    size_t to_offset, size_t bytes);
int clv_finish(clvox_context *ctx);

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

/* So many bytes of pinned memory, which the context keeps: for a function that is done with it before it
 * returns. NULL: on CPU devices, and where there is none. */
void *clv_staging(clvox_context *ctx, size_t bytes);

/* As clv_buffer_write from the buffer's start, for a volume: where that is faster by way of pinned memory,
 * which several threads fill. */
int clv_buffer_send(clvox_context *ctx, clv_buffer *buffer, const void *data, size_t bytes);

/* Starts to watch the device memory that buffers take, and returns what they
 * take now; clv_peak_bytes says the most since then. */
size_t clv_peak_start(clvox_context *ctx);
size_t clv_peak_bytes(const clvox_context *ctx);

/* A pipeline lists all it needs, asks the size beforehand, and takes it once. */
typedef struct clv_request {
    clv_buffer **slot; /* set by clv_pool_take, NULLed by clv_pool_release */
    size_t bytes;
    const char *what;
} clv_request;

/* Buffers that pools release stay with the context, up to so many bytes, for requests of the same size;
 * GPUs begin with a share of their memory, CPU devices with 0. They go where others need the room. */
void clv_pool_spare(clvox_context *ctx, size_t bytes);

size_t clv_pool_bytes(const clv_request *requests, int count);
/* Takes every request or none; refuses with needed and available bytes. */
int clv_pool_take(clvox_context *ctx, const clv_request *requests, int count);
/* The same with a place in host memory for each that has one (others NULL): on CPU
 * devices the buffer lies there, begins with what is there, and clv_buffer_write
 * and clv_buffer_read of that very place move nothing; elsewhere it is a buffer
 * like others. The memory outlives the buffer, and is looked at only after
 * clv_buffer_read. */
int clv_pool_take_over(clvox_context *ctx, const clv_request *requests, void *const *host, int count);
void clv_pool_release(const clv_request *requests, int count);

#endif
