/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/status.h"
#include "clvox/threads.h"
#include "runtime/device/context.h"
#include "runtime/device/host.h"
#include "runtime/device/part.h"
#include "runtime/kernel/kernel.h"
#include "runtime/queue/transfer.h"
#include "runtime/program/program.h"
#include "runtime/device/select.h"

/* Kernels are run as they are found: not out of folders that others could write. */
static void choose_folders(clvox_context *ctx)
{
    char remark[CLV_WHY + 200] = "";
    static atomic_bool said;
    if (!ctx->options.no_cache && ctx->build_identity)
        ctx->cache_dir = clv_cache_dir(remark);
    snprintf(ctx->remark, sizeof ctx->remark, "%s", remark);
    if (ctx->remark[0] && ctx->options.verbosity > 0 && !atomic_exchange(&said, true))
        clv_say(ctx, 1, "%s", ctx->remark);
}

const char *clvox_context_remark(const clvox_context *context)
{
    CLV_GIVEN_OR("", context);
    return context->remark;
}

/* Completes the context of the device in limits and device. */
static int complete(clvox_context *ctx)
{
    int status = CLVOX_OK;
    char *wisdom = NULL;
    ctx->packed = ctx->limits.type == CLVOX_DEVICE_CPU;
    CLV_TRY(clv_compiler_check(ctx));
    ctx->two_steps = ctx->driver->two_steps && ctx->driver->two_steps();
    ctx->build_identity = clv_build_identity(&ctx->limits);
    choose_folders(ctx);
    if (!ctx->options.no_wisdom) {
        wisdom = clv_wisdom_path();
        CLV_TRY(clv_wisdom_load(wisdom, &ctx->limits, &ctx->wisdom));
        if (ctx->wisdom->remark[0])
            clv_say(ctx, 1, "%s", ctx->wisdom->remark);
    }
    if (ctx->driver->join)
        CLV_TRY(ctx->driver->join(ctx));
end:
    free(wisdom);
    return status;
}

void clv_say(const clvox_context *ctx, int level, const char *format, ...)
{
    char line[2048];
    va_list args;
    if (ctx->options.verbosity < level)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (ctx->options.log)
        ctx->options.log(ctx->options.log_user, level, line);
    else
        fprintf(stderr, "%s\n", line);
}

int clv_context_threads(const clvox_context *context)
{
    return clvox_threads_own(context ? context->options.threads : 0);
}

void clv_context_threads_back(const int *before)
{
    clvox_threads_own(*before);
}

static int begin(const clvox_context_options *options, clvox_context **ctx)
{
    *ctx = calloc(1, sizeof **ctx);
    if (!*ctx)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    if (options)
        (*ctx)->options = *options;
    if (options && options->fourier)
        snprintf((*ctx)->fourier, sizeof (*ctx)->fourier, "%s", options->fourier);
    (*ctx)->options.fourier = NULL; /* the string is the caller's */
    return CLVOX_OK;
}

static void take(clvox_context *ctx, const clvox_device *devices, int chosen)
{
    ctx->options.device = NULL; /* the string is the caller's */
    ctx->limits = devices[chosen].limits;
    ctx->driver = clv_driver_of(ctx->limits.platform);
    ctx->platform = devices[chosen].platform_id;
    ctx->device = devices[chosen].device_id;
}

clv_gate *clv_context_gate(const clvox_context *context)
{
    return context->gate;
}

/* Which of so many contexts on a device one is. */
typedef struct share {
    int of, part;
} share;

/* A context of its own on the device in a place of the list: drivers keep threads that share one waiting for
 * each other. A processor is divided among its contexts, so that fewer cores wait for each other at the
 * end of every kernel. The limits stay those of the whole: kernels, and so the bits, go by them. */
static int open_device(const clvox_context_options *options, const clvox_device *devices, int chosen,
                       share own, clvox_context **out)
{
    int status = CLVOX_OK;
    clvox_context *ctx = NULL;
    CLV_TRY(begin(options, &ctx));
    take(ctx, devices, chosen);
    if (ctx->limits.type == CLVOX_DEVICE_CPU && own.of > 1)
        ctx->part = clv_device_part(ctx->device, own.part, own.of);
    if (ctx->part)
        ctx->device = ctx->part;
    cl_int error;
    ctx->context = clCreateContext(NULL, 1, &ctx->device, NULL, NULL, &error);
    CLV_CL(error, "clCreateContext", ctx->limits.name);
    ctx->queue = clCreateCommandQueue(ctx->context, ctx->device,
                                      ctx->options.profile ? CL_QUEUE_PROFILING_ENABLE : 0, &error);
    if (ctx->options.profile && (error == CL_INVALID_QUEUE_PROPERTIES || error == CL_INVALID_VALUE)) {
        /* Timers are a wish: the device works without them. */
        ctx->options.profile = false;
        ctx->queue = clCreateCommandQueue(ctx->context, ctx->device, 0, &error);
    }
    CLV_CL(error, "clCreateCommandQueue", ctx->limits.name);
    CLV_TRY(complete(ctx));
    *out = ctx;
    ctx = NULL;
end:
    clvox_context_destroy(&ctx);
    return status;
}

