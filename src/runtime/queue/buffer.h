/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory: buffers, transfers, and what a pipeline asks for at once. */
#ifndef CLV_RUNTIME_BUFFER_H
#define CLV_RUNTIME_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "clvox/device.h"

/* A device allocation. mem and image are cl_mem that only src/runtime touches. */
typedef struct clv_buffer {
    void *mem;   /* NULL of clv_image_create */
    void *image; /* NULL but after clv_buffer_image and clv_image_create */
    size_t bytes;
    char *host; /* the caller's memory that it lies in; NULL: its own */
    clvox_context *owner;
} clv_buffer;

/* what names the buffer in error messages ("displacement field"). On success
 * *out is the caller's; on failure NULL. Contents are undefined. */
int clv_buffer_create(clvox_context *ctx, size_t bytes, const char *what, clv_buffer **out);
void clv_buffer_destroy(clv_buffer **buffer); /* NULL is legal */
/* A caller's cl_mem of the same cl_context as a buffer, for one call: it stays the caller's, and *out is
 * not to be destroyed. CLVOX_ERROR_ARGUMENT where it has less than so many bytes. */
int clv_buffer_wrap(clvox_context *ctx, void *mem, size_t bytes, const char *what, clv_buffer *out);
/* Lets kernels read the buffer as an image1d_buffer_t of float4 too, passed by
 * CLV_IMAGE. For comparisons: CPU devices read images many times slower. */
int clv_buffer_image(clvox_context *ctx, clv_buffer *buffer, const char *what);
/* An image object, read only, of the single floats that a buffer holds, for comparisons: size NULL, a 1-D
 * one that lies in the buffer itself; else a 3-D copy of what is there now. Passed by CLV_IMAGE; to be
 * destroyed before the buffer. CLVOX_ERROR_DEVICE where the device has none. */
int clv_image_create(clvox_context *ctx, const clv_buffer *from, const int size[3], const char *what,
                     clv_buffer **out);
/* The same in two steps, also as an array of 2-D images, one a plane. */
typedef enum clv_image_kind { CLV_IMAGE_3D, CLV_IMAGE_PLANES } clv_image_kind;
int clv_image_make(clvox_context *ctx, clv_image_kind kind, const int size[3], const char *what,
                   clv_buffer **out);
int clv_image_fill(clvox_context *ctx, const clv_buffer *from, const int size[3], clv_buffer *image);
/* Blocking transfers between host and device. CLVOX_ERROR_DEVICE where what is read is not what kernels see
 * (witness.h). */
int clv_buffer_write(clvox_context *ctx, clv_buffer *buffer, size_t offset, const void *data,
                     size_t bytes);
int clv_buffer_read(clvox_context *ctx, const clv_buffer *buffer, size_t offset, void *data,
                    size_t bytes);
/* Whether a transfer would be between a place and itself (clv_pool_take_over). */
bool clv_buffer_in_place(const clv_buffer *buffer, size_t offset, const void *data);
/* In queue order, without waiting. Offsets and sizes are multiples of 4. */
int clv_buffer_fill(clvox_context *ctx, clv_buffer *buffer, size_t offset, uint32_t word,
                    size_t bytes);
int clv_buffer_copy(clvox_context *ctx, const clv_buffer *from, size_t from_offset, clv_buffer *to,
                    size_t to_offset, size_t bytes);
int clv_finish(clvox_context *ctx);

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
/* As many bytes as a device spares for a context beside so many others of this program. */
void clv_pool_spare_share(clvox_context *ctx, int beside);

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
