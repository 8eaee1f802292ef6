/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL layer that makes any device another one, or a poor one, for tests of what the program does there:
 *   OPENCL_LAYERS=libpoor.so POOR_DEVICE=profiling,memory:64 clvox ...
 * POOR_DEVICE, a list with commas. Limits, which the device states and keeps (devices.tsv has those of some
 * that people own, and tools/as sets them):
 *   gpu            a device that says it is a GPU: other kernels, fields planar
 *   name:TEXT opencl:1.2 units:N clock:MHZ simd:N simds:N architecture:gfx803|6.1 unified:yes|no
 *   memory:MIB     its memory, a quarter of it in one piece, or largest:MIB
 *   group:N items:XxYxZ  work-items of a work-group, in all and along each axis
 *   local:BYTES    local memory; kind:local|global: it is memory of its own, or lies in ordinary memory
 *   doubles:no atomics:no images:no  no type double, no atomics of 64 bits, no images
 *   pixels:N       of a buffer that is read as an image
 * What it lacks and refuses:
 *   profiling    no queue with timers
 *   times        queues with timers, which tell no time
 *   binaries     programs that give no binaries
 *   taken:MIB    a device whose memory is taken but for MIB, and does not say so
 *   after:N      it is taken once N buffers have been made
 *   fail:N       the Nth of the calls that can fail on a device at work fails
 *   nan:N bits:N huge:N  what is read from the Nth read on is NaN, random, or 3.4e38
 *   skip:N       kernels are not run from the Nth launch on, without an error
 *   once         only the Nth of these is
 * POOR_CALLS=FILE  writes there how many calls were counted for fail, how many reads and launches. */
#include "layer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cl_icd_dispatch mine;
const cl_icd_dispatch *layer_next;
static atomic_long calls, reads, launches;
static atomic_long buffers;

/* Buffers that the program has. It releases each once; what a driver still does with one does not count. */
enum { MOST = 4096 };
static struct {
    pthread_mutex_t lock;
    struct {
        cl_mem mem;
        size_t bytes, device; /* of them in the device's memory, not the host's */
    } own[MOST];
    int count;
    size_t taken, device;
} live = {.lock = PTHREAD_MUTEX_INITIALIZER};

const char *layer_setting(const char *name)
{
    const char *list = getenv("POOR_DEVICE");
    size_t length = strlen(name);
    /* At the list's end strchr finds the 0. */
    while (list && *list) {
        if (!strncmp(list, name, length) && strchr(":,", list[length]))
            return list + length;
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    return NULL;
}

long layer_number(const char *name)
{
    const char *value = layer_setting(name);
    return value && *value == ':' ? atol(value + 1) : -1;
}

bool layer_is(const char *name, const char *text)
{
    const char *value = layer_setting(name);
    return value && *value == ':' && strcspn(value + 1, ",") == strlen(text) &&
           !strncmp(value + 1, text, strlen(text));
}

static int fails(void)
{
    return atomic_fetch_add(&calls, 1) + 1 == layer_number("fail");
}

/* Faults of the count-th read or launch. */
static int goes_wrong(const char *name, long count)
{
    const long from = layer_number(name);
    return from > 0 && (layer_setting("once") ? count == from : count >= from);
}

cl_int layer_answer(const void *value, size_t bytes, size_t room, void *out, size_t *returned)
{
    if (out && room < bytes)
        return CL_INVALID_VALUE;
    if (out)
        memcpy(out, value, bytes);
    if (returned)
        *returned = bytes;
    return CL_SUCCESS;
}

static cl_command_queue CL_API_CALL queue(cl_context context, cl_device_id device,
                                          cl_command_queue_properties properties, cl_int *error)
{
    cl_int refused = fails() ? CL_OUT_OF_RESOURCES
                     : layer_setting("profiling") && properties & CL_QUEUE_PROFILING_ENABLE
                         ? CL_INVALID_QUEUE_PROPERTIES
                         : CL_SUCCESS;
    if (refused == CL_SUCCESS)
        return layer_next->clCreateCommandQueue(context, device, properties, error);
    if (error)
        *error = refused;
    return NULL;
}

static cl_int CL_API_CALL profiling_info(cl_event event, cl_profiling_info what, size_t room, void *out,
                                         size_t *returned)
{
    if (layer_setting("times"))
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    return layer_next->clGetEventProfilingInfo(event, what, room, out, returned);
}

static cl_int CL_API_CALL program_info(cl_program program, cl_program_info what, size_t room, void *out,
                                       size_t *returned)
{
    size_t none = 0;
    if (layer_setting("binaries") && what == CL_PROGRAM_BINARY_SIZES)
        return layer_answer(&none, sizeof none, room, out, returned);
    return layer_next->clGetProgramInfo(program, what, room, out, returned);
}

static cl_context CL_API_CALL context(const cl_context_properties *properties, cl_uint count,
                                      const cl_device_id *devices,
                                      void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                      void *user, cl_int *error)
{
    if (!fails())
        return layer_next->clCreateContext(properties, count, devices, notify, user, error);
    if (error)
        *error = CL_OUT_OF_HOST_MEMORY;
    return NULL;
}

static cl_mem CL_API_CALL buffer(cl_context ctx, cl_mem_flags flags, size_t bytes, void *host, cl_int *error)
{
    long left = layer_number("taken");
    const size_t device = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR) ? 0 : bytes;
    cl_mem made = NULL;
    pthread_mutex_lock(&live.lock);
    int full = left >= 0 && atomic_fetch_add(&buffers, 1) >= layer_number("after") &&
               live.taken + bytes > (size_t)left << 20;
    const cl_int refused = full || fails() ? CL_MEM_OBJECT_ALLOCATION_FAILURE
                                           : limits_buffer(bytes, live.device + device);
    if (refused == CL_SUCCESS) {
        made = layer_next->clCreateBuffer(ctx, flags, bytes, host, error);
    } else if (error) {
        *error = refused;
    }
    if (made && live.count < MOST) {
        live.own[live.count].mem = made;
        live.own[live.count].device = device;
        live.own[live.count++].bytes = bytes;
        live.taken += bytes;
        live.device += device;
    }
    pthread_mutex_unlock(&live.lock);
    return made;
}

