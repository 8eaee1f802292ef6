/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of PoCL that run the same kernel at a time. PoCL loads a kernel anew for a wider grid than all
 * before, but finds it again, to count who uses it, by its name and work-group alone: with two loaded, each
 * in use by a context, one gives back what the other took, and PoCL ends the program (3.1 and 5.0:
 * `found->ref_count > 0'). So where PoCL loads a kernel, no other context runs that kernel meanwhile. Kernels
 * that libraries launch (clFFT, VkFFT) take no turns. */
#ifndef CLV_RUNTIME_TURNS_H
#define CLV_RUNTIME_TURNS_H

#include <stddef.h>

#include "runtime/device/error.h"
#include "runtime/kernel/kernel.h"
#include "runtime/program/cache.h"

typedef struct clv_turn {
    struct clv_shared *program; /* NULL: nobody takes turns here */
    bool alone;                 /* PoCL loads the kernel */
} clv_turn;

/* A context of PoCL begins and ends; one of another driver takes no turns. */
int clv_turns_join(clvox_context *ctx);
void clv_turns_leave(clvox_context *ctx);

/* What contexts have in common that build the same program. NULL: this one takes no turns, or there is no
 * memory. */
struct clv_shared *clv_turns_program(const clvox_context *ctx, clv_cache_key key);

/* Before and after a kernel is queued; event: the launch's, NULL where that failed. */
clv_turn clv_turn_begin(clvox_context *ctx, const clv_kernel *kernel, const size_t global[3]);
void clv_turn_end(clvox_context *ctx, clv_turn turn, cl_event event);

#endif
