/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "runtime/device/limits.h"
#include "runtime/driver/driver.h"
#include "runtime/driver/environment.h"
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

/* ---- its cache, in which it runs what it finds --------------------------------- */

/* Whether others could write there, and who. */
static bool open_to_others(char is[CLV_WHY])
{
    char path[PATH_MAX];
    const char *set = getenv("CUDA_CACHE_PATH"), *home = getenv("HOME");
    const int length = set && set[0] ? snprintf(path, sizeof path, "%s", set)
                       : home        ? snprintf(path, sizeof path, "%s/.nv/ComputeCache", home)
                                     : 0; /* it keeps nothing */
    return length > 0 && length < PATH_MAX && !clv_own_folder(path, false, is) && is[0];
}

/* It goes without. clvox keeps what the driver builds itself. */
static void own_folder(void)
{
    char is[CLV_WHY];
    if (open_to_others(is))
        setenv("CUDA_CACHE_DISABLE", "1", 1);
}

static bool faulty(const clvox_device_limits *l, char *why, size_t room)
{
    char is[CLV_WHY];
    const char *off = getenv("CUDA_CACHE_DISABLE");
    (void)l;
    if ((off && !strcmp(off, "1")) || !open_to_others(is))
        return false;
    snprintf(why, room, "its driver runs what lies in its cache, and %.60s; set CUDA_CACHE_DISABLE=1", is);
    return true;
}

/* ---- no more than is used ------------------------------------------------------- */

/* The line of a GPU's file that names its model; false where there is none. */
static bool model_of(const char *folder, const char *gpu, char *out, size_t room)
{
    char path[512];
    bool found = false;
    snprintf(path, sizeof path, "%s/%s/information", folder, gpu);
    FILE *file = fopen(path, "r");
    while (file && !found && fgets(out, (int)room, file))
        found = !strncmp(out, "Model:", 6);
    if (file)
        fclose(file);
    return found;
}

/* Whether there are several, all of one model. */
static bool several_alike(const char *folder)
{
    char first[256] = "", model[256];
    int count = 0;
    bool alike = true;
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir && alike && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        alike = model_of(folder, entry->d_name, model, sizeof model) && (!count || !strcmp(model, first));
        if (!count++)
            memcpy(first, model, sizeof first);
    }
    if (dir)
        closedir(dir);
    return alike && count > 1;
}

/* clvox uses no managed memory, with which a GPU and each of its channels would be registered; and one
 * channel for kernels does as much as eight, for one context and for several at once. With one GPU where
 * there are several alike, that saves 0.2 s of the 0.3 that opening and closing one take. */
int clv_nvidia_narrow(const char *folder, const char *device, bool one_gpu)
{
    static const char *const fewer[][2] = {{"NV_OPENCL_DISABLE_UVM", "1"},
                                           {"CUDA_DEVICE_MAX_CONNECTIONS", "1"}};
    int set = 0;
    device = clv_environment_device(device);
    for (size_t i = 0; i < sizeof fewer / sizeof *fewer; i++)
        set += !getenv(fewer[i][0]) && setenv(fewer[i][0], fewer[i][1], 1) == 0;
    if (one_gpu && !getenv("CUDA_VISIBLE_DEVICES") && (!device[0] || !strcasecmp(device, "gpu")) &&
        several_alike(folder))
        set += setenv("CUDA_VISIBLE_DEVICES", "0", 1) == 0;
    return set;
}

static void narrow(const char *device, bool one_gpu)
{
    clv_nvidia_narrow("/proc/driver/nvidia/gpus", device, one_gpu);
}

/* ---- its compiler --------------------------------------------------------------- */

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
    .own_folder = own_folder,
    .narrow = narrow,
    .faulty = faulty,
    .options = options,
    .register_cap = "-cl-nv-maxrregcount=",
    .counts_of_log = counts_of_log,
};
