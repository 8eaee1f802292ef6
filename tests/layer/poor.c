/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL layer that makes any device a poor one, for tests of what the
 * program says there:
 *   OPENCL_LAYERS=libpoor.so POOR_DEVICE=profiling,memory:64 clvox ...
 * POOR_DEVICE, a list with commas:
 *   profiling    no queue with timers
 *   times        queues with timers, which tell no time
 *   binaries     programs that give no binaries
 *   memory:MIB   a device of MIB, a quarter of it in one piece
 *   taken:MIB    a device whose memory is taken but for MIB, and does not say so
 *   after:N      it is taken once N buffers have been made
 *   group:N      work-groups of at most N work-items
 *   local:BYTES  local memory
 *   gpu          a device that says it is a GPU: other kernels, fields planar
 *   fail:N       the Nth of the calls that can fail on a device at work fails
 *   nan:N bits:N huge:N  what is read from the Nth read on is NaN, random, or 3.4e38
 *   skip:N       kernels are not run from the Nth launch on, and nothing is said
 *   once         only the Nth of these is
 * POOR_CALLS=FILE  writes there how many calls were counted for fail, how many reads and launches. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cl_icd_dispatch mine;
static const cl_icd_dispatch *next;
static atomic_long calls, reads, launches;
static atomic_long buffers;

/* Buffers that the program has. It releases each once; what a driver still does with one does not count. */
enum { MOST = 4096 };
static struct {
    pthread_mutex_t lock;
    struct {
        cl_mem mem;
        size_t bytes;
    } own[MOST];
    int count;
    size_t taken;
} live = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *setting(const char *name)
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

static long number(const char *name)
{
    const char *value = setting(name);
    return value && *value == ':' ? atol(value + 1) : -1;
}

static int fails(void)
{
    return atomic_fetch_add(&calls, 1) + 1 == number("fail");
}

/* Of the count-th read or launch. */
static int goes_wrong(const char *name, long count)
{
    const long from = number(name);
    return from > 0 && (setting("once") ? count == from : count >= from);
}

static cl_int answer(const void *value, size_t bytes, size_t room, void *out, size_t *returned)
{
    if (out && room < bytes)
        return CL_INVALID_VALUE;
    if (out)
        memcpy(out, value, bytes);
    if (returned)
        *returned = bytes;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t room, void *out,
                                      size_t *returned)
{
    long memory = number("memory"), group = number("group"), local = number("local");
    cl_ulong bytes = (cl_ulong)memory << 20, quarter = bytes / 4, local_bytes = (cl_ulong)local;
    size_t items = (size_t)group;
    cl_device_type type = CL_DEVICE_TYPE_GPU;
    if (setting("gpu") && what == CL_DEVICE_TYPE)
        return answer(&type, sizeof type, room, out, returned);
    if (memory > 0 && what == CL_DEVICE_GLOBAL_MEM_SIZE)
        return answer(&bytes, sizeof bytes, room, out, returned);
    if (memory > 0 && what == CL_DEVICE_MAX_MEM_ALLOC_SIZE)
        return answer(&quarter, sizeof quarter, room, out, returned);
    if (local > 0 && what == CL_DEVICE_LOCAL_MEM_SIZE)
        return answer(&local_bytes, sizeof local_bytes, room, out, returned);
    if (group > 0 && what == CL_DEVICE_MAX_WORK_GROUP_SIZE)
        return answer(&items, sizeof items, room, out, returned);
    return next->clGetDeviceInfo(device, what, room, out, returned);
}

static cl_command_queue CL_API_CALL queue(cl_context context, cl_device_id device,
                                          cl_command_queue_properties properties, cl_int *error)
{
    cl_int refused = fails() ? CL_OUT_OF_RESOURCES
                     : setting("profiling") && properties & CL_QUEUE_PROFILING_ENABLE
                         ? CL_INVALID_QUEUE_PROPERTIES
                         : CL_SUCCESS;
    if (refused == CL_SUCCESS)
        return next->clCreateCommandQueue(context, device, properties, error);
    if (error)
        *error = refused;
    return NULL;
}

static cl_int CL_API_CALL profiling_info(cl_event event, cl_profiling_info what, size_t room, void *out,
                                         size_t *returned)
{
    if (setting("times"))
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    return next->clGetEventProfilingInfo(event, what, room, out, returned);
}

static cl_int CL_API_CALL program_info(cl_program program, cl_program_info what, size_t room, void *out,
                                       size_t *returned)
{
    size_t none = 0;
    if (setting("binaries") && what == CL_PROGRAM_BINARY_SIZES)
        return answer(&none, sizeof none, room, out, returned);
    return next->clGetProgramInfo(program, what, room, out, returned);
}

static cl_context CL_API_CALL context(const cl_context_properties *properties, cl_uint count,
                                      const cl_device_id *devices,
                                      void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                      void *user, cl_int *error)
{
    if (!fails())
        return next->clCreateContext(properties, count, devices, notify, user, error);
    if (error)
        *error = CL_OUT_OF_HOST_MEMORY;
    return NULL;
}

