/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "clvox/kernels.h"
#include "runtime/device/error.h"
#include "runtime/device/pocl.h"

#include <CL/cl_icd.h> /* after the version that error.h asks for */

/* ---- its folder --------------------------------------------------------------- */

/* A path of the environment; NULL: not set, empty or relative. */
static const char *path_of(const char *variable)
{
    const char *set = getenv(variable);
    return set && set[0] == '/' ? set : NULL;
}

/* The folder that the environment means; false: none. */
static bool meant(char path[PATH_MAX])
{
    const char *set = getenv("POCL_CACHE_DIR"), *xdg = path_of("XDG_CACHE_HOME"), *home = path_of("HOME");
    int length = set && set[0] ? snprintf(path, PATH_MAX, "%s", set)
                 : xdg         ? snprintf(path, PATH_MAX, "%s/pocl", xdg)
                 : home        ? snprintf(path, PATH_MAX, "%s/.cache/pocl", home)
                               : -1;
    return length > 0 && length < PATH_MAX;
}

/* Whether PoCL comes to that folder by itself: it takes relative names, too, and without any one in /tmp. */
static bool finds_it(void)
{
    const char *set = getenv("POCL_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME");
    return set ? set[0] != 0 : xdg && xdg[0] ? path_of("XDG_CACHE_HOME") != NULL : path_of("HOME") != NULL;
}

bool clv_pocl_folder_refused(char *path, size_t room)
{
    char place[PATH_MAX];
    struct stat info;
    if (!meant(place) || place[0] != '/')
        return false;
    snprintf(path, room, "%s", place);
    /* What is not there yet is made in the first folder above that is. */
    for (char *slash; stat(place, &info) < 0 && (slash = strrchr(place, '/'));)
        slash[slash == place && slash[1]] = 0;
    return stat(place, &info) < 0 || !S_ISDIR(info.st_mode) || access(place, W_OK | X_OK) < 0;
}

/* The choice is made once: PoCL asks for its folder once, too. */
static struct {
    pthread_mutex_t lock;
    bool settled, lent, shut;
    char remark[CLV_WHY + PATH_MAX];
    char passing[PATH_MAX]; /* a folder that goes with this process; "": none */
    pid_t process;
} taken = {.lock = PTHREAD_MUTEX_INITIALIZER};

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
        if (clv_own_folder(path, true, why) && clv_own_tree(path, why) && access(path, W_OK | X_OK) == 0) {
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

static void settle(void)
{
    char path[PATH_MAX], refused[PATH_MAX], why[CLV_WHY] = "";
    const char *set = getenv("POCL_CACHE_DIR");
    const bool named = set && set[0], known = meant(path), own = known && clv_own_tree(path, why);
    if (known && !why[0] && (named || (own && !clv_pocl_folder_refused(refused, sizeof refused)))) {
        /* One that was named and cannot be written gives no device, and a message. */
        taken.lent = !finds_it() && setenv("POCL_CACHE_DIR", path, 1) == 0;
        return;
    }
    taken.lent = lend_folder();
    taken.shut = !taken.lent && (!known || why[0]);
    if (why[0] && taken.lent)
        snprintf(taken.remark, sizeof taken.remark,
                 "PoCL keeps what it builds in %s%s, as %s; set POCL_CACHE_DIR to a folder that only you can "
                 "write",
                 getenv("POCL_CACHE_DIR"), taken.passing[0] ? " until the end" : "", why);
}

/* PoCL writes what it builds into tempfile_*, and leaves empty ones. One of the last hour may be at work. */
static void sweep(const char *below)
{
    char folder[PATH_MAX];
    struct stat info;
    if (!meant(folder) || strlen(folder) + strlen(below) >= sizeof folder)
        return;
    DIR *dir = opendir(strcat(folder, below));
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (!strncmp(entry->d_name, "tempfile_", 9) &&
            !fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) && S_ISREG(info.st_mode) &&
            info.st_size == 0 && time(NULL) - info.st_mtime > 3600)
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
}

