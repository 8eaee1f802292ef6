/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clvox/kernels.h"
#include "runtime/pocl.h"

bool clv_pocl_folder_refused(char *path, size_t room)
{
    const char *set = getenv("POCL_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct stat info;
    if (set && set[0])
        snprintf(path, room, "%s", set);
    else if (xdg && xdg[0])
        snprintf(path, room, "%s/pocl", xdg);
    else if (home && home[0])
        snprintf(path, room, "%s/.cache/pocl", home);
    else
        return false; /* it takes one in /tmp */
    if (path[0] != '/')
        return false; /* PoCL's own affair */
    char *there = strdup(path);
    if (!there)
        return false;
    /* What is not there yet is made in the first folder above that is. */
    for (char *slash; stat(there, &info) < 0 && (slash = strrchr(there, '/'));)
        slash[slash == there && slash[1]] = 0;
    bool refused = stat(there, &info) < 0 || !S_ISDIR(info.st_mode) || access(there, W_OK | X_OK) < 0;
    free(there);
    return refused;
}

int clvox_pocl_folder_lend(void)
{
    char path[1024];
    const char *set = getenv("POCL_CACHE_DIR"), *temporary = getenv("TMPDIR");
    struct stat info;
    if ((set && set[0]) || !clv_pocl_folder_refused(path, sizeof path))
        return 0;
    int length = snprintf(path, sizeof path, "%s/clvox-pocl-%u",
                          temporary && temporary[0] ? temporary : "/tmp", (unsigned)geteuid());
    if (length < 0 || (size_t)length >= sizeof path || (mkdir(path, 0700) < 0 && errno != EEXIST))
        return 0;
    /* PoCL runs what it finds there: nobody else may have made or may fill it. */
    if (lstat(path, &info) < 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid() || info.st_mode & 022)
        return 0;
    return setenv("POCL_CACHE_DIR", path, 1) == 0;
}
