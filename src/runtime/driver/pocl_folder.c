/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/driver/pocl_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "clvox/files.h"

/* Where PoCL itself goes: it takes empty and relative names, too, and without any one in /tmp. */
static bool kept_in(char path[PATH_MAX])
{
    const char *set = getenv("POCL_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const int length = set             ? snprintf(path, PATH_MAX, "%s", set)
                       : xdg && xdg[0] ? snprintf(path, PATH_MAX, "%s/pocl", xdg)
                       : home          ? snprintf(path, PATH_MAX, "%s/.cache/pocl", home)
                                       : snprintf(path, PATH_MAX, "/tmp/pocl");
    return length > 0 && length < PATH_MAX;
}

/* Whether what is there, or the first folder above it that is, can be written. */
static bool can_write(const char *path)
{
    char place[PATH_MAX];
    struct stat info;
    strcpy(place, path);
    for (char *slash; stat(place, &info) < 0 && (slash = strrchr(place, '/'));)
        slash[slash == place && slash[1]] = 0;
    return stat(place, &info) == 0 && S_ISDIR(info.st_mode) && access(place, W_OK | X_OK) == 0;
}

/* ---- before it is asked --------------------------------------------------------- */

/* On a Linux whose /sys names no processors it ends the program; and it runs what it finds in its folder. */
bool clv_pocl_barred(char *why, size_t room)
{
    char path[PATH_MAX], is[CLV_WHY];
#ifdef __linux__
    if (!getenv("HWLOC_XMLFILE") && access("/sys/devices/system/cpu/cpu0", F_OK) < 0 &&
        access("/sys/bus/cpu/devices/cpu0", F_OK) < 0) {
        snprintf(
            why, room,
            "/sys says nothing of processors, without which PoCL, the OpenCL driver of processors, ends the "
            "program; mount it: mount -t sysfs sysfs /sys");
        return true;
    }
#endif
    if (!kept_in(path) || clvox_folder_own(path, false, true, is, sizeof is) || !is[0])
        return false;
    snprintf(why, room,
             "PoCL runs what it finds in its folder, and %s; set POCL_CACHE_DIR to a folder that only you "
             "can write",
             is);
    return true;
}

/* It gives no device where it may not write its folder. */
bool clv_pocl_hindered(char *why, size_t room)
{
    char path[PATH_MAX];
    if (!kept_in(path) || path[0] != '/' || can_write(path))
        return false;
    snprintf(why, room,
             "PoCL cannot write its folder %.300s; set POCL_CACHE_DIR to a folder that can be written", path);
    return true;
}

/* ---- before it is loaded -------------------------------------------------------- */

static struct {
    char remark[CLV_WHY + PATH_MAX + 160];
    char passing[PATH_MAX]; /* a folder that goes with this process; "": none */
    pid_t process;
} taken;

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info, (void)type, (void)at;
    remove(path);
    return 0;
}

