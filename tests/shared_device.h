/* SPDX-License-Identifier: Apache-2.0 */
/* The device that all cases of a program share: main begins with
 *   SHARED_DEVICE_OR_SKIP;
 * and ends with test_run(..., shared_device_close). */
#ifndef SHARED_DEVICE_H
#define SHARED_DEVICE_H

#include "check.h"
#include "clvox/device.h"

static clvox_context *ctx;

#define SHARED_DEVICE_OR_SKIP                   \
    if (clvox_context_create(NULL, &ctx) < 0)   \
    return test_skip_all("%s", clvox_message())

static inline int shared_device_close(void **state)
{
    (void)state;
    clvox_context_destroy(&ctx);
    return 0;
}

#endif
