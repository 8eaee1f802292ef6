/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/environment.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clvox/files.h"

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>

static const char VENDORS[] = "/etc/OpenCL/vendors"; /* the system's .icd files */

/* Why a folder is not the user's own. */
enum { WHY = 400 };

/* A path of the environment; NULL: not set, empty or relative. */
static const char *path_of(const char *variable)
{
    const char *set = getenv(variable);
    return set && set[0] == '/' ? set : NULL;
}

/* Folder of a cache: that of the environment, else one of the user's caches; false: none. */
static bool cache_of(const char *variable, const char *name, char path[PATH_MAX])
{
    const char *set = getenv(variable), *xdg = path_of("XDG_CACHE_HOME"), *home = path_of("HOME");
    const int length = set && set[0] ? snprintf(path, PATH_MAX, "%s", set)
                       : xdg         ? snprintf(path, PATH_MAX, "%s/%s", xdg, name)
                       : home        ? snprintf(path, PATH_MAX, "%s/.cache/%s", home, name)
                                     : -1;
    return length > 0 && length < PATH_MAX;
}

/* ---- the folder in which PoCL keeps what it builds, and runs what it finds ------------ */

/* Whether PoCL comes to that folder by itself: it takes relative names, too, and without any one in /tmp. */
static bool finds_it(void)
{
    const char *set = getenv("POCL_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME");
    return set ? set[0] != 0 : xdg && xdg[0] ? path_of("XDG_CACHE_HOME") != NULL : path_of("HOME") != NULL;
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

static struct {
    bool settled;
    char remark[WHY + PATH_MAX + 160];
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

/* A folder of the user's own among temporary ones, that of earlier runs or else one for this process. */
static bool lend_folder(void)
{
    const char *bases[] = {path_of("TMPDIR"), "/tmp"};
    char path[PATH_MAX], why[WHY];
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
    char folder[PATH_MAX];
    struct stat info;
    if (!cache_of("POCL_CACHE_DIR", "pocl", folder) || strlen(folder) + strlen(below) >= sizeof folder)
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

bool cli_pocl_keep(void)
{
    char path[PATH_MAX], why[WHY] = "";
    const char *set = getenv("POCL_CACHE_DIR");
    const bool named = set && set[0], known = cache_of("POCL_CACHE_DIR", "pocl", path),
               own = known && clvox_folder_own(path, false, true, why, sizeof why);
    /* One that was named and cannot be written gives no device, and a message of the library's. */
    if (known && !why[0] && (named || (own && can_write(path))))
        return !finds_it() && setenv("POCL_CACHE_DIR", path, 1) == 0;
    if (!lend_folder())
        return false;
    if (why[0])
        snprintf(taken.remark, sizeof taken.remark,
                 "PoCL keeps what it builds in %s%s, as %s; set POCL_CACHE_DIR to a folder that only you can "
                 "write",
                 getenv("POCL_CACHE_DIR"), taken.passing[0] ? " until the end" : "", why);
    return true;
}

const char *cli_environment_remark(const char *platform)
{
    return strstr(platform, "Portable Computing Language") ? taken.remark : "";
}

/* ---- PoCL's threads ----------------------------------------------------------------- */

/* PoCL starts a thread for each processor of the machine. Where this process may run on fewer (taskset, a
 * batch system), threads that share one wait for each other. Results do not depend on it. */
static void limit_threads(void)
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
    /* The header's names of these types differ between its releases. */
    cl_int(CL_API_CALL * devices)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *) =
        its->clGetDeviceIDs;
    cl_int(CL_API_CALL * says)(cl_device_id, cl_device_info, size_t, void *, size_t *) = its->clGetDeviceInfo;
    return devices(platform, CL_DEVICE_TYPE_GPU, 1, &gpu, NULL) == CL_SUCCESS &&
           says(gpu, CL_DEVICE_VERSION, sizeof version, version, NULL) == CL_SUCCESS &&
           sscanf(version, "OpenCL %d.%d", &major, &minor) == 2 && 10 * major + minor >= 12 &&
           says(gpu, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL) == CL_SUCCESS &&
           says(gpu, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler, NULL) == CL_SUCCESS &&
           available && compiler;
}

/* Loading PoCL takes 0.03 to 0.05 s: where it is not needed, the loader loads the other driver alone. */
bool cli_pocl_leave_out(const char *vendors, const char *device)
{
    const char *set = getenv("OCL_ICD_VENDORS");
    driver one, other = {.path = ""};
    bool pocl = false, several = false;
    if (!device || !device[0])
        device = getenv("CLVOX_DEVICE");
    if ((set && set[0]) ||
        (device && device[0] && strcasecmp(device, "gpu") && strcasecmp(device, "gpu:all")))
        return false;
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
    return pocl && other.path[0] && !several && has_gpu(other.library) &&
           setenv("OCL_ICD_VENDORS", other.path, 1) == 0 && setenv("OCL_ICD_FILENAMES", other.path, 1) == 0;
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

bool cli_pocl_lend(const char *vendors, const char *folder)
{
    char path[4096] = "";
    const char *set = getenv("OCL_ICD_VENDORS");
    DIR *dir = (set && set[0]) || !folder ? NULL : opendir(folder);
    if (!dir)
        return false;
    for (struct dirent *entry; !path[0] && (entry = readdir(dir));)
        if (!strncmp(entry->d_name, "libpocl", 7) && strncmp(entry->d_name, "libpocl-devices", 15) != 0)
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    closedir(dir);
    return path[0] && !system_has_driver(vendors) && lend_linker(folder) &&
           setenv("OCL_ICD_VENDORS", path, 1) == 0;
}

/* It may lie in the folder of libraries of the portable package. */
static bool lend_own(void)
{
    char path[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    path[length > 0 ? length : 0] = 0;
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    strcpy(slash, "/../lib/clvox/pocl");
    char *folder = realpath(path, NULL); /* NULL: an installation without it */
    const bool lent = cli_pocl_lend(VENDORS, folder);
    free(folder);
    return lent;
}

/* ---- NVIDIA ------------------------------------------------------------------------- */

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
static const char *const FEWER[][2] = {{"NV_OPENCL_DISABLE_UVM", "1"}, {"CUDA_DEVICE_MAX_CONNECTIONS", "1"}};

int cli_nvidia_little(const char *folder, const char *device, bool one)
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

/* The driver runs what it finds in its cache: where that is not the user's own it goes without. clvox keeps
 * what the driver builds itself. */
void cli_nvidia_cache(void)
{
    char path[PATH_MAX], why[WHY];
    const char *set = getenv("CUDA_CACHE_PATH"), *home = getenv("HOME");
    const int length = set && set[0] ? snprintf(path, sizeof path, "%s", set)
                       : home        ? snprintf(path, sizeof path, "%s/.nv/ComputeCache", home)
                                     : 0; /* it keeps nothing */
    if (length > 0 && length < PATH_MAX && !clvox_folder_own(path, false, false, why, sizeof why) && why[0])
        setenv("CUDA_CACHE_DISABLE", "1", 1);
}

/* ---- clFFT -------------------------------------------------------------------------- */

/* It runs what it finds in a folder that the environment names. */
void cli_clfft_cache(bool no_cache)
{
    static const char variable[] = "CLFFT_CACHE_PATH";
    char path[PATH_MAX], own[PATH_MAX + 8], why[WHY];
    const char *set = getenv(variable), *off = getenv("CLVOX_CACHE_DIR");
    if (set) {
        if (!clvox_folder_own(set, true, true, why, sizeof why))
            unsetenv(variable);
        return;
    }
    if (no_cache || (off && !off[0]) || !cache_of("CLVOX_CACHE_DIR", "clvox", path))
        return;
    snprintf(own, sizeof own, "%s/clfft", path);
    if (clvox_folder_own(own, false, true, why, sizeof why))
        setenv(variable, own, 1);
}

/* ---- all ------------------------------------------------------------------------------ */

bool cli_environment_begin(void)
{
    const bool lent = lend_own();
    limit_threads();
    return lent;
}

void cli_environment_settle(const cli_environment *e)
{
    cli_nvidia_little("/proc/driver/nvidia/gpus", e->all ? NULL : e->device, e->one);
    if (taken.settled)
        return;
    taken.settled = true;
    cli_nvidia_cache();
    cli_clfft_cache(e->no_cache);
    /* Opens a driver: last. */
    if (e->all || !cli_pocl_leave_out(VENDORS, e->device)) {
        cli_pocl_keep();
        sweep("");
        sweep("/kcache"); /* where POCL_CACHE_DIR names none */
    }
}
