/* SPDX-License-Identifier: Apache-2.0 */
/* What a pipeline will ask for, learnt by letting it ask. */
#ifndef CLV_RUNTIME_REHEARSAL_H
#define CLV_RUNTIME_REHEARSAL_H

#include <stdbool.h>

#include "runtime/kernel.h"

/* Kernels that are built together take a fraction of the time that they take
 * one by one. A pipeline begins a rehearsal, calls the operations that it will
 * call, or itself with few iterations, and ends it: then all that was asked
 * for is built. Between the two nothing reaches the device; buffers may be
 * created, and what is read is 1, 2, 1, 2 ... Rehearsals may be nested. What
 * could not be built says so when it is asked for in earnest. */
int clv_rehearsal_begin(clvox_context *ctx);
int clv_rehearsal_end(clvox_context *ctx);
/* No rehearsal will follow soon: what they keep ready is given back where it is missed. */
void clv_rehearsals_over(clvox_context *ctx);
bool clv_rehearsing(const clvox_context *ctx);

/* Notes a kernel that a rehearsal asks for, and answers with its likeness,
 * which cannot be launched. */
int clv_rehearsal_note(clvox_context *ctx, const clv_entry *entry, const clv_candidate *candidate,
                       const char *extra, const clv_kernel **out);
void clv_rehearsal_free(clvox_context *ctx);
/* What is read in a rehearsal: 1, 2, 1, 2 ... as floats. */
void clv_rehearsal_read(void *data, size_t bytes);

#endif
