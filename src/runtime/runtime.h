/* SPDX-License-Identifier: Apache-2.0 */
/* A device as operations and pipelines see it: buffers, kernels chosen by the planner, launches. They never call
 * OpenCL themselves. */
#ifndef CLV_RUNTIME_RUNTIME_H
#define CLV_RUNTIME_RUNTIME_H

#include "runtime/queue/buffer.h"
#include "runtime/queue/transfer.h"
#include "runtime/kernel/kernel.h"
#include "runtime/queue/launch.h"

#endif