static cl_int CL_API_CALL release(cl_mem mem)
{
    pthread_mutex_lock(&live.lock);
    for (int i = 0; i < live.count; i++)
        if (live.own[i].mem == mem) {
            live.taken -= live.own[i].bytes;
            live.device -= live.own[i].device;
            live.own[i] = live.own[--live.count];
            break;
        }
    pthread_mutex_unlock(&live.lock);
    return layer_next->clReleaseMemObject(mem);
}

static cl_program CL_API_CALL program(cl_context ctx, cl_uint count, const char **texts,
                                      const size_t *lengths, cl_int *error)
{
    if (!fails())
        return limits_program(ctx, count, texts, lengths, error);
    if (error)
        *error = CL_OUT_OF_HOST_MEMORY;
    return NULL;
}

static cl_int CL_API_CALL build(cl_program p, cl_uint count, const cl_device_id *devices, const char *options,
                                void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    const cl_int refused = fails() ? CL_BUILD_PROGRAM_FAILURE
                                   : limits_build(options, CL_INVALID_BUILD_OPTIONS);
    return refused != CL_SUCCESS ? refused
                                 : layer_next->clBuildProgram(p, count, devices, options, notify, user);
}

static cl_int CL_API_CALL compile(cl_program p, cl_uint count, const cl_device_id *devices, const char *options,
                                  cl_uint headers, const cl_program *texts, const char **names,
                                  void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    const cl_int refused = fails() ? CL_COMPILE_PROGRAM_FAILURE
                                   : limits_build(options, CL_INVALID_COMPILER_OPTIONS);
    return refused != CL_SUCCESS ? refused
                                 : layer_next->clCompileProgram(p, count, devices, options, headers, texts,
                                                                names, notify, user);
}

static cl_program CL_API_CALL link(cl_context ctx, cl_uint count, const cl_device_id *devices,
                                   const char *options, cl_uint inputs, const cl_program *programs,
                                   void(CL_CALLBACK *notify)(cl_program, void *), void *user, cl_int *error)
{
    if (!fails())
        return layer_next->clLinkProgram(ctx, count, devices, options, inputs, programs, notify, user, error);
    if (error)
        *error = CL_LINK_PROGRAM_FAILURE;
    return NULL;
}

static cl_kernel CL_API_CALL kernel(cl_program p, const char *name, cl_int *error)
{
    if (!fails()) {
        cl_kernel made = layer_next->clCreateKernel(p, name, error);
        limits_kernel(made);
        return made;
    }
    if (error)
        *error = CL_OUT_OF_RESOURCES;
    return NULL;
}

static cl_int CL_API_CALL argument(cl_kernel k, cl_uint index, size_t bytes, const void *value)
{
    if (fails())
        return CL_OUT_OF_RESOURCES;
    limits_argument(k, index, bytes, value);
    return layer_next->clSetKernelArg(k, index, bytes, value);
}

static cl_int CL_API_CALL finish(cl_command_queue q)
{
    return fails() ? CL_OUT_OF_RESOURCES : layer_next->clFinish(q);
}

