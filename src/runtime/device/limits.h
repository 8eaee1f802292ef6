/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_RUNTIME_LIMITS_H
#define CLV_RUNTIME_LIMITS_H

#include <stdbool.h>

#include "clvox/device.h"
#include "runtime/device/error.h"

/* Asks a device (cl_platform_id, cl_device_id) for its limits. What it does
 * not answer stays 0. */
void clv_limits_query(void *platform, void *device, clvox_device_limits *limits);

/* One answer; false, and zeros, where there is none. Texts come without the blanks that some drivers put
 * around them. */
bool clv_query(cl_device_id device, cl_device_info what, void *out, size_t bytes);
cl_uint clv_query_uint(cl_device_id device, cl_device_info what);
void clv_query_text(cl_device_id device, cl_device_info what, char *out, size_t room);

#endif
