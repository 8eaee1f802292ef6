/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/part.h"

#include <stdlib.h>

static cl_uint cores_of(cl_device_id device)
{
    cl_uint cores = 0;
    return clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof cores, &cores, NULL) == CL_SUCCESS
               ? cores
               : 0;
}

cl_device_id clv_device_part(cl_device_id device, int part, int parts)
{
    const cl_uint cores = cores_of(device), count = (cl_uint)parts;
    cl_uint made = 0;
    cl_device_id kept = NULL, *all = calloc(count, sizeof *all);
    cl_device_partition_property *wanted = calloc(count + 3, sizeof *wanted);
    if (all && wanted && count > 1 && count <= cores) {
        wanted[0] = CL_DEVICE_PARTITION_BY_COUNTS;
        for (cl_uint i = 0; i < count; i++)
            wanted[1 + i] = (cl_device_partition_property)(cores / count + (i < cores % count));
        wanted[1 + count] = CL_DEVICE_PARTITION_BY_COUNTS_LIST_END; /* 0, as the list's own end */
        if (clCreateSubDevices(device, wanted, count, all, &made) != CL_SUCCESS)
            made = 0;
    }
    for (cl_uint i = 0; i < made; i++) {
        if (i == (cl_uint)part)
            kept = all[i];
        else
            clReleaseDevice(all[i]);
    }
    free(all);
    free(wanted);
    return kept;
}
