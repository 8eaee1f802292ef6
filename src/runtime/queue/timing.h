/* SPDX-License-Identifier: Apache-2.0 */
/* How long kernels and transfers took, by the device's own clock. */
#ifndef CLV_RUNTIME_TIMING_H
#define CLV_RUNTIME_TIMING_H

#include <stdbool.h>

#include "runtime/kernel/kernel.h"

/* Totals by kernel label since the context was created or last reset; needs
 * options.profile. Waits for the queue. Returns the number of rows and sets
 * *out to an array owned by the context. */
typedef struct clv_timing {
    char label[96];
    const clv_kernel *kernel; /* NULL: a transfer */
    int calls;
    double seconds;
    double bytes;
} clv_timing;
int clv_timings(clvox_context *ctx, const clv_timing **out);
/* False without options.profile, and where the device times nothing: refused
 * when the context was created, or found out by clv_timings, which has no rows then. */
bool clv_has_timers(const clvox_context *ctx);
void clv_timings_reset(clvox_context *ctx);
/* Begins or ends timing as options.profile does from the start; waits for the
 * queue. CLVOX_ERROR_DEVICE, and no change, where the device refuses timers. */
int clv_timings_switch(clvox_context *ctx, bool on);

/* Takes over the event of a command (a cl_event, NULL is legal) and adds its time
 * to the label's row later. label must live as long as the context; kernel is
 * NULL for transfers. */
int clv_timing_add(clvox_context *ctx, void *event, const char *label, const clv_kernel *kernel,
                   double bytes);
/* The time of what a library queues between the two, which do not wait. end goes
 * with every begin, failed or not, and returns the status that it is given, or its
 * own failure where that is none. */
typedef struct clv_span {
    void *since; /* a cl_event; NULL: nobody keeps time */
} clv_span;
int clv_span_begin(clvox_context *ctx, clv_span *span);
int clv_span_end(clvox_context *ctx, clv_span *span, const char *label, int status);
/* Releases every event that is still kept. */
void clv_timing_drop(clvox_context *ctx);

#endif
