/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a device can be believed. Drivers and devices at fault drop kernels or return garbage, and report
 * success. So a kernel mixes words of what is read into a few numbers, which are read last and compared with
 * those that the host makes of its copy: they differ where kernels are no longer run, or transfers bring
 * something else. A single kernel that is not run goes unseen. */
#ifndef CLV_RUNTIME_WITNESS_H
#define CLV_RUNTIME_WITNESS_H

#include "runtime/plan/plan.h"
#include "runtime/queue/buffer.h"

/* All words where they are few, else as many, spread over the range. */
typedef struct clv_witness {
    size_t first; /* bytes from the start of the range to its first whole word */
    int step, count;
    int turn; /* no two witnesses of a context that follow each other say the same */
} clv_witness;

/* Queues the kernel. bytes 0: it only shows that kernels run. */
int clv_witness_ask(clvox_context *ctx, const clv_buffer *buffer, size_t offset, size_t bytes,
                    clv_witness *witness);
/* Waits, and compares with data, the host's copy of the range. CLVOX_ERROR_DEVICE: they differ. */
int clv_witness_hear(clvox_context *ctx, const clv_witness *witness, const void *data);

extern const clv_entry clv_entry_witness;

#endif
