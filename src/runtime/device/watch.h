/* SPDX-License-Identifier: Apache-2.0 */
/* Progress of public functions that have no callback of their own: by that of the context. */
#ifndef CLV_RUNTIME_WATCH_H
#define CLV_RUNTIME_WATCH_H

#include "clvox/device.h"

/* Beside CLV_HOST_THREADS in such a function: until it returns, each launch of a kernel asks the context's
 * callback whether to go on. Within another such function it does nothing: the outer one's stage is shown. */
#define CLV_WATCH(context, stage) \
    clvox_context *watched_ __attribute__((cleanup(clv_watch_end), unused)) = clv_watch_begin(context, stage)

clvox_context *clv_watch_begin(clvox_context *context, const char *stage);
void clv_watch_end(clvox_context *const *context);

/* How far the stage is, 0 to 1. CLVOX_ERROR_STOPPED where the callback wants that. */
int clv_watch_told(clvox_context *context, double fraction);

/* The same without news. On a CPU, whose kernels may take long, it waits for what was queued before. */
int clv_watch_asked(clvox_context *context);

#endif
