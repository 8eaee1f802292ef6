/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "runtime/device/error.h"
#include "runtime/device/limits.h"
#include "runtime/driver/driver.h"

enum { KHR_PCI = 0x410F }; /* of cl_khr_pci_bus_info */

bool clv_query(cl_device_id id, cl_device_info what, void *out, size_t bytes)
{
    memset(out, 0, bytes);
    if (clGetDeviceInfo(id, what, bytes, out, NULL) == CL_SUCCESS)
        return true;
    memset(out, 0, bytes);
    return false;
}

cl_uint clv_query_uint(cl_device_id id, cl_device_info what)
{
    cl_uint value = 0;
    clv_query(id, what, &value, sizeof value);
    return value;
}

static size_t get_size(cl_device_id id, cl_device_info what)
{
    cl_ulong value = 0;
    clv_query(id, what, &value, sizeof value);
    return (size_t)value;
}

static void trim(char *text)
{
    size_t start = strspn(text, " \t\n"), length = strlen(text + start);
    memmove(text, text + start, length + 1);
    while (length > 0 && strchr(" \t\n", text[length - 1]))
        text[--length] = 0;
}

void clv_query_text(cl_device_id id, cl_device_info what, char *out, size_t room)
{
    char text[512];
    text[0] = 0;
    if (clGetDeviceInfo(id, what, sizeof text - 1, text, NULL) != CL_SUCCESS)
        text[0] = 0;
    text[sizeof text - 1] = 0;
    trim(text);
    snprintf(out, room, "%.*s", (int)room - 1, text);
}

static void get_platform_text(cl_platform_id id, cl_platform_info what, char *out, size_t room)
{
    char text[512];
    text[0] = 0;
    if (clGetPlatformInfo(id, what, sizeof text - 1, text, NULL) != CL_SUCCESS)
        text[0] = 0;
    text[sizeof text - 1] = 0;
    trim(text);
    snprintf(out, room, "%.*s", (int)room - 1, text);
}

static bool has(const char *extensions, const char *name)
{
    return strstr(extensions, name) != NULL;
}

void clv_limits_query(void *platform, void *device, clvox_device_limits *l)
{
    cl_device_id id = device;
    memset(l, 0, sizeof *l);
    clv_query_text(id, CL_DEVICE_NAME, l->name, sizeof l->name);
    clv_query_text(id, CL_DEVICE_VENDOR, l->vendor, sizeof l->vendor);
    clv_query_text(id, CL_DRIVER_VERSION, l->driver, sizeof l->driver);
    clv_query_text(id, CL_DEVICE_VERSION, l->version, sizeof l->version);
    get_platform_text(platform, CL_PLATFORM_NAME, l->platform, sizeof l->platform);
    get_platform_text(platform, CL_PLATFORM_VERSION, l->platform_version, sizeof l->platform_version);
    int major = 0, minor = 0;
    if (sscanf(l->version, "OpenCL %d.%d", &major, &minor) == 2)
        l->opencl = 10 * major + minor;
    cl_device_type type = 0;
    clv_query(id, CL_DEVICE_TYPE, &type, sizeof type);
    l->type = type & CL_DEVICE_TYPE_GPU   ? CLVOX_DEVICE_GPU
              : type & CL_DEVICE_TYPE_CPU ? CLVOX_DEVICE_CPU
                                          : CLVOX_DEVICE_ACCELERATOR;
    l->compute_units = (int)clv_query_uint(id, CL_DEVICE_MAX_COMPUTE_UNITS);
    l->clock_mhz = (int)clv_query_uint(id, CL_DEVICE_MAX_CLOCK_FREQUENCY);
    l->global_bytes = get_size(id, CL_DEVICE_GLOBAL_MEM_SIZE);
    l->max_allocation = get_size(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    l->local_bytes = get_size(id, CL_DEVICE_LOCAL_MEM_SIZE);
    l->local_dedicated = clv_query_uint(id, CL_DEVICE_LOCAL_MEM_TYPE) == CL_LOCAL;
    l->constant_bytes = get_size(id, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE);
    l->max_group = get_size(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    size_t items[16];
    if (clv_query(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, items, sizeof items))
        memcpy(l->max_items, items, sizeof l->max_items);
    l->simd = (int)clv_query_uint(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    cl_ulong doubles;
    clv_query(id, CL_DEVICE_DOUBLE_FP_CONFIG, &doubles, sizeof doubles);
    l->fp64 = doubles != 0;
    l->images = clv_query_uint(id, CL_DEVICE_IMAGE_SUPPORT);
    l->shares_host_memory = l->type == CLVOX_DEVICE_CPU || clv_query_uint(id, CL_DEVICE_HOST_UNIFIED_MEMORY);

    char extensions[16384];
    if (!clv_query(id, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions))
        return;
    extensions[sizeof extensions - 1] = 0;
    const clv_driver *driver;
    for (size_t i = 0; (driver = clv_driver_at(i)); i++)
        if (driver->limits && (driver->extension ? has(extensions, driver->extension)
                                                 : driver == clv_driver_of(l->platform)))
            driver->limits(id, l);
    cl_uint pci[4];
    if (has(extensions, "cl_khr_pci_bus_info") && clv_query(id, KHR_PCI, pci, sizeof pci))
        snprintf(l->pci, sizeof l->pci, "%04x:%02x:%02x.%x", pci[0] & 0xffff, pci[1] & 0xff,
                 pci[2] & 0x1f, pci[3] & 7);
}
