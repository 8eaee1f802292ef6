/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/queue/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/device/context.h"
#include "runtime/device/gate.h"
#include "runtime/queue/witness.h"

/* ---- spare buffers --------------------------------------------------------- */

/* Smaller ones are cheap to make. */
static const size_t SPARED = 1 << 18;

static void drop_oldest(clvox_context *ctx)
{
    clReleaseMemObject(ctx->spare[0].mem);
    ctx->spare_bytes -= ctx->spare[0].bytes;
    ctx->spares--;
    for (int i = 0; i < ctx->spares; i++)
        ctx->spare[i] = ctx->spare[i + 1];
}

void clv_pool_spare(clvox_context *ctx, size_t bytes)
{
    ctx->spare_most = bytes;
    while (ctx->spare_bytes > bytes)
        drop_oldest(ctx);
}

void clv_pool_spare_share(clvox_context *ctx, int beside)
{
    const double share = .08; /* of the device's room, for those of all its contexts together */
    clv_pool_spare(ctx, (size_t)(share * (double)clv_context_room(ctx) / (1 + beside)));
}

/* One of that size, the latest; NULL: there is none. */
static cl_mem take_spare(clvox_context *ctx, size_t bytes)
{
    for (int i = ctx->spares - 1; i >= 0; i--) {
        cl_mem found = ctx->spare[i].mem;
        if (ctx->spare[i].bytes != bytes)
            continue;
        ctx->spare_bytes -= bytes;
        ctx->spares--;
        for (int k = i; k < ctx->spares; k++)
            ctx->spare[k] = ctx->spare[k + 1];
        return found;
    }
    return NULL;
}

/* Commands of the context's queue that still use it come before those of its next owner. */
static void spare(clv_buffer **buffer)
{
    clv_buffer *b = *buffer;
    if (!b || b->host || b->image || b->bytes < SPARED || b->bytes > b->owner->spare_most) {
        clv_buffer_destroy(buffer);
        return;
    }
    clvox_context *ctx = b->owner;
    while (ctx->spares == CLV_MOST_SPARES || ctx->spare_bytes + b->bytes > ctx->spare_most)
        drop_oldest(ctx);
    ctx->spare[ctx->spares++] = (clv_spare){b->mem, b->bytes};
    ctx->spare_bytes += b->bytes;
    ctx->allocated -= b->bytes;
    free(b);
    *buffer = NULL;
}

/* ---- buffers --------------------------------------------------------------- */

/* host: memory to lie in, on CPU devices; NULL: the device's own. */
static int create(clvox_context *ctx, void *host, size_t bytes, const char *what, clv_buffer **out)
{
    *out = NULL;
    if (bytes == 0)
        bytes = 4;
    if (ctx->limits.max_allocation && bytes > ctx->limits.max_allocation)
        return clvox_fail(CLVOX_ERROR_MEMORY,
                          "%s needs one allocation of %.0f MiB, but %s allows %.0f MiB; use a smaller "
                          "grid or another device",
                          what, (double)bytes / 1048576, ctx->limits.name,
                          (double)ctx->limits.max_allocation / 1048576);
    clv_buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of host memory", what);
    cl_int error;
    cl_mem_flags flags = CL_MEM_READ_WRITE;
    if (host && ctx->limits.type == CLVOX_DEVICE_CPU) {
        buffer->host = host;
        flags |= CL_MEM_USE_HOST_PTR;
    }
    buffer->mem = buffer->host ? NULL : take_spare(ctx, bytes);
    error = CL_SUCCESS;
    for (int again = 0; !buffer->mem && again < 2; again++) {
        buffer->mem = clCreateBuffer(ctx->context, flags, bytes, buffer->host, &error);
        if (error == CL_SUCCESS || !ctx->spares)
            break;
        while (ctx->spares)
            drop_oldest(ctx);
    }
    if (error != CL_SUCCESS) {
        free(buffer);
        return clv_cl_fail(error, "clCreateBuffer", what);
    }
    buffer->bytes = bytes;
    ctx->allocated += bytes;
    if (ctx->allocated > ctx->peak)
        ctx->peak = ctx->allocated;
    buffer->owner = ctx;
    *out = buffer;
    return CLVOX_OK;
}