bool clv_pocl_folder_settle(void)
{
    pthread_mutex_lock(&taken.lock);
    if (!taken.settled) {
        settle();
        sweep("");
        sweep("/kcache"); /* where POCL_CACHE_DIR names none */
    }
    taken.settled = true;
    pthread_mutex_unlock(&taken.lock);
    return !taken.shut;
}

const char *clv_pocl_folder_remark(void)
{
    return taken.remark;
}

int clvox_pocl_folder_lend(void)
{
    const bool before = taken.settled;
    clv_pocl_folder_settle();
    return !before && taken.lent;
}

/* ---- what else it needs --------------------------------------------------------- */

int clvox_pocl_threads_limit(void)
{
    /* Until version 3.1, which 4.0 and later still read, and since. */
    static const char *const names[2] = {"POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT"};
    cpu_set_t allowed;
    char count[16];
    const char *set[2] = {getenv(names[0]), getenv(names[1])};
    if ((set[0] && set[0][0]) || (set[1] && set[1][0]) || sched_getaffinity(0, sizeof allowed, &allowed) ||
        CPU_COUNT(&allowed) >= sysconf(_SC_NPROCESSORS_ONLN))
        return 0;
    snprintf(count, sizeof count, "%d", CPU_COUNT(&allowed));
    return setenv(names[0], count, 1) == 0 && setenv(names[1], count, 1) == 0;
}

bool clv_is_pocl(const char *platform)
{
    return strstr(platform, "Portable Computing Language") != NULL;
}

bool clv_pocl_would_abort(const char *platform)
{
#ifdef __linux__
    return !strcmp(platform, "Portable Computing Language") && !getenv("HWLOC_XMLFILE") &&
           access("/sys/devices/system/cpu/cpu0", F_OK) < 0 && access("/sys/bus/cpu/devices/cpu0", F_OK) < 0;
#else
    (void)platform;
    return false;
#endif
}

bool clv_pocl_is_wrong(const char *platform, const char *driver)
{
    /* Its linear interpolation by rows is off by whole values (tests/op/field/test_warp.c). 3.1 and later
     * are right. */
    return !strcmp(platform, "Portable Computing Language") && !strcmp(driver, "3.0-rc2");
}

/* ---- drivers beside it ------------------------------------------------------- */

/* An .icd file of the system, and the library that it names. */
typedef struct driver {
    char path[1024], library[512];
} driver;

/* The next of a folder (NULL is legal) that names a library. */
static bool next_driver(DIR *dir, const char *vendors, driver *out)
{
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        const char *dot = strrchr(entry->d_name, '.');
        snprintf(out->path, sizeof out->path, "%s/%s", vendors, entry->d_name);
        FILE *file = dot && !strcmp(dot, ".icd") ? fopen(out->path, "r") : NULL;
        const bool read = file && fgets(out->library, sizeof out->library, file);
        if (file)
            fclose(file);
        out->library[read ? strcspn(out->library, "\r\n") : 0] = 0;
        if (out->library[0])
            return true;
    }
    return false;
}

/* A driver that cannot be loaded, or that finds no device (a GPU's on a node without one), has none. What
 * was loaded stays, as the loader is about to ask for it. */
static bool first_platform(const char *library, cl_platform_id *out)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    void *(CL_API_CALL * address)(const char *) = NULL;
    cl_int(CL_API_CALL * platforms)(cl_uint, cl_platform_id *, cl_uint *) = NULL;
    cl_uint count = 0;
    if (handle)
        *(void **)&address = dlsym(handle, "clGetExtensionFunctionAddress");
    if (address)
        *(void **)&platforms = address("clIcdGetPlatformIDsKHR");
    return platforms && platforms(1, out, &count) == CL_SUCCESS && count > 0;
}

