/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "runtime/device/error.h"
#include "runtime/device/limits.h"

/* Queries of extensions, by number: cl_nv_device_attribute_query,
 * cl_amd_device_attribute_query, cl_khr_pci_bus_info. */
enum {
    NV_MAJOR = 0x4000,
    NV_MINOR = 0x4001,
    NV_WARP = 0x4003,
    NV_INTEGRATED = 0x4006,
    NV_PCI_BUS = 0x4008,
    NV_PCI_SLOT = 0x4009,
    NV_PCI_DOMAIN = 0x400A,
    AMD_TOPOLOGY = 0x4037,
    AMD_BOARD = 0x4038,
    AMD_FREE_MEMORY = 0x4039,
    AMD_SIMDS = 0x4040,
    AMD_WAVEFRONT = 0x4043,
    KHR_PCI = 0x410F
};

static bool get(cl_device_id id, cl_device_info what, void *out, size_t bytes)
{
    memset(out, 0, bytes);
    if (clGetDeviceInfo(id, what, bytes, out, NULL) == CL_SUCCESS)
        return true;
    memset(out, 0, bytes);
    return false;
}

static cl_uint get_uint(cl_device_id id, cl_device_info what)
{
    cl_uint value = 0;
    get(id, what, &value, sizeof value);
    return value;
}

static size_t get_size(cl_device_id id, cl_device_info what)
{
    cl_ulong value = 0;
    get(id, what, &value, sizeof value);
    return (size_t)value;
}

/* Without the blanks that some drivers put around names. */
static void trim(char *text)
{
    size_t start = strspn(text, " \t\n"), length = strlen(text + start);
    memmove(text, text + start, length + 1);
    while (length > 0 && strchr(" \t\n", text[length - 1]))
        text[--length] = 0;
}

static void get_text(cl_device_id id, cl_device_info what, char *out, size_t room)
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

static void query_nvidia(cl_device_id id, clvox_device_limits *l)
{
    l->nvidia_major = (int)get_uint(id, NV_MAJOR);
    l->nvidia_minor = (int)get_uint(id, NV_MINOR);
    l->simd = (int)get_uint(id, NV_WARP);
    if (l->nvidia_major)
        snprintf(l->architecture, sizeof l->architecture, "sm_%d%d", l->nvidia_major, l->nvidia_minor);
    cl_uint bus, slot;
    if (get(id, NV_PCI_BUS, &bus, sizeof bus) && get(id, NV_PCI_SLOT, &slot, sizeof slot))
        snprintf(l->pci, sizeof l->pci, "%04x:%02x:%02x.%x", get_uint(id, NV_PCI_DOMAIN) & 0xffff,
                 bus & 0xff, (slot >> 3) & 0x1f, slot & 7);
}

static void query_amd(cl_device_id id, clvox_device_limits *l)
{
    l->amd_simds = (int)get_uint(id, AMD_SIMDS);
    l->simd = (int)get_uint(id, AMD_WAVEFRONT);
    if (!strncmp(l->name, "gfx", 3)) /* "gfx90a:sramecc+:xnack-" */
        snprintf(l->architecture, sizeof l->architecture, "%.*s", (int)strcspn(l->name, ":"), l->name);
    char board[sizeof l->name];
    get_text(id, AMD_BOARD, board, sizeof board);
    if (board[0])
        memcpy(l->name, board, sizeof board);
    struct {
        cl_uint type;
        cl_char unused[17], bus, device, function;
    } topology;
    if (get(id, AMD_TOPOLOGY, &topology, sizeof topology) && topology.type == 1)
        snprintf(l->pci, sizeof l->pci, "0000:%02x:%02x.%x", (unsigned)topology.bus & 0xff,
                 (unsigned)topology.device & 0x1f, (unsigned)topology.function & 7);
    size_t free_kib[2];
    if (get(id, AMD_FREE_MEMORY, free_kib, sizeof free_kib) ||
        get(id, AMD_FREE_MEMORY, free_kib, sizeof free_kib[0]))
        l->free_bytes = free_kib[0] * 1024;
}

void clv_limits_query(void *platform, void *device, clvox_device_limits *l)
{
    cl_device_id id = device;
    memset(l, 0, sizeof *l);
    get_text(id, CL_DEVICE_NAME, l->name, sizeof l->name);
    get_text(id, CL_DEVICE_VENDOR, l->vendor, sizeof l->vendor);
    get_text(id, CL_DRIVER_VERSION, l->driver, sizeof l->driver);
    get_text(id, CL_DEVICE_VERSION, l->version, sizeof l->version);
    get_platform_text(platform, CL_PLATFORM_NAME, l->platform, sizeof l->platform);
    get_platform_text(platform, CL_PLATFORM_VERSION, l->platform_version, sizeof l->platform_version);
    int major = 0, minor = 0;
    if (sscanf(l->version, "OpenCL %d.%d", &major, &minor) == 2)
        l->opencl = 10 * major + minor;
    cl_device_type type = 0;
    get(id, CL_DEVICE_TYPE, &type, sizeof type);
    l->type = type & CL_DEVICE_TYPE_GPU   ? CLVOX_DEVICE_GPU
              : type & CL_DEVICE_TYPE_CPU ? CLVOX_DEVICE_CPU
                                          : CLVOX_DEVICE_ACCELERATOR;
    l->compute_units = (int)get_uint(id, CL_DEVICE_MAX_COMPUTE_UNITS);
    l->clock_mhz = (int)get_uint(id, CL_DEVICE_MAX_CLOCK_FREQUENCY);
    l->global_bytes = get_size(id, CL_DEVICE_GLOBAL_MEM_SIZE);
    l->max_allocation = get_size(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    l->local_bytes = get_size(id, CL_DEVICE_LOCAL_MEM_SIZE);
    l->local_dedicated = get_uint(id, CL_DEVICE_LOCAL_MEM_TYPE) == CL_LOCAL;
    l->constant_bytes = get_size(id, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE);
    l->max_group = get_size(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    size_t items[16];
    if (get(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, items, sizeof items))
        memcpy(l->max_items, items, sizeof l->max_items);
    l->simd = (int)get_uint(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    cl_ulong doubles;
    get(id, CL_DEVICE_DOUBLE_FP_CONFIG, &doubles, sizeof doubles);
    l->fp64 = doubles != 0;
    l->shares_host_memory = l->type == CLVOX_DEVICE_CPU || get_uint(id, CL_DEVICE_HOST_UNIFIED_MEMORY);

    char extensions[16384];
    if (!get(id, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions))
        return;
    extensions[sizeof extensions - 1] = 0;
    if (has(extensions, "cl_nv_device_attribute_query"))
        query_nvidia(id, l);
    else if (has(extensions, "cl_amd_device_attribute_query"))
        query_amd(id, l);
    cl_uint pci[4];
    if (has(extensions, "cl_khr_pci_bus_info") && get(id, KHR_PCI, pci, sizeof pci))
        snprintf(l->pci, sizeof l->pci, "%04x:%02x:%02x.%x", pci[0] & 0xffff, pci[1] & 0xff,
                 pci[2] & 0x1f, pci[3] & 7);
}
