/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/queue/timing.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "runtime/device/context.h"

/* Events that may wait to be read before the queue is waited for. */
enum { MOST_PENDING = 8192 };

static int add_to_row(clvox_context *ctx, const clv_pending *pending, double seconds)
{
    clv_timing *row = NULL;
    const char *label = pending->label;
    for (int i = 0; i < ctx->timing_count && !row; i++)
        if (!strcmp(ctx->timings[i].label, label))
            row = &ctx->timings[i];
    if (!row) {
        clv_timing *grown =
            clv_grown(ctx->timings, ctx->timing_count, &ctx->timing_room, sizeof *grown);
        if (!grown)
            return CLVOX_ERROR_MEMORY;
        ctx->timings = grown;
        row = &grown[ctx->timing_count++];
        memset(row, 0, sizeof *row);
        snprintf(row->label, sizeof row->label, "%s", label);
    }
    row->kernel = pending->kernel;
    row->calls++;
    row->seconds += seconds;
    row->bytes += pending->bytes;
    return CLVOX_OK;
}

/* Waits for the queue and turns every pending event into its row's sums. */
static int settle(clvox_context *ctx)
{
    int status = CLVOX_OK;
    CLV_CL(clFinish(ctx->queue), "clFinish", "waiting for the device");
    for (int i = 0; i < ctx->pending_count; i++) {
        cl_ulong from = 0, to = 0;
        if (clGetEventProfilingInfo(ctx->pending[i].event, CL_PROFILING_COMMAND_END, sizeof to, &to, NULL) ==
            CL_PROFILING_INFO_NOT_AVAILABLE) {
            ctx->options.profile = false; /* the queue took the wish, and times nothing */
            ctx->timing_count = 0;
            break;
        }
        cl_event since = ctx->pending[i].since;
        CLV_CL(clGetEventProfilingInfo(since ? since : ctx->pending[i].event,
                                       since ? CL_PROFILING_COMMAND_END : CL_PROFILING_COMMAND_START, sizeof from,
                                       &from, NULL),
               "clGetEventProfilingInfo", ctx->pending[i].label);
        CLV_CL(clGetEventProfilingInfo(ctx->pending[i].event, CL_PROFILING_COMMAND_END, sizeof to, &to,
                                       NULL),
               "clGetEventProfilingInfo", ctx->pending[i].label);
        CLV_TRY(add_to_row(ctx, &ctx->pending[i], to > from ? (double)(to - from) * 1e-9 : 0));
    }
end:
    clv_timing_drop(ctx);
    return status;
}

int clv_timing_add(clvox_context *ctx, void *event, const char *label, const clv_kernel *kernel,
                   double bytes)
{
    int status = CLVOX_OK;
    if (!event)
        return CLVOX_OK;
    if (ctx->pending_count >= MOST_PENDING)
        CLV_TRY(settle(ctx));
    clv_pending *grown =
        clv_grown(ctx->pending, ctx->pending_count, &ctx->pending_room, sizeof *grown);
    if (!grown) {
        status = CLVOX_ERROR_MEMORY;
        goto end;
    }
    ctx->pending = grown;
    grown[ctx->pending_count++] = (clv_pending){event, NULL, label, kernel, bytes};
    event = NULL;
end:
    if (event)
        clReleaseEvent(event);
    return status;
}

int clv_span_begin(clvox_context *ctx, clv_span *span)
{
    int status = CLVOX_OK;
    cl_event since = NULL;
    if (ctx->options.profile)
        CLV_CL(clEnqueueMarkerWithWaitList(ctx->queue, 0, NULL, &since), "clEnqueueMarkerWithWaitList",
               "keeping time");
end:
    span->since = since;
    return status;
}

int clv_span_end(clvox_context *ctx, clv_span *span, const char *label, int status)
{
    cl_event until = NULL;
    if (status < 0 || !span->since)
        goto end;
    CLV_CL(clEnqueueMarkerWithWaitList(ctx->queue, 0, NULL, &until), "clEnqueueMarkerWithWaitList",
           "keeping time");
    CLV_TRY(clv_timing_add(ctx, until, label, NULL, 0));
    ctx->pending[ctx->pending_count - 1].since = span->since;
    span->since = NULL;
end:
    if (span->since)
        clReleaseEvent(span->since);
    return status;
}

void clv_timing_drop(clvox_context *ctx)
{
    for (int i = 0; i < ctx->pending_count; i++) {
        clReleaseEvent(ctx->pending[i].event);
        if (ctx->pending[i].since)
            clReleaseEvent(ctx->pending[i].since);
    }
    ctx->pending_count = 0;
}

int clv_timings(clvox_context *ctx, const clv_timing **out)
{
    *out = NULL;
    int status = settle(ctx);
    if (status < 0)
        return status;
    *out = ctx->timings;
    return ctx->timing_count;
}

void clv_timings_reset(clvox_context *ctx)
{
    clv_timing_drop(ctx);
    ctx->timing_count = 0;
}

int clv_timings_switch(clvox_context *ctx, bool on)
{
    int status = CLVOX_OK;
    cl_int error;
    if (ctx->options.profile == on)
        return CLVOX_OK;
    CLV_TRY(settle(ctx));
    cl_command_queue queue =
        clCreateCommandQueue(ctx->context, ctx->device, on ? CL_QUEUE_PROFILING_ENABLE : 0, &error);
    CLV_CL(error, "clCreateCommandQueue", "a queue with timers");
    clReleaseCommandQueue(ctx->queue);
    ctx->queue = queue;
    ctx->options.profile = on;
end:
    return status;
}

bool clv_has_timers(const clvox_context *ctx)
{
    return ctx->options.profile;
}
