/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ahead.h"
#include "runtime/context.h"
#include "runtime/kernel.h"
#include "runtime/program.h"
#include "runtime/select.h"

int clvox_context_create(const clvox_context_options *options, clvox_context **out)
{
    int status = CLVOX_OK;
    clvox_device *devices = NULL;
    char *wisdom = NULL;
    clvox_context *ctx = calloc(1, sizeof *ctx);
    *out = NULL;
    if (!ctx)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    if (options)
        ctx->options = *options;
    int count = clvox_devices_list(&devices);
    CLV_TRY(count);
    int chosen = clv_device_select(devices, count, ctx->options.device);
    CLV_TRY(chosen);
    status = CLVOX_OK;
    ctx->options.device = NULL; /* the string is the caller's */
    ctx->limits = devices[chosen].limits;
    ctx->device_number = chosen;
    ctx->platform = devices[chosen].platform_id;
    ctx->device = devices[chosen].device_id;
    ctx->packed = ctx->limits.type == CLVOX_DEVICE_CPU;
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
    CLV_TRY(clv_compiler_check(ctx));
    ctx->two_steps = clv_two_steps(&ctx->limits);
    ctx->build_identity = clv_build_identity(&ctx->limits);
    if (!ctx->options.no_cache && ctx->build_identity)
        ctx->cache_dir = clv_cache_dir();
    if (!ctx->options.no_wisdom) {
        wisdom = clv_wisdom_path();
        CLV_TRY(clv_wisdom_load(wisdom, &ctx->limits, &ctx->wisdom));
        if (ctx->wisdom->remark[0] && ctx->options.verbosity >= 1)
            fprintf(stderr, "%s\n", ctx->wisdom->remark);
    }
    *out = ctx;
    ctx = NULL;
end:
    free(wisdom);
    clvox_devices_free(&devices);
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
    clv_timing_drop(ctx);
    clv_compilers_free(ctx);
    clv_ahead_release(ctx);
    clv_kernels_release(ctx);
    free(ctx->pending);
    free(ctx->timings);
    clv_wisdom_destroy(&ctx->wisdom);
    free(ctx->cache_dir);
    free(ctx->build_identity);
    if (ctx->queue)
        clReleaseCommandQueue(ctx->queue);
    if (ctx->context)
        clReleaseContext(ctx->context);
    free(ctx);
    *context = NULL;
}

const clvox_device_limits *clvox_context_limits(const clvox_context *context)
{
    return &context->limits;
}
