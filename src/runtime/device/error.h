/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL, and its error codes as sentences. */
#ifndef CLV_RUNTIME_ERROR_H
#define CLV_RUNTIME_ERROR_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "base/status.h"

/* "CL_OUT_OF_RESOURCES" for the number; "an unknown error" beyond the tables. */
const char *clv_cl_error_name(cl_int error);

/* "clEnqueueNDRangeKernel failed with CL_OUT_OF_RESOURCES (gaussian_x/tile 32x8x1)...":
 * fills the message and returns the matching clvox_status. */
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

#endif
