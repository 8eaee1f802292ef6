/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/error.h"

static const char *const errors[] = {
    /* 0..-19 */
    "CL_SUCCESS", "CL_DEVICE_NOT_FOUND", "CL_DEVICE_NOT_AVAILABLE", "CL_COMPILER_NOT_AVAILABLE",
    "CL_MEM_OBJECT_ALLOCATION_FAILURE", "CL_OUT_OF_RESOURCES", "CL_OUT_OF_HOST_MEMORY",
    "CL_PROFILING_INFO_NOT_AVAILABLE", "CL_MEM_COPY_OVERLAP", "CL_IMAGE_FORMAT_MISMATCH",
    "CL_IMAGE_FORMAT_NOT_SUPPORTED", "CL_BUILD_PROGRAM_FAILURE", "CL_MAP_FAILURE",
    "CL_MISALIGNED_SUB_BUFFER_OFFSET", "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
    "CL_COMPILE_PROGRAM_FAILURE", "CL_LINKER_NOT_AVAILABLE", "CL_LINK_PROGRAM_FAILURE",
    "CL_DEVICE_PARTITION_FAILED", "CL_KERNEL_ARG_INFO_NOT_AVAILABLE"};

static const char *const invalid[] = {
    /* -30.. */
    "CL_INVALID_VALUE", "CL_INVALID_DEVICE_TYPE", "CL_INVALID_PLATFORM", "CL_INVALID_DEVICE",
    "CL_INVALID_CONTEXT", "CL_INVALID_QUEUE_PROPERTIES", "CL_INVALID_COMMAND_QUEUE",
    "CL_INVALID_HOST_PTR", "CL_INVALID_MEM_OBJECT", "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
    "CL_INVALID_IMAGE_SIZE", "CL_INVALID_SAMPLER", "CL_INVALID_BINARY", "CL_INVALID_BUILD_OPTIONS",
    "CL_INVALID_PROGRAM", "CL_INVALID_PROGRAM_EXECUTABLE", "CL_INVALID_KERNEL_NAME",
    "CL_INVALID_KERNEL_DEFINITION", "CL_INVALID_KERNEL", "CL_INVALID_ARG_INDEX",
    "CL_INVALID_ARG_VALUE", "CL_INVALID_ARG_SIZE", "CL_INVALID_KERNEL_ARGS",
    "CL_INVALID_WORK_DIMENSION", "CL_INVALID_WORK_GROUP_SIZE", "CL_INVALID_WORK_ITEM_SIZE",
    "CL_INVALID_GLOBAL_OFFSET", "CL_INVALID_EVENT_WAIT_LIST", "CL_INVALID_EVENT",
    "CL_INVALID_OPERATION", "CL_INVALID_GL_OBJECT", "CL_INVALID_BUFFER_SIZE", "CL_INVALID_MIP_LEVEL",
    "CL_INVALID_GLOBAL_WORK_SIZE", "CL_INVALID_PROPERTY", "CL_INVALID_IMAGE_DESCRIPTOR",
    "CL_INVALID_COMPILER_OPTIONS", "CL_INVALID_LINKER_OPTIONS", "CL_INVALID_DEVICE_PARTITION_COUNT"};

const char *clv_cl_error_name(cl_int error)
{
    if (error <= 0 && error > -(int)(sizeof errors / sizeof errors[0]))
        return errors[-error];
    if (error <= -30 && error > -30 - (int)(sizeof invalid / sizeof invalid[0]))
        return invalid[-30 - error];
    if (error == -1001)
        return "CL_PLATFORM_NOT_FOUND_KHR";
    /* Beyond the standard: an invalid access inside a kernel. */
    return error == -9999 ? "an illegal read or write by a kernel" : "an unknown error";
}

int clv_cl_fail(cl_int error, const char *call, const char *meaning)
{
    if (error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_HOST_MEMORY)
        return clvox_fail(CLVOX_ERROR_MEMORY,
                          "%s failed with %s (%s): memory does not suffice; use a smaller grid or "
                          "another device",
                          call, clv_cl_error_name(error), meaning);
    if (error == CL_DEVICE_NOT_AVAILABLE)
        return clvox_fail(CLVOX_ERROR_DEVICE,
                          "%s failed with %s (%s): the device stopped working; choose another one "
                          "with --device",
                          call, clv_cl_error_name(error), meaning);
    return clvox_fail(CLVOX_ERROR_DEVICE, "%s failed with %s, error %d (%s)", call, clv_cl_error_name(error),
                      error, meaning);
}