int clv_buffer_create(clvox_context *ctx, size_t bytes, const char *what, clv_buffer **out)
{
    return create(ctx, NULL, bytes, what, out);
}

int clv_buffer_image(clvox_context *ctx, clv_buffer *buffer, const char *what)
{
    cl_int error;
    const cl_image_format format = {CL_RGBA, CL_FLOAT};
    cl_image_desc description = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER,
                                 .image_width = buffer->bytes / 16};
    description.mem_object = buffer->mem;
    buffer->image = clCreateImage(ctx->context, CL_MEM_READ_ONLY, &format, &description, NULL, &error);
    if (error != CL_SUCCESS) {
        buffer->image = NULL;
        return clv_cl_fail(error, "clCreateImage", what);
    }
    return CLVOX_OK;
}

/* An image object in a clv_buffer without a buffer: with memory of its own or in that of another. */
static int make_image(clvox_context *ctx, const cl_image_desc *description, const char *what,
                      clv_buffer **out)
{
    int status = CLVOX_OK;
    cl_int error;
    const cl_image_format format = {CL_R, CL_FLOAT};
    *out = NULL;
    if (!ctx->limits.images)
        return clvox_fail(CLVOX_ERROR_DEVICE, "%s has no image objects", ctx->limits.name);
    clv_buffer *image = calloc(1, sizeof *image);
    if (!image)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of host memory", what);
    image->owner = ctx;
    *out = image;
    image->image = clCreateImage(ctx->context, CL_MEM_READ_ONLY, &format, description, NULL, &error);
    CLV_CL(error, "clCreateImage", what);
end:
    if (status < 0)
        clv_buffer_destroy(out);
    return status;
}

int clv_image_make(clvox_context *ctx, clv_image_kind kind, const int size[3], const char *what,
                   clv_buffer **out)
{
    cl_image_desc description = {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = (size_t)size[0],
                                 .image_height = (size_t)size[1], .image_depth = (size_t)size[2]};
    if (kind == CLV_IMAGE_PLANES) {
        description.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY;
        description.image_depth = 0;
        description.image_array_size = (size_t)size[2];
    }
    return make_image(ctx, &description, what, out);
}

int clv_image_fill(clvox_context *ctx, const clv_buffer *from, const int size[3], clv_buffer *image)
{
    int status = CLVOX_OK;
    cl_event event = NULL;
    const size_t origin[3] = {0, 0, 0}, region[3] = {(size_t)size[0], (size_t)size[1], (size_t)size[2]};
    CLV_CL(clEnqueueCopyBufferToImage(ctx->queue, from->mem, image->image, 0, origin, region, 0, NULL,
                                      CLV_EVENT(ctx, event)),
           "clEnqueueCopyBufferToImage", "an image object");
    CLV_TRY(clv_timing_add(ctx, event, "(copy)", NULL, 8.0 * (double)(region[0] * region[1] * region[2])));
end:
    return status;
}

int clv_image_create(clvox_context *ctx, const clv_buffer *from, const int size[3], const char *what,
                     clv_buffer **out)
{
    cl_image_desc description = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = from->bytes / 4};
    description.mem_object = from->mem;
    int status =
        size ? clv_image_make(ctx, CLV_IMAGE_3D, size, what, out) : make_image(ctx, &description, what, out);
    if (status >= 0 && size && (status = clv_image_fill(ctx, from, size, *out)) < 0)
        clv_buffer_destroy(out);
    return status;
}

int clv_buffer_wrap(clvox_context *ctx, void *mem, size_t bytes, const char *what, clv_buffer *out)
{
    int status = CLVOX_OK;
    size_t has = 0;
    cl_context context = NULL;
    if (!mem)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there is no buffer of %s", what);
    CLV_CL(clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof has, &has, NULL), "clGetMemObjectInfo", what);
    CLV_CL(clGetMemObjectInfo(mem, CL_MEM_CONTEXT, sizeof context, &context, NULL), "clGetMemObjectInfo", what);
    if (context != ctx->context)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the buffer of %s belongs to another OpenCL context", what);
    if (has < bytes)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the buffer of %s has %zu bytes; %zu are wanted", what, has,
                          bytes);
    *out = (clv_buffer){.mem = mem, .bytes = has, .owner = ctx};
end:
    return status;
}

