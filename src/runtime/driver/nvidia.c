/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "runtime/device/limits.h"
#include "runtime/driver/driver.h"
#include "runtime/program/cache.h"

/* cl_nv_device_attribute_query, by number. */
enum {
    MAJOR = 0x4000,
    MINOR = 0x4001,
    WARP = 0x4003,
    PCI_BUS = 0x4008,
    PCI_SLOT = 0x4009,
    PCI_DOMAIN = 0x400A
};

static void limits(cl_device_id id, clvox_device_limits *l)
{
    l->capability_major = (int)clv_query_uint(id, MAJOR);
    l->capability_minor = (int)clv_query_uint(id, MINOR);
    l->simd = (int)clv_query_uint(id, WARP);
    if (l->capability_major)
        snprintf(l->architecture, sizeof l->architecture, "sm_%d%d", l->capability_major,
                 l->capability_minor);
    cl_uint bus, slot;
    if (clv_query(id, PCI_BUS, &bus, sizeof bus) && clv_query(id, PCI_SLOT, &slot, sizeof slot))
        snprintf(l->pci, sizeof l->pci, "%04x:%02x:%02x.%x", clv_query_uint(id, PCI_DOMAIN) & 0xffff,
                 bus & 0xff, (slot >> 3) & 0x1f, slot & 7);
}

/* The driver runs what it finds in its cache. */
static bool faulty(const clvox_device_limits *l, char *why, size_t room)
{
    char path[PATH_MAX], is[CLV_WHY];
    const char *off = getenv("CUDA_CACHE_DISABLE"), *set = getenv("CUDA_CACHE_PATH"), *home = getenv("HOME");
    (void)l;
    const int length = set && set[0] ? snprintf(path, sizeof path, "%s", set)
                       : home        ? snprintf(path, sizeof path, "%s/.nv/ComputeCache", home)
                                     : 0; /* it keeps nothing */
    if ((off && !strcmp(off, "1")) || length <= 0 || length >= PATH_MAX || clv_own_folder(path, false, is) ||
        !is[0])
        return false;
    snprintf(why, room, "its driver runs what lies in its cache, and %.60s; set CUDA_CACHE_DISABLE=1", is);
    return true;
}

/* Without -w it counts its warnings on the terminal. It says how many registers it took. It may unroll whole: it
 * does not hold all loads at a time. */
static const char *options(const clvox_device_limits *l)
{
    (void)l;
    return "-w -cl-nv-verbose -DUNROLLS_WHOLE";
}

static void counts_of_log(const char *log, const char *kernel, clv_counts *counts)
{
    char start[96];
    snprintf(start, sizeof start, "Function properties for %s\n", kernel);
    log = strstr(log, start);
    const char *used = log ? strstr(log, "Used ") : NULL;
    const char *spill = log ? strstr(log, " bytes spill stores") : NULL;
    if (!used || sscanf(used, "Used %d registers", &counts->registers) != 1) {
        counts->registers = -1;
        return;
    }
    counts->spills = 0;
    if (spill && spill < used) {
        while (spill > log && spill[-1] >= '0' && spill[-1] <= '9')
            spill--;
        counts->spills = atoi(spill);
    }
}

const clv_driver clv_driver_nvidia = {
    .platforms = {"NVIDIA CUDA"},
    .extension = "cl_nv_device_attribute_query",
    .limits = limits,
    .faulty = faulty,
    .options = options,
    .register_cap = "-cl-nv-maxrregcount=",
    .counts_of_log = counts_of_log,
};
