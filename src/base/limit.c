/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limit.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

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
