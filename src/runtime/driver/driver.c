/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/driver/driver.h"

#include <string.h>

#include "runtime/driver/drivers.h"

/* CLV_DRIVERS(row) is the list of meson.build. */
#define DECLARE(name) extern const clv_driver clv_driver_##name;
CLV_DRIVERS(DECLARE)

#define ROW(name) &clv_driver_##name,
static const clv_driver *const drivers[] = {CLV_DRIVERS(ROW) NULL};
static const clv_driver unlisted;

const char clv_driver_packages[] =
    "pocl-opencl-icd for the CPU, or your graphics card's OpenCL driver (nvidia-opencl-icd, mesa-opencl-icd "
    "or AMD's ROCm, intel-opencl-icd); without root, `pip install intel-opencl-rt` and set OCL_ICD_VENDORS to "
    "its lib/libintelocl.so for the CPU";

const clv_driver *clv_driver_at(size_t i)
{
    return drivers[i];
}

const clv_driver *clv_driver_of(const char *platform)
{
    for (size_t i = 0; drivers[i]; i++)
        for (size_t k = 0; k < sizeof drivers[i]->platforms / sizeof(char *) && drivers[i]->platforms[k]; k++)
            if (strstr(platform, drivers[i]->platforms[k]))
                return drivers[i];
    return &unlisted;
}
