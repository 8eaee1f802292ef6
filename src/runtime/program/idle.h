/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that do nothing. */
#ifndef CLV_RUNTIME_IDLE_H
#define CLV_RUNTIME_IDLE_H

#include <stdbool.h>

#include "clvox/device.h"
#include "runtime/device/error.h"

/* PoCL compiles a kernel for its work-groups when it is first launched. Launches the kernel of a linked
 * program as pipelines do, but for one work-group and with sizes of 0, so that PoCL's cache has that. */
bool clv_launch_idle(clvox_context *ctx, cl_program program);

#endif
