/* SPDX-License-Identifier: Apache-2.0 */
/* What NVIDIA's driver opens. */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

int clv_nvidia_one(const char *folder, const char *device)
{
    const char *set = getenv("CUDA_VISIBLE_DEVICES");
    if (!device || !device[0])
        device = getenv("CLVOX_DEVICE");
    if (set || (device && device[0] && strcasecmp(device, "gpu") != 0))
        return 0;
    return several_alike(folder) && setenv("CUDA_VISIBLE_DEVICES", "0", 1) == 0;
}

int clvox_nvidia_one(const char *device)
{
    return clv_nvidia_one("/proc/driver/nvidia/gpus", device);
}
