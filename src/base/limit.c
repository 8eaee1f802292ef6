/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clvox/volume.h"

bool clv_address_space(uint64_t *limit, uint64_t *left)
{
    struct rlimit given;
    unsigned long long pages = 0;
    if (getrlimit(RLIMIT_AS, &given) || given.rlim_cur == RLIM_INFINITY)
        return false;
    FILE *file = fopen("/proc/self/statm", "r");
    bool known = file && fscanf(file, "%llu", &pages) == 1;
    if (file)
        fclose(file);
    uint64_t used = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
    *limit = given.rlim_cur;
    *left = used < *limit ? *limit - used : 0;
    return known;
}

/* The least of what files of this name say, in a folder below root and in all between. */
static uint64_t least_above(const char *root, char *folder, const char *name)
{
    uint64_t least = UINT64_MAX;
    for (;;) {
        char path[2 * PATH_MAX];
        unsigned long long bytes;
        snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
        FILE *file = fopen(path, "r");
        if (file && fscanf(file, "%llu", &bytes) == 1 && bytes < least) /* not a number: "max" */
            least = bytes;
        if (file)
            fclose(file);
        char *last = strrchr(folder, '/');
        if (!last)
            return least;
        *last = 0;
    }
}

/* Lines are ID:CONTROLLERS:FOLDER, without controllers in version 2. */
uint64_t clv_group_memory(const char *own, const char *root)
{
    uint64_t least = UINT64_MAX;
    char line[PATH_MAX], first[PATH_MAX];
    FILE *file = fopen(own, "r");
    snprintf(first, sizeof first, "%s/memory", root);
    while (file && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'), *folder = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!folder)
            continue;
        folder[strcspn(folder, "\n")] = 0;
        *folder++ = 0;
        const bool second = !controllers[1];
        if (!second && strcmp(controllers + 1, "memory") != 0)
            continue;
        const uint64_t bytes =
            least_above(second ? root : first, folder, second ? "memory.max" : "memory.limit_in_bytes");
        least = bytes < least ? bytes : least;
    }
    if (file)
        fclose(file);
    return least;
}

size_t clvox_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t all = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0, limit, left;
    const uint64_t group = clv_group_memory("/proc/self/cgroup", "/sys/fs/cgroup");
    all = group < all ? group : all;
    return (size_t)(clv_address_space(&limit, &left) && limit < all ? limit : all);
}