void clv_buffer_destroy(clv_buffer **buffer)
{
    if (!buffer || !*buffer)
        return;
    if ((*buffer)->host) /* whose owner may free it now: what was begun ends first, after a failure too */
        clFinish((*buffer)->owner->queue);
    if ((*buffer)->image)
        clReleaseMemObject((*buffer)->image);
    if ((*buffer)->mem)
        clReleaseMemObject((*buffer)->mem);
    (*buffer)->owner->allocated -= (*buffer)->bytes;
    free(*buffer);
    *buffer = NULL;
}

bool clv_buffer_in_place(const clv_buffer *buffer, size_t offset, const void *data)
{
    return buffer->host && data == buffer->host + offset;
}

/* Makes host and device agree on a part of a buffer that lies in the host's memory:
 * no more than waiting, where the device works there. */
static int agree(clvox_context *ctx, const clv_buffer *buffer, cl_map_flags flags, size_t offset, size_t bytes)
{
    int status = CLVOX_OK;
    cl_int error;
    void *mapped =
        clEnqueueMapBuffer(ctx->queue, buffer->mem, CL_TRUE, flags, offset, bytes, 0, NULL, NULL, &error);
    CLV_CL(error, "clEnqueueMapBuffer", "sharing host memory with the device");
    CLV_CL(clEnqueueUnmapMemObject(ctx->queue, buffer->mem, mapped, 0, NULL, NULL), "clEnqueueUnmapMemObject",
           "sharing host memory with the device");
end:
    return status;
}

/* Data of a few bytes are copied, for the queue to take when it comes to them: a program that waits has the
 * driver answer for them alone, and where contexts share a GPU it changes between these for each answer. */
enum { SMALL = 1 << 14, COPIES = 1 << 18 };

/* *data becomes a copy that lasts until the queue has taken it. */
static int keep_copy(clvox_context *ctx, const void **data, size_t bytes)
{
    int status = CLVOX_OK;
    enum { LINE = 64 };
    if (!ctx->copies && !(ctx->copies = malloc(COPIES)))
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    if (ctx->copied + bytes > COPIES) {
        CLV_TRY(clv_finish(ctx));
        ctx->copied = 0;
    }
    *data = memcpy(ctx->copies + ctx->copied, *data, bytes);
    ctx->copied += (bytes + LINE - 1) / LINE * LINE;
end:
    return status;
}

int clv_buffer_write(clvox_context *ctx, clv_buffer *buffer, size_t offset, const void *data,
                     size_t bytes)
{
    int status = CLVOX_OK;
    cl_event event = NULL;
    cl_bool wait = CL_TRUE;
    if (bytes == 0)
        return CLVOX_OK;
    if (clv_buffer_in_place(buffer, offset, data))
        return agree(ctx, buffer, CL_MAP_WRITE_INVALIDATE_REGION, offset, bytes);
    if (bytes <= SMALL) {
        CLV_TRY(keep_copy(ctx, &data, bytes));
        wait = CL_FALSE;
    }
    CLV_CL(clEnqueueWriteBuffer(ctx->queue, buffer->mem, wait, offset, bytes, data, 0, NULL,
                                CLV_EVENT(ctx, event)),
           "clEnqueueWriteBuffer", "sending data to the device");
    CLV_TRY(clv_timing_add(ctx, event, "(to the device)", NULL, (double)bytes));
end:
    return status;
}

int clv_buffer_read(clvox_context *ctx, const clv_buffer *buffer, size_t offset, void *data,
                    size_t bytes)
{
    int status = CLVOX_OK;
    cl_event event = NULL;
    clv_witness witness;
    if (bytes == 0)
        return CLVOX_OK;
    CLV_TRY(clv_witness_ask(ctx, buffer, offset, bytes, &witness));
    if (clv_buffer_in_place(buffer, offset, data)) {
        CLV_TRY(agree(ctx, buffer, CL_MAP_READ, offset, bytes));
    } else {
        /* Few bytes wait for nothing by themselves: the witness is read after them. */
        CLV_CL(clEnqueueReadBuffer(ctx->queue, buffer->mem, bytes > SMALL, offset, bytes, data, 0, NULL,
                                   CLV_EVENT(ctx, event)),
               "clEnqueueReadBuffer", "fetching data from the device");
        CLV_TRY(clv_timing_add(ctx, event, "(from the device)", NULL, (double)bytes));
    }
    CLV_TRY(clv_witness_hear(ctx, &witness, data));
end:
    if (status < 0) /* and data may go */
        clFinish(ctx->queue);
    return status;
}