/* The rest is for drivers and for the programs of others. */
static const double OF_MEMORY = .9;

static size_t room_of(const clvox_device_limits *l)
{
    const bool less = l->free_bytes && l->free_bytes < l->global_bytes;
    return (size_t)(OF_MEMORY * (double)(less ? l->free_bytes : l->global_bytes));
}

size_t clv_context_room(const clvox_context *context)
{
    return room_of(&context->limits);
}

/* On a CPU they are host memory, which the program may want for something else. */
static void keep_spares(clvox_context *ctx, int beside)
{
    if (ctx->limits.type == CLVOX_DEVICE_GPU)
        clv_pool_spare_share(ctx, beside);
}

void clvox_context_defaults(clvox_context_options *options)
{
    CLV_GIVEN_OR(, options);
    *options = (clvox_context_options){.size = sizeof *options};
}

int clvox_context_create(const clvox_context_options *options, clvox_context **out)
{
    CLV_GIVEN(out);
    int status = CLVOX_OK;
    clvox_device *devices = NULL;
    *out = NULL;
    CLV_TRY(options ? clv_options_sized(options, sizeof *options) : CLVOX_OK);
    int count = clvox_devices_list(&devices);
    CLV_TRY(count);
    int chosen = clv_device_select(devices, count, options ? options->device : NULL);
    CLV_TRY(chosen);
    CLV_TRY(open_device(options, devices, chosen, (share){1, 0}, out));
    keep_spares(*out, 0);
end:
    if (status < 0)
        clvox_context_destroy(out);
    clvox_devices_destroy(&devices);
    return status;
}

/* First place in the list of the device at place i. */
static int first_of(const int *chosen, int i)
{
    int first = 0;
    while (chosen[first] != chosen[i])
        first++;
    return first;
}

static int open_beside(const clvox_context_options *options, const clvox_device *devices, int chosen,
                       share own, clvox_context *first, clvox_context **out)
{
    int status = CLVOX_OK;
    if (!first->gate)
        first->gate = clv_gate_create(room_of(&first->limits));
    if (!first->gate)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(open_device(options, devices, chosen, own, out));
    (*out)->gate = clv_gate_hold(first->gate);
end:
    return status;
}

static int paying(const clvox_device_limits *limits)
{
    enum { AT_ONCE = 4 };
    const double enough = 15e9; /* a GPU of 16 GB says somewhat less */
    const double each = 4e9;    /* on a CPU: a whole head at 1 mm takes half, its volumes as much again */
    if (limits->type == CLVOX_DEVICE_GPU)
        return (double)limits->global_bytes >= enough ? AT_ONCE : 1;
    const clv_driver *driver = clv_driver_of(limits->platform);
    if (limits->type != CLVOX_DEVICE_CPU || (driver->side_by_side && !driver->side_by_side(limits)))
        return 1;
    int room = (int)fmin((double)limits->global_bytes / each, AT_ONCE);
    room = room < limits->compute_units ? room : limits->compute_units;
    return room > 1 ? room : 1;
}

int clvox_at_once(const clvox_context_options *options, const clvox_device_limits *limits)
{
    CLV_GIVEN_OR(1, limits);
    const int wish = options ? options->at_once : 0;
    if (wish >= 0)
        return wish > 1 ? wish : 1;
    if (limits->type == CLVOX_DEVICE_CPU && wish != CLVOX_AT_ONCE_ALL)
        return 1;
    const int pay = paying(limits), most = options->most_at_once;
    return most > 0 && most < pay ? most : pay;
}

/* Contexts to be opened, and which device of the list each is of. */
typedef struct opening {
    const clvox_context_options *options;
    const clvox_device *devices;
    int count, *of;
    clvox_context **contexts;
} opening;

static int contexts_on(const opening *o, int device)
{
    int count = 0;
    for (int i = 0; i < o->count; i++)
        count += o->of[i] == device;
    return count;
}

/* All contexts of a device, where this is the first of them: their driver opens one after the other. */
static int open_all_of(void *user, size_t index, int worker)
{
    int status = CLVOX_OK;
    const opening *o = user;
    const int first = (int)index;
    share own = {.of = contexts_on(o, o->of[first])};
    (void)worker;
    for (int i = first; i < o->count && first_of(o->of, first) == first; i++) {
        if (o->of[i] != o->of[first])
            continue;
        if (i == first)
            status = open_device(o->options, o->devices, o->of[i], own, &o->contexts[i]);
        else
            status = open_beside(o->options, o->devices, o->of[i], own, o->contexts[first], &o->contexts[i]);
        CLV_TRY(status);
        own.part++;
    }
end:
    return status;
}