static cl_mem CL_API_CALL buffer(cl_context ctx, cl_mem_flags flags, size_t bytes, void *host, cl_int *error)
{
    long left = number("taken");
    cl_mem made = NULL;
    pthread_mutex_lock(&live.lock);
    int full = left >= 0 && atomic_fetch_add(&buffers, 1) >= number("after") &&
               live.taken + bytes > (size_t)left << 20;
    if (!full && !fails()) {
        made = next->clCreateBuffer(ctx, flags, bytes, host, error);
    } else if (error) {
        *error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    }
    if (made && live.count < MOST) {
        live.own[live.count].mem = made;
        live.own[live.count++].bytes = bytes;
        live.taken += bytes;
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
            live.own[i] = live.own[--live.count];
            break;
        }
    pthread_mutex_unlock(&live.lock);
    return next->clReleaseMemObject(mem);
}

static cl_program CL_API_CALL program(cl_context ctx, cl_uint count, const char **texts,
                                      const size_t *lengths, cl_int *error)
{
    if (!fails())
        return next->clCreateProgramWithSource(ctx, count, texts, lengths, error);
    if (error)
        *error = CL_OUT_OF_HOST_MEMORY;
    return NULL;
}

static cl_int CL_API_CALL build(cl_program p, cl_uint count, const cl_device_id *devices, const char *options,
                                void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    return fails() ? CL_BUILD_PROGRAM_FAILURE
                   : next->clBuildProgram(p, count, devices, options, notify, user);
}

static cl_int CL_API_CALL compile(cl_program p, cl_uint count, const cl_device_id *devices, const char *options,
                                  cl_uint headers, const cl_program *texts, const char **names,
                                  void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    return fails() ? CL_COMPILE_PROGRAM_FAILURE
                   : next->clCompileProgram(p, count, devices, options, headers, texts, names, notify, user);
}

static cl_program CL_API_CALL link(cl_context ctx, cl_uint count, const cl_device_id *devices,
                                   const char *options, cl_uint inputs, const cl_program *programs,
                                   void(CL_CALLBACK *notify)(cl_program, void *), void *user, cl_int *error)
{
    if (!fails())
        return next->clLinkProgram(ctx, count, devices, options, inputs, programs, notify, user, error);
    if (error)
        *error = CL_LINK_PROGRAM_FAILURE;
    return NULL;
}

static cl_kernel CL_API_CALL kernel(cl_program p, const char *name, cl_int *error)
{
    if (!fails())
        return next->clCreateKernel(p, name, error);
    if (error)
        *error = CL_OUT_OF_RESOURCES;
    return NULL;
}

static cl_int CL_API_CALL argument(cl_kernel k, cl_uint index, size_t bytes, const void *value)
{
    return fails() ? CL_OUT_OF_RESOURCES : next->clSetKernelArg(k, index, bytes, value);
}

static cl_int CL_API_CALL finish(cl_command_queue q)
{
    return fails() ? CL_OUT_OF_RESOURCES : next->clFinish(q);
}

static cl_int CL_API_CALL run(cl_command_queue q, cl_kernel k, cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, cl_uint count, const cl_event *after,
                              cl_event *event)
{
    size_t items = local ? local[0] * (dimensions > 1 ? local[1] : 1) * (dimensions > 2 ? local[2] : 1) : 1;
    if (number("group") > 0 && items > (size_t)number("group"))
        return CL_INVALID_WORK_GROUP_SIZE;
    if (goes_wrong("skip", atomic_fetch_add(&launches, 1) + 1))
        return event ? next->clEnqueueMarkerWithWaitList(q, count, after, event) : CL_SUCCESS;
    return fails() ? CL_OUT_OF_RESOURCES
                   : next->clEnqueueNDRangeKernel(q, k, dimensions, offset, global, local, count, after,
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
        next->clEnqueueReadBuffer(q, mem, wait || spoilt, offset, bytes, out, count, after, event);
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
                   : next->clEnqueueWriteBuffer(q, mem, wait, offset, bytes, data, count, after, event);
}

static cl_int CL_API_CALL fill(cl_command_queue q, cl_mem mem, const void *word, size_t size, size_t offset,
                               size_t bytes, cl_uint count, const cl_event *after, cl_event *event)
{
    return fails() ? CL_MEM_OBJECT_ALLOCATION_FAILURE
                   : next->clEnqueueFillBuffer(q, mem, word, size, offset, bytes, count, after, event);
}

static cl_int CL_API_CALL copy(cl_command_queue q, cl_mem from, cl_mem to, size_t from_at, size_t to_at,
                               size_t bytes, cl_uint count, const cl_event *after, cl_event *event)
{
    return fails() ? CL_OUT_OF_RESOURCES
                   : next->clEnqueueCopyBuffer(q, from, to, from_at, to_at, bytes, count, after, event);
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t room, void *out, size_t *returned)
{
    cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what == CL_LAYER_API_VERSION)
        return answer(&version, sizeof version, room, out, returned);
    if (what == CL_LAYER_NAME)
        return answer("poor device", sizeof "poor device", room, out, returned);
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
    next = target;
    memcpy(&mine, target, bytes);
    mine.clGetDeviceInfo = device_info;
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