/* Whether a driver has a GPU that clvox can use; asked past the loader, which would load all of them. */
static bool has_gpu(const char *library)
{
    cl_platform_id platform;
    cl_device_id gpu;
    cl_bool available = CL_FALSE, compiler = CL_FALSE;
    char version[128] = "";
    int major = 0, minor = 0;
    if (!first_platform(library, &platform))
        return false;
    const cl_icd_dispatch *its = *(cl_icd_dispatch *const *)platform;
    return its->clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &gpu, NULL) == CL_SUCCESS &&
           its->clGetDeviceInfo(gpu, CL_DEVICE_VERSION, sizeof version, version, NULL) == CL_SUCCESS &&
           sscanf(version, "OpenCL %d.%d", &major, &minor) == 2 && 10 * major + minor >= 12 &&
           its->clGetDeviceInfo(gpu, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL) == CL_SUCCESS &&
           its->clGetDeviceInfo(gpu, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler, NULL) ==
               CL_SUCCESS &&
           available && compiler;
}

int clv_pocl_leave_out(const char *vendors, const char *device)
{
    const char *set = getenv("OCL_ICD_VENDORS");
    driver one, other = {.path = ""};
    bool pocl = false, several = false;
    if (!device || !device[0])
        device = getenv("CLVOX_DEVICE");
    if ((set && set[0]) ||
        (device && device[0] && strcasecmp(device, "gpu") && strcasecmp(device, "gpu:all")))
        return 0;
    DIR *dir = opendir(vendors);
    while (next_driver(dir, vendors, &one)) {
        if (strstr(one.library, "pocl")) {
            pocl = true;
        } else {
            several = other.path[0];
            other = one;
        }
    }
    if (dir)
        closedir(dir);
    /* The first is of Debian's loader, the second of Khronos's. */
    const bool left_out = pocl && other.path[0] && !several && has_gpu(other.library) &&
                          setenv("OCL_ICD_VENDORS", other.path, 1) == 0 &&
                          setenv("OCL_ICD_FILENAMES", other.path, 1) == 0;
    taken.settled = taken.settled || left_out; /* nobody asks for its folder */
    return left_out;
}

int clvox_pocl_leave_out(const char *device)
{
    return clv_pocl_leave_out("/etc/OpenCL/vendors", device);
}

/* ---- the copy beside a portable package -------------------------------------- */

static bool system_has_driver(const char *vendors)
{
    driver one;
    cl_platform_id platform;
    DIR *dir = opendir(vendors);
    bool found = false;
    while (!found && next_driver(dir, vendors, &one))
        found = first_platform(one.library, &platform);
    if (dir)
        closedir(dir);
    return found;
}

/* PoCL starts `ld` for each kernel; a package may bring its own, for machines without one. */
static bool lend_linker(const char *folder)
{
    char linker[4096];
    const char *path = getenv("PATH");
    const int length = snprintf(linker, sizeof linker, "%s/bin/ld", folder);
    if (length < 0 || (size_t)length >= sizeof linker || access(linker, X_OK) < 0)
        return true;
    const size_t room = (size_t)length + (path ? strlen(path) : 0) + 2;
    char *longer = malloc(room);
    if (longer)
        snprintf(longer, room, "%s/bin%s%s", folder, path && path[0] ? ":" : "", path ? path : "");
    const bool lent = longer && setenv("PATH", longer, 1) == 0;
    free(longer);
    return lent;
}

int clv_pocl_lend(const char *vendors, const char *folder)
{
    char path[4096] = "";
    const char *set = getenv("OCL_ICD_VENDORS");
    DIR *dir = (set && set[0]) || !folder ? NULL : opendir(folder);
    if (!dir)
        return 0;
    for (struct dirent *entry; !path[0] && (entry = readdir(dir));)
        if (!strncmp(entry->d_name, "libpocl", 7) && strncmp(entry->d_name, "libpocl-devices", 15) != 0)
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    closedir(dir);
    return path[0] && !system_has_driver(vendors) && lend_linker(folder) &&
           setenv("OCL_ICD_VENDORS", path, 1) == 0;
}

int clvox_pocl_lend(const char *folder)
{
    return clv_pocl_lend("/etc/OpenCL/vendors", folder);
}
