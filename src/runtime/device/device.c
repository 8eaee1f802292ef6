/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/limit.h"
#include "base/status.h"
#include "runtime/device/device.h"
#include "runtime/device/error.h"
#include "runtime/device/limits.h"
#include "runtime/device/select.h"
#include "runtime/driver/driver.h"

/* The library that an .icd file names, tried as the loader tries it. Returns
 * true and what is wrong with it when it cannot be loaded. */
static bool broken_driver(const char *path, char *why, size_t capacity)
{
    char library[512] = "";
    FILE *file = fopen(path, "r");
    if (!file || !fgets(library, sizeof library, file))
        library[0] = 0;
    if (file)
        fclose(file);
    library[strcspn(library, "\r\n")] = 0;
    if (!library[0]) {
        snprintf(why, capacity, "%s is empty", path);
        return true;
    }
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (handle) {
        dlclose(handle);
        return false;
    }
    snprintf(why, capacity, "%.200s names a driver that cannot be loaded (%.300s)", path, dlerror());
    return true;
}

static bool is_icd(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && !strcmp(name + length - 4, ".icd");
}

int clv_no_device(void)
{
    const char *place = getenv("OCL_ICD_VENDORS");
    char why[640] = "", path[1024];
    const clv_driver *driver;
    int files = 0;
    uint64_t limit, left;
    if (!place || !place[0])
        place = "/etc/OpenCL/vendors";
    DIR *dir = opendir(place);
    if (dir) {
        for (struct dirent *entry; (entry = readdir(dir)) && !why[0];)
            if (is_icd(entry->d_name)) {
                files++;
                snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
                broken_driver(path, why, sizeof why);
            }
        closedir(dir);
    } else if (is_icd(place)) {
        files++;
        broken_driver(place, why, sizeof why);
    }
    if ((strstr(why, " map ") || strstr(why, "allocate")) && clv_address_space(&limit, &left))
        return clvox_fail(
            CLVOX_ERROR_DEVICE,
            "no OpenCL device: %s: the limit of %.0f MB on memory (ulimit -v) is too low; allow 1 GB and "
            "what the images take",
            why, (double)limit * 1e-6);
    if (why[0])
        return clvox_fail(CLVOX_ERROR_DEVICE,
                          "no OpenCL device: %s; repair or remove that driver, or install %s", why,
                          clv_driver_packages);
    for (size_t i = 0; files && (driver = clv_driver_at(i)); i++)
        if (driver->hindered && driver->hindered(why, sizeof why))
            return clvox_fail(CLVOX_ERROR_DEVICE,
                              "no OpenCL device: the drivers in %s find none, and %s, or install %s", place,
                              why, clv_driver_packages);
    if (files)
        return clvox_fail(CLVOX_ERROR_DEVICE,
                          "no OpenCL device: the drivers in %s find none; check that the device is there "
                          "and that you may use it, or install %s",
                          place, clv_driver_packages);
    return clvox_fail(CLVOX_ERROR_DEVICE, "no OpenCL device: there is no driver in %s; install %s", place,
                      clv_driver_packages);
}

static void judge(clvox_device *d)
{
    cl_bool available = CL_FALSE, compiler = CL_FALSE;
    cl_device_type type = 0;
    const clv_driver *driver = clv_driver_of(d->limits.platform);
    clGetDeviceInfo(d->device_id, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL);
    clGetDeviceInfo(d->device_id, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler, NULL);
    clGetDeviceInfo(d->device_id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    if (d->limits.opencl < 12)
        snprintf(d->reason, sizeof d->reason, "too old: it says \"%.60s\", and 1.2 is needed",
                 d->limits.version);
    else if (!available)
        snprintf(d->reason, sizeof d->reason, "its driver says that it is not available");
    else if (!compiler)
        snprintf(d->reason, sizeof d->reason, "its driver has no compiler for kernels");
    else if (type == CL_DEVICE_TYPE_CUSTOM)
        snprintf(d->reason, sizeof d->reason, "a custom device, which runs only its own kernels");
    else if (driver->faulty)
        driver->faulty(&d->limits, d->reason, sizeof d->reason);
    d->usable = !d->reason[0];
}

enum { WHY = 900 };

/* Adds the devices of one platform; one that has none is normal. why: of one that must not be asked. */
static int add_platform(cl_platform_id platform, clvox_device **list, int *count, int *capacity,
                        char why[WHY])
{
    int status = CLVOX_OK;
    cl_uint found = 0;
    cl_device_id *ids = NULL;
    char name[64] = "";
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL);
    const clv_driver *driver = clv_driver_of(name);
    if (driver->barred && driver->barred(why, WHY))
        return CLVOX_OK;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &found) != CL_SUCCESS || found == 0)
        return CLVOX_OK;
    ids = calloc(found, sizeof *ids);
    if (!ids)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, found, ids, NULL) != CL_SUCCESS)
        goto end;
    for (cl_uint i = 0; i < found; i++) {
        clvox_device *grown = clv_grown(*list, *count, capacity, sizeof *grown);
        if (!grown) {
            status = CLVOX_ERROR_MEMORY;
            goto end;
        }
        *list = grown;
        clvox_device *d = &grown[(*count)++];
        memset(d, 0, sizeof *d);
        d->platform_id = platform;
        d->device_id = ids[i];
        clv_limits_query(platform, ids[i], &d->limits);
        judge(d);
    }
end:
    free(ids);
    return status;
}

int clvox_devices_list(clvox_device **out)
{
    CLV_GIVEN(out);
    int status = CLVOX_OK, count = 0, capacity = 0;
    char why[WHY] = "";
    cl_uint platforms = 0;
    clvox_device *list = NULL;
    cl_platform_id *ids = NULL;
    *out = NULL;
    if (clGetPlatformIDs(0, NULL, &platforms) != CL_SUCCESS || platforms == 0)
        return clv_no_device();
    ids = calloc(platforms, sizeof *ids);
    if (!ids)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_CL(clGetPlatformIDs(platforms, ids, NULL), "clGetPlatformIDs", "listing OpenCL drivers");
    for (cl_uint i = 0; i < platforms; i++)
        CLV_TRY(add_platform(ids[i], &list, &count, &capacity, why));
    if (count == 0) {
        status = why[0] ? clvox_fail(CLVOX_ERROR_DEVICE, "no OpenCL device: %s", why) : clv_no_device();
        goto end;
    }
    clv_devices_rank(list, count);
    int chosen = clv_device_select(list, count, NULL);
    if (chosen >= 0)
        list[chosen].is_default = true;
    *out = list;
    list = NULL;
    status = count;
end:
    free(list);
    free(ids);
    return status;
}

void clvox_devices_destroy(clvox_device **devices)
{
    if (!devices)
        return;
    free(*devices);
    *devices = NULL;
}