static cl_int CL_API_CALL run(cl_command_queue q, cl_kernel k, cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, cl_uint count, const cl_event *after,
                              cl_event *event)
{
    const cl_int refused = limits_launch(q, k, dimensions, local);
    if (refused != CL_SUCCESS)
        return refused;
    if (goes_wrong("skip", atomic_fetch_add(&launches, 1) + 1))
        return event ? layer_next->clEnqueueMarkerWithWaitList(q, count, after, event) : CL_SUCCESS;
    return fails() ? CL_OUT_OF_RESOURCES
                   : layer_next->clEnqueueNDRangeKernel(q, k, dimensions, offset, global, local, count, after,
                                                  event);
}

static cl_int CL_API_CALL read_back(cl_command_queue q, cl_mem mem, cl_bool wait, size_t offset, size_t bytes,
                                    void *out, cl_uint count, const cl_event *after, cl_event *event)
{
    const long at = atomic_fetch_add(&reads, 1) + 1;
    const int nan = goes_wrong("nan", at), huge = goes_wrong("huge", at),
              spoilt = nan || huge || goes_wrong("bits", at);
    if (fails())
        return CL_OUT_OF_RESOURCES;
    const cl_int error =
        layer_next->clEnqueueReadBuffer(q, mem, wait || spoilt, offset, bytes, out, count, after, event);
    for (size_t i = 0; error == CL_SUCCESS && spoilt && i + 4 <= bytes; i += 4) {
        const uint32_t word = nan ? 0x7fc00000 : huge ? 0x7f7f7f7f : (uint32_t)(i + 12345) * 0x9e3779b1;
        memcpy((char *)out + i, &word, 4);
    }
    return error;
}

static cl_int CL_API_CALL send(cl_command_queue q, cl_mem mem, cl_bool wait, size_t offset, size_t bytes,
                               const void *data, cl_uint count, const cl_event *after, cl_event *event)
{
    return fails() ? CL_MEM_OBJECT_ALLOCATION_FAILURE
                   : layer_next->clEnqueueWriteBuffer(q, mem, wait, offset, bytes, data, count, after, event);
}

static cl_int CL_API_CALL fill(cl_command_queue q, cl_mem mem, const void *word, size_t size, size_t offset,
                               size_t bytes, cl_uint count, const cl_event *after, cl_event *event)
{
    return fails() ? CL_MEM_OBJECT_ALLOCATION_FAILURE
                   : layer_next->clEnqueueFillBuffer(q, mem, word, size, offset, bytes, count, after, event);
}

static cl_int CL_API_CALL copy(cl_command_queue q, cl_mem from, cl_mem to, size_t from_at, size_t to_at,
                               size_t bytes, cl_uint count, const cl_event *after, cl_event *event)
{
    return fails() ? CL_OUT_OF_RESOURCES
                   : layer_next->clEnqueueCopyBuffer(q, from, to, from_at, to_at, bytes, count, after, event);
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t room, void *out, size_t *returned)
{
    cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what == CL_LAYER_API_VERSION)
        return layer_answer(&version, sizeof version, room, out, returned);
    if (what == CL_LAYER_NAME)
        return layer_answer("poor device", sizeof "poor device", room, out, returned);
    return CL_INVALID_VALUE;
}

static void say_calls(void)
{
    const char *path = getenv("POOR_CALLS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld %ld %ld\n", atomic_load(&calls), atomic_load(&reads), atomic_load(&launches));
        fclose(file);
    }
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target,
                                            cl_uint *entries_returned, const cl_icd_dispatch **layer)
{
    size_t bytes = entries * sizeof(void *);
    if (!target || !layer || !entries_returned)
        return CL_INVALID_VALUE;
    if (bytes > sizeof mine)
        bytes = sizeof mine;
    layer_next = target;
    memcpy(&mine, target, bytes);
    limits_take_over(&mine);
    mine.clCreateCommandQueue = queue;
    mine.clGetEventProfilingInfo = profiling_info;
    mine.clGetProgramInfo = program_info;
    mine.clCreateContext = context;
    mine.clCreateBuffer = buffer;
    mine.clReleaseMemObject = release;
    mine.clCreateProgramWithSource = program;
    mine.clBuildProgram = build;
    mine.clCompileProgram = compile;
    mine.clLinkProgram = link;
    mine.clCreateKernel = kernel;
    mine.clSetKernelArg = argument;
    mine.clFinish = finish;
    mine.clEnqueueNDRangeKernel = run;
    mine.clEnqueueReadBuffer = read_back;
    mine.clEnqueueWriteBuffer = send;
    mine.clEnqueueFillBuffer = fill;
    mine.clEnqueueCopyBuffer = copy;
    *entries_returned = (cl_uint)(bytes / sizeof(void *));
    *layer = &mine;
    atexit(say_calls);
    return CL_SUCCESS;
}
