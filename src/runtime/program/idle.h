/* SPDX-License-Identifier: Apache-2.0 */
/* Launches for nothing but what they make PoCL do. */
#ifndef CLV_RUNTIME_IDLE_H
#define CLV_RUNTIME_IDLE_H

#include <stdbool.h>

#include "clvox/device.h"
#include "runtime/device/error.h"

/* PoCL compiles a kernel for its work-groups when it is first launched. Launches the kernel of a linked
 * program as pipelines do, but for one work-group and a few elements, so that PoCL's cache has that. False
 * where it does not launch it. */
bool clv_launch_idle(clvox_context *ctx, cl_program program);

#endif
