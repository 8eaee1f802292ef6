/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"

static void text(cl_device_id id, cl_device_info what, char *out, size_t room)
{
    out[0] = 0;
    clGetDeviceInfo(id, what, room - 1, out, NULL);
    out[room - 1] = 0;
}

static void read_limits(cl_platform_id platform, cl_device_id id, clvox_device_limits *limits)
{
    memset(limits, 0, sizeof *limits);
    text(id, CL_DEVICE_NAME, limits->name, sizeof limits->name);
    text(id, CL_DEVICE_VENDOR, limits->vendor, sizeof limits->vendor);
    text(id, CL_DRIVER_VERSION, limits->driver, sizeof limits->driver);
    text(id, CL_DEVICE_VERSION, limits->version, sizeof limits->version);
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof limits->platform - 1, limits->platform, NULL);
    clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof limits->platform_version - 1,
                      limits->platform_version, NULL);
    cl_device_type type = 0;
    clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    limits->type = type & CL_DEVICE_TYPE_GPU   ? CLVOX_DEVICE_GPU
                   : type & CL_DEVICE_TYPE_CPU ? CLVOX_DEVICE_CPU
                                               : CLVOX_DEVICE_ACCELERATOR;
    cl_ulong big = 0;
    cl_uint small = 0;
    clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof big, &big, NULL);
    limits->global_bytes = big;
    clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof big, &big, NULL);
    limits->max_allocation = big;
    clGetDeviceInfo(id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof big, &big, NULL);
    limits->local_bytes = big;
    clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof small, &small, NULL);
    limits->compute_units = (int)small;
    clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof limits->max_group, &limits->max_group, NULL);
    clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof limits->max_items, limits->max_items, NULL);
}

int clvox_devices_list(clvox_device **out)
{
    *out = NULL;
    cl_platform_id platforms[16];
    cl_uint platform_count = 0;
    clGetPlatformIDs(16, platforms, &platform_count);
    clvox_device *list = calloc(64, sizeof *list);
    if (!list)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    int count = 0;
    for (cl_uint p = 0; p < platform_count && p < 16; p++) {
        cl_device_id ids[16];
        cl_uint n = 0;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 16, ids, &n) != CL_SUCCESS)
            continue;
        for (cl_uint d = 0; d < n && d < 16 && count < 64; d++, count++) {
            read_limits(platforms[p], ids[d], &list[count].limits);
            list[count].usable = true;
            list[count].platform_id = platforms[p];
            list[count].device_id = ids[d];
        }
    }
    if (count == 0) {
        free(list);
        return clv_fail(CLVOX_ERROR_DEVICE, "no OpenCL device; install pocl-opencl-icd");
    }
    *out = list;
    return count;
}

void clvox_devices_free(clvox_device **devices)
{
    if (!devices)
        return;
    free(*devices);
    *devices = NULL;
}
