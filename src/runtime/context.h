/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a context, for src/runtime alone. */
#ifndef CLV_RUNTIME_CONTEXT_H
#define CLV_RUNTIME_CONTEXT_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "runtime/runtime.h"

typedef struct clv_forced {
    char entry[48];
    const char *variant;
    int tile;
} clv_forced;

typedef struct clv_built {
    char *key;
    cl_program program;
    clv_kernel kernel;
} clv_built;

typedef struct clv_pending {
    cl_event event;
    const clv_kernel *kernel;
    double moved;
} clv_pending;

struct clvox_context {
    clvox_device_limits limits;
    clvox_context_options options;
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    bool packed;
    size_t allocated, peak;
    clv_built **built;
    int built_count, built_room;
    clv_forced *forced;
    int forced_count, forced_room;
    clv_pending *pending;
    int pending_count, pending_room;
    clv_timing *timings;
    int timing_count, timing_room;
};

/* "clEnqueueNDRangeKernel (gaussian_x/tile): CL_OUT_OF_RESOURCES ...": fills
 * the message and returns the matching clvox_status. */
int clv_cl_fail(cl_int error, const char *call, const char *meaning);

/* Fails unless the call returned CL_SUCCESS; meaning says what it was for. */
#define CLV_CL(call, name, meaning)                            \
    do {                                                       \
        cl_int cl_error_ = (call);                             \
        if (cl_error_ != CL_SUCCESS) {                         \
            status = clv_cl_fail(cl_error_, (name), (meaning)); \
            goto end;                                          \
        }                                                      \
    } while (0)

/* Kernel sources by file name ("warp.cl", "field.clh"), embedded at build
 * time; CLVOX_KERNEL_DIR reads them from disk instead. NULL when unknown. */
typedef struct clv_source {
    const char *name;
    const char *text;
} clv_source;
extern const clv_source clv_sources[];

#endif