int clvox_contexts_create(const clvox_context_options *options, clvox_context ***out)
{
    CLV_GIVEN(out);
    int status = CLVOX_OK, chosen[CLV_MOST_SELECTED];
    clvox_device *devices = NULL;
    opening o = {.options = options};
    *out = NULL;
    int count = options ? clv_options_sized(options, sizeof *options) : CLVOX_OK, wanted = 0, most = 1;
    CLV_TRY(count);
    count = clvox_devices_list(&devices);
    CLV_TRY(count);
    wanted = clv_devices_select(devices, count, options ? options->device : NULL, chosen);
    CLV_TRY(wanted);
    for (int i = 0; i < wanted; i++) {
        const int each = clvox_at_once(options, &devices[chosen[i]].limits);
        most = each > most ? each : most;
    }
    o.devices = devices;
    o.of = calloc((size_t)wanted * (size_t)most, sizeof *o.of);
    o.contexts = calloc((size_t)wanted * (size_t)most, sizeof(clvox_context *));
    if (!o.of || !o.contexts) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int k = 0; k < most; k++)
        for (int i = 0; i < wanted; i++)
            if (k < clvox_at_once(options, &devices[chosen[i]].limits))
                o.of[o.count++] = chosen[i];
    CLV_TRY(clvox_parallel((size_t)o.count, open_all_of, &o));
    for (int i = 0; i < o.count; i++)
        keep_spares(o.contexts[i], contexts_on(&o, o.of[i]) - 1);
    *out = o.contexts;
    o.contexts = NULL;
    status = o.count;
end:
    clvox_devices_destroy(&devices);
    clvox_contexts_destroy(&o.contexts, o.count);
    free(o.of);
    return status;
}

static int destroy_one(void *user, size_t index, int worker)
{
    clvox_context **contexts = user;
    (void)worker;
    clvox_context_destroy(&contexts[index]);
    return CLVOX_OK;
}

/* Side by side, as they are opened. */
void clvox_contexts_destroy(clvox_context ***contexts, int count)
{
    if (!contexts || !*contexts)
        return;
    clvox_parallel((size_t)count, destroy_one, *contexts);
    free(*contexts);
    *contexts = NULL;
}

int clvox_context_adopt(void *queue, const clvox_context_options *options, clvox_context **out)
{
    CLV_GIVEN(out);
    int status = CLVOX_OK;
    clvox_device *devices = NULL;
    clvox_context *ctx = NULL;
    cl_command_queue_properties properties = 0;
    cl_device_id device = NULL;
    cl_context context = NULL;
    *out = NULL;
    if (!queue)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a context is to be opened on a queue, and there is none");
    CLV_TRY(options ? clv_options_sized(options, sizeof *options) : CLVOX_OK);
    CLV_TRY(begin(options, &ctx));
    CLV_CL(clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL),
           "clGetCommandQueueInfo", "queue");
    CLV_CL(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL),
           "clGetCommandQueueInfo", "queue");
    CLV_CL(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL),
           "clGetCommandQueueInfo", "queue");
    if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT,
                            "the queue runs its commands out of order; give one that keeps their order");
        goto end;
    }
    int count = clvox_devices_list(&devices), chosen = 0;
    CLV_TRY(count);
    status = CLVOX_OK;
    while (chosen < count && devices[chosen].device_id != (void *)device)
        chosen++;
    if (chosen == count || !devices[chosen].usable) {
        status =
            clvox_fail(CLVOX_ERROR_ARGUMENT, "the queue's device cannot be used: %s",
                       chosen < count ? devices[chosen].reason : "it is not among those of `clvox devices`");
        goto end;
    }
    take(ctx, devices, chosen);
    ctx->options.profile = ctx->options.profile && (properties & CL_QUEUE_PROFILING_ENABLE);
    CLV_CL(clRetainContext(context), "clRetainContext", ctx->limits.name);
    ctx->context = context;
    CLV_CL(clRetainCommandQueue(queue), "clRetainCommandQueue", ctx->limits.name);
    ctx->queue = queue;
    CLV_TRY(complete(ctx));
    *out = ctx;
    ctx = NULL;
end:
    clvox_devices_destroy(&devices);
    clvox_context_destroy(&ctx);
    return status;
}

void clvox_context_destroy(clvox_context **context)
{
    if (!context || !*context)
        return;
    clvox_context *ctx = *context;
    /* Workers of some drivers still use what is released below while commands are under way. */
    if (ctx->queue)
        clFinish(ctx->queue);
    clv_program_let_go(ctx);
    if (ctx->turns)
        ctx->driver->leave(ctx);
    clv_pool_spare(ctx, 0);
    clv_pinned_destroy(&ctx->staging);
    if (ctx->witnessed)
        clReleaseMemObject(ctx->witnessed);
    clv_timing_drop(ctx);
    clv_kernels_release(ctx);
    free(ctx->copies);
    free(ctx->pending);
    free(ctx->timings);
    clv_wisdom_destroy(&ctx->wisdom);
    free(ctx->cache_dir);
    free(ctx->build_identity);
    if (ctx->queue)
        clReleaseCommandQueue(ctx->queue);
    if (ctx->context)
        clReleaseContext(ctx->context);
    if (ctx->part)
        clReleaseDevice(ctx->part);
    clv_gate_release(&ctx->gate);
    free(ctx);
    *context = NULL;
}

const clvox_device_limits *clvox_context_limits(const clvox_context *context)
{
    return &context->limits;
}
