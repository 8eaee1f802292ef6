/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_RUNTIME_LIMITS_H
#define CLV_RUNTIME_LIMITS_H

#include "clvox/device.h"

/* Asks a device (cl_platform_id, cl_device_id) for its limits. What it does
 * not answer stays 0. */
void clv_limits_query(void *platform, void *device, clvox_device_limits *limits);

#endif
