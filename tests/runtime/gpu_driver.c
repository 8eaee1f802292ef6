/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL driver that has a GPU and nothing else: no more than whoever looks for one asks it.
 * CLVOX_TEST_GPU says what: its version, "none", or "busy". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>

static cl_int CL_API_CALL device_ids(cl_platform_id platform, cl_device_type type, cl_uint room,
                                     cl_device_id *out, cl_uint *count)
{
    const char *which = getenv("CLVOX_TEST_GPU");
    if (!which || !strcmp(which, "none") || !(type & CL_DEVICE_TYPE_GPU))
        return CL_DEVICE_NOT_FOUND;
    if (room && out)
        *out = (cl_device_id)platform;
    if (count)
        *count = 1;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t room, void *out,
                                      size_t *bytes)
{
    const char *which = getenv("CLVOX_TEST_GPU");
    (void)device;
    (void)bytes;
    if (what == CL_DEVICE_VERSION) {
        snprintf(out, room, "OpenCL %s", strcmp(which, "busy") ? which : "3.0 a driver's words");
        return CL_SUCCESS;
    }
    *(cl_bool *)out = what == CL_DEVICE_COMPILER_AVAILABLE || strcmp(which, "busy") != 0;
    return CL_SUCCESS;
}

static cl_icd_dispatch calls = {.clGetDeviceIDs = device_ids, .clGetDeviceInfo = device_info};
static struct {
    cl_icd_dispatch *calls;
} only = {&calls};

static cl_int CL_API_CALL platform_ids(cl_uint room, cl_platform_id *out, cl_uint *count)
{
    if (room && out)
        *out = (cl_platform_id)&only;
    if (count)
        *count = 1;
    return CL_SUCCESS;
}

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    void *out = NULL;
    if (!strcmp(name, "clIcdGetPlatformIDsKHR"))
        *(cl_int(CL_API_CALL **)(cl_uint, cl_platform_id *, cl_uint *)) & out = platform_ids;
    return out;
}