int clv_buffer_fill(clvox_context *ctx, clv_buffer *buffer, size_t offset, uint32_t word,
                    size_t bytes)
{
    int status = CLVOX_OK;
    cl_event event = NULL;
    if (bytes == 0)
        return CLVOX_OK;
    CLV_CL(clEnqueueFillBuffer(ctx->queue, buffer->mem, &word, sizeof word, offset, bytes, 0, NULL,
                               CLV_EVENT(ctx, event)),
           "clEnqueueFillBuffer", "filling a buffer");
    CLV_TRY(clv_timing_add(ctx, event, "(fill)", NULL, (double)bytes));
end:
    return status;
}

int clv_buffer_copy(clvox_context *ctx, const clv_buffer *from, size_t from_offset, clv_buffer *to,
                    size_t to_offset, size_t bytes)
{
    int status = CLVOX_OK;
    cl_event event = NULL;
    if (bytes == 0)
        return CLVOX_OK;
    CLV_CL(clEnqueueCopyBuffer(ctx->queue, from->mem, to->mem, from_offset, to_offset, bytes, 0,
                               NULL, CLV_EVENT(ctx, event)),
           "clEnqueueCopyBuffer", "copying a buffer");
    CLV_TRY(clv_timing_add(ctx, event, "(copy)", NULL, 2.0 * (double)bytes));
end:
    return status;
}

int clv_finish(clvox_context *ctx)
{
    int status = CLVOX_OK;
    CLV_CL(clFinish(ctx->queue), "clFinish", "waiting for the device");
end:
    return status;
}

size_t clv_peak_start(clvox_context *ctx)
{
    ctx->peak = ctx->allocated;
    return ctx->allocated;
}

size_t clv_peak_bytes(const clvox_context *ctx)
{
    return ctx->peak;
}

size_t clv_pool_bytes(const clv_request *requests, int count)
{
    size_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += requests[i].bytes;
    return sum;
}

static double mib(size_t bytes)
{
    return (double)bytes / 1048576;
}

int clv_pool_take(clvox_context *ctx, const clv_request *requests, int count)
{
    return clv_pool_take_over(ctx, requests, NULL, count);
}

int clv_pool_take_over(clvox_context *ctx, const clv_request *requests, void *const *host, int count)
{
    const clvox_device_limits *l = &ctx->limits;
    size_t needed = clv_pool_bytes(requests, count);
    size_t available = l->global_bytes > ctx->allocated ? l->global_bytes - ctx->allocated : 0;
    if (l->free_bytes && l->free_bytes < available)
        available = l->free_bytes > ctx->allocated ? l->free_bytes - ctx->allocated : 0;
    if (l->global_bytes && needed > available)
        return clvox_fail(CLVOX_ERROR_MEMORY,
                          "%.0f MiB of device memory are needed and %.0f MiB of %s are available; use a "
                          "coarser grid or a device with more memory",
                          mib(needed), mib(available), l->name);
    for (int i = 0; i < count; i++)
        if (l->max_allocation && requests[i].bytes > l->max_allocation)
            return clvox_fail(CLVOX_ERROR_MEMORY,
                              "%s: needs %.0f MiB in one piece (%.0f MiB in all) and %s gives at most "
                              "%.0f MiB in one; use a coarser grid or another device",
                              requests[i].what, mib(requests[i].bytes), mib(needed), l->name,
                              mib(l->max_allocation));
    while (ctx->spares && l->global_bytes && needed + ctx->spare_bytes > available)
        drop_oldest(ctx);
    for (int i = 0; i < count; i++) {
        const clv_request *r = &requests[i];
        int status = create(ctx, host ? host[i] : NULL, r->bytes, r->what, r->slot);
        if (status < 0) {
            clv_pool_release(requests, i);
            return status;
        }
    }
    return CLVOX_OK;
}

void clv_pool_release(const clv_request *requests, int count)
{
    for (int i = 0; i < count; i++)
        spare(requests[i].slot);
}
