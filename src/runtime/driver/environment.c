/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/driver/environment.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "clvox/files.h"
#include "runtime/driver/driver.h"
#include "runtime/program/cache.h"

#include <CL/cl_icd.h>

static const char VENDORS[] = "/etc/OpenCL/vendors"; /* the system's .icd files */

const char *clv_environment_device(const char *device)
{
    const char *set = getenv("CLVOX_DEVICE");
    return device && device[0] ? device : set ? set : "";
}

/* ---- the system's drivers ---------------------------------------------------- */

/* An .icd file of the system, and the library that it names. */
typedef struct listed {
    char path[1024], library[512];
} listed;

/* The next of a folder (NULL is legal) that names a library. */
static bool next_listed(DIR *dir, const char *vendors, listed *out)
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

static bool is_spared(const char *library)
{
    const clv_driver *driver;
    for (size_t i = 0; (driver = clv_driver_at(i)); i++)
        if (driver->spared && strstr(library, driver->spared))
            return true;
    return false;
}

/* Loading the driver of a CPU takes 0.03 to 0.05 s. */
bool clv_environment_spare(const char *vendors, const char *device)
{
    const char *set = getenv("OCL_ICD_VENDORS");
    listed one, other = {.path = ""};
    bool spared = false, several = false;
    device = clv_environment_device(device);
    if ((set && set[0]) || (device[0] && strcasecmp(device, "gpu") && strcasecmp(device, "gpu:all")))
        return false;
    DIR *dir = opendir(vendors);
    while (next_listed(dir, vendors, &one)) {
        if (is_spared(one.library)) {
            spared = true;
        } else {
            several = other.path[0];
            other = one;
        }
    }
    if (dir)
        closedir(dir);
    /* The first is of Debian's loader, the second of Khronos's. */
    return spared && other.path[0] && !several && has_gpu(other.library) &&
           setenv("OCL_ICD_VENDORS", other.path, 1) == 0 && setenv("OCL_ICD_FILENAMES", other.path, 1) == 0;
}

/* ---- that of a package --------------------------------------------------------- */

static bool system_has_driver(const char *vendors)
{
    listed one;
    cl_platform_id platform;
    DIR *dir = opendir(vendors);
    bool found = false;
    while (!found && next_listed(dir, vendors, &one))
        found = first_platform(one.library, &platform);
    if (dir)
        closedir(dir);
    return found;
}

/* A driver may start `ld`; a package brings one beside it, for machines without. */
static bool lend_linker(const char *library)
{
    char folder[PATH_MAX + 8], linker[PATH_MAX + 16], *longer = NULL;
    const char *path = getenv("PATH");
    snprintf(folder, sizeof folder, "%.*s/bin", (int)(strrchr(library, '/') - library), library);
    snprintf(linker, sizeof linker, "%s/ld", folder);
    if (access(linker, X_OK) < 0)
        return true;
    if (asprintf(&longer, "%s%s%s", folder, path && path[0] ? ":" : "", path ? path : "") < 0)
        return false;
    const bool lent = setenv("PATH", longer, 1) == 0;
    free(longer);
    return lent;
}

bool clv_environment_lend(const char *vendors, const char *folder)
{
    char library[PATH_MAX];
    const char *set = getenv("OCL_ICD_VENDORS");
    const clv_driver *driver;
    for (size_t i = 0; folder && !(set && set[0]) && (driver = clv_driver_at(i)); i++)
        if (driver->packaged && driver->packaged(folder, library, sizeof library))
            return !system_has_driver(vendors) && lend_linker(library) &&
                   setenv("OCL_ICD_VENDORS", library, 1) == 0;
    return false;
}

/* ---- clFFT --------------------------------------------------------------------- */

/* It runs what it finds in a folder that the environment names. */
void clv_environment_clfft(bool no_cache)
{
    static const char variable[] = "CLFFT_CACHE_PATH";
    char own[PATH_MAX], why[CLV_WHY], *place;
    const char *set = getenv(variable);
    if (set) {
        if (!clvox_folder_own(set, true, true, why, sizeof why))
            unsetenv(variable);
        return;
    }
    if (no_cache || !(place = clv_cache_place()))
        return;
    if (snprintf(own, sizeof own, "%s/clfft", place) < (int)sizeof own &&
        clvox_folder_own(own, false, true, why, sizeof why))
        setenv(variable, own, 1);
    free(place);
}

/* ---- all ----------------------------------------------------------------------- */

bool clvox_environment_begin(const char *folder)
{
    const bool lent = clv_environment_lend(VENDORS, folder);
    const clv_driver *driver;
    for (size_t i = 0; (driver = clv_driver_at(i)); i++)
        if (driver->threads)
            driver->threads();
    return lent;
}

static void own_folders(bool spared)
{
    const clv_driver *driver;
    for (size_t i = 0; (driver = clv_driver_at(i)); i++)
        if (driver->own_folder && spared == (driver->spared != NULL))
            driver->own_folder();
}

void clvox_environment_settle(const char *device, int flags)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    static int settled; /* 2: for a process that is clvox's alone */
    const bool alone = flags & CLVOX_ENVIRONMENT_ALONE;
    const clv_driver *driver;
    pthread_mutex_lock(&one_at_a_time);
    for (size_t i = 0; alone && (driver = clv_driver_at(i)); i++)
        if (driver->narrow)
            driver->narrow(device, flags & CLVOX_ENVIRONMENT_ONE_GPU);
    if (settled <= alone) {
        settled = 1 + alone;
        own_folders(false);
        clv_environment_clfft(flags & CLVOX_ENVIRONMENT_NO_CACHE);
        /* Opens a driver: last. */
        if (!alone || flags & CLVOX_ENVIRONMENT_LIST || !clv_environment_spare(VENDORS, device))
            own_folders(true);
    }
    pthread_mutex_unlock(&one_at_a_time);
}

const char *clvox_environment_remark(const char *platform)
{
    const clv_driver *driver = platform ? clv_driver_of(platform) : NULL;
    return driver && driver->remark ? driver->remark() : "";
}