static void remove_passing(void)
{
    if (taken.process == getpid()) /* not a child that was forked */
        nftw(taken.passing, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A path of the environment; NULL: not set, empty or relative. */
static const char *path_of(const char *variable)
{
    const char *set = getenv(variable);
    return set && set[0] == '/' ? set : NULL;
}

/* A folder of the user's own among temporary ones, that of earlier runs or else one for this process. */
static bool lend_folder(void)
{
    const char *bases[] = {path_of("TMPDIR"), "/tmp"};
    char path[PATH_MAX], why[CLV_WHY];
    for (int i = 0; i < 4; i++) {
        const char *base = bases[i / 2];
        const bool passing = i % 2;
        const int length =
            base ? snprintf(path, sizeof path, passing ? "%s/clvox-pocl-XXXXXX" : "%s/clvox-pocl-%u", base,
                            (unsigned)geteuid())
                 : -1;
        if (length < 0 || length >= (int)sizeof path || (passing && !mkdtemp(path)))
            continue;
        if (clvox_folder_own(path, true, true, why, sizeof why) && access(path, W_OK | X_OK) == 0) {
            strcpy(taken.passing, passing ? path : "");
            taken.process = getpid();
            if (passing)
                atexit(remove_passing);
            return setenv("POCL_CACHE_DIR", path, 1) == 0;
        }
        if (passing)
            rmdir(path);
    }
    return false;
}

/* PoCL writes what it builds into tempfile_*, and leaves empty ones. One of the last hour may be at work. */
static void sweep(const char *below)
{
    char place[PATH_MAX];
    struct stat info;
    if (!kept_in(place) || strlen(place) + strlen(below) >= sizeof place)
        return;
    DIR *dir = opendir(strcat(place, below));
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (!strncmp(entry->d_name, "tempfile_", 9) &&
            !fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) && S_ISREG(info.st_mode) &&
            info.st_size == 0 && time(NULL) - info.st_mtime > 3600)
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
}

/* Whether POCL_CACHE_DIR, or else a folder of the user's caches, will do; PoCL is sent there. */
static bool takes_it(char why[CLV_WHY])
{
    char path[PATH_MAX];
    const char *set = getenv("POCL_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = path_of("HOME");
    const bool named = set && set[0], below = path_of("XDG_CACHE_HOME") != NULL;
    const int length = named   ? snprintf(path, sizeof path, "%s", set)
                       : below ? snprintf(path, sizeof path, "%s/pocl", xdg)
                       : home  ? snprintf(path, sizeof path, "%s/.cache/pocl", home)
                               : -1;
    if (length < 0 || length >= (int)sizeof path)
        return false;
    const bool own = clvox_folder_own(path, false, true, why, CLV_WHY);
    /* One that was named and cannot be written gives no device, and a message of the library's. */
    if (why[0] || (!named && !(own && can_write(path))))
        return false;
    if (!named && (set || (xdg && xdg[0] && !below))) /* it would take the empty or relative name */
        setenv("POCL_CACHE_DIR", path, 1);
    return true;
}

void clv_pocl_own_folder(void)
{
    char why[CLV_WHY] = "";
    if (!takes_it(why) && lend_folder() && why[0])
        snprintf(taken.remark, sizeof taken.remark,
                 "PoCL keeps what it builds in %s%s, as %s; set POCL_CACHE_DIR to a folder that only you can "
                 "write",
                 getenv("POCL_CACHE_DIR"), taken.passing[0] ? " until the end" : "", why);
    sweep("");
    sweep("/kcache"); /* where POCL_CACHE_DIR names none */
}

const char *clv_pocl_remark(void)
{
    return taken.remark;
}

/* PoCL starts a thread for each processor of the machine. Where this process may run on fewer (taskset, a
 * batch system), threads that share one wait for each other. Results do not depend on it. */
void clv_pocl_threads(void)
{
    /* Until version 3.1, which 4.0 and later still read, and since. */
    static const char *const names[2] = {"POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT"};
    cpu_set_t allowed;
    char count[16];
    const char *set[2] = {getenv(names[0]), getenv(names[1])};
    if ((set[0] && set[0][0]) || (set[1] && set[1][0]) || sched_getaffinity(0, sizeof allowed, &allowed) ||
        CPU_COUNT(&allowed) >= sysconf(_SC_NPROCESSORS_ONLN))
        return;
    snprintf(count, sizeof count, "%d", CPU_COUNT(&allowed));
    setenv(names[0], count, 1);
    setenv(names[1], count, 1);
}

bool clv_pocl_packaged(const char *folder, char *library, size_t room)
{
    char place[PATH_MAX];
    bool found = false;
    DIR *dir = snprintf(place, sizeof place, "%s/pocl", folder) < (int)sizeof place ? opendir(place) : NULL;
    for (struct dirent *entry; dir && !found && (entry = readdir(dir));)
        found = !strncmp(entry->d_name, "libpocl", 7) && strncmp(entry->d_name, "libpocl-devices", 15) != 0 &&
                snprintf(library, room, "%s/%s", place, entry->d_name) < (int)room;
    if (dir)
        closedir(dir);
    return found;
}
