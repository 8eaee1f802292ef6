/* SPDX-License-Identifier: Apache-2.0 */
/* How much NVIDIA's driver opens, and its cache. */
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "clvox/kernels.h"
#include "runtime/device/nvidia.h"

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
 * channel for kernels does as much as eight, for one context and for several at once. */
static const char *const FEWER[][2] = {{"NV_OPENCL_DISABLE_UVM", "1"}, {"CUDA_DEVICE_MAX_CONNECTIONS", "1"}};

int clv_nvidia_little(const char *folder, const char *device, bool one)
{
    int set = 0;
    if (!device || !device[0])
        device = getenv("CLVOX_DEVICE");
    for (size_t i = 0; i < sizeof FEWER / sizeof *FEWER; i++)
        set += !getenv(FEWER[i][0]) && setenv(FEWER[i][0], FEWER[i][1], 1) == 0;
    if (one && !getenv("CUDA_VISIBLE_DEVICES") && (!device || !device[0] || !strcasecmp(device, "gpu")) &&
        several_alike(folder))
        set += setenv("CUDA_VISIBLE_DEVICES", "0", 1) == 0;
    return set;
}

int clvox_nvidia_little(const char *device, bool one)
{
    return clv_nvidia_little("/proc/driver/nvidia/gpus", device, one);
}

void clv_nvidia_cache_settle(void)
{
    char path[PATH_MAX], why[CLV_WHY];
    const char *set = getenv("CUDA_CACHE_PATH"), *home = getenv("HOME");
    const int length = set && set[0] ? snprintf(path, sizeof path, "%s", set)
                       : home        ? snprintf(path, sizeof path, "%s/.nv/ComputeCache", home)
                                     : 0; /* it keeps nothing */
    if (length > 0 && length < PATH_MAX && !clv_own_folder(path, false, why) && why[0])
        setenv("CUDA_CACHE_DISABLE", "1", 1);
}
