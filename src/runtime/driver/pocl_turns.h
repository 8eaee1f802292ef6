/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of PoCL that run the same kernel at a time. PoCL loads a kernel anew for a wider grid than all
 * before, but finds it again, to count who uses it, by its name and work-group alone: with two loaded, each
 * in use by a context, one gives back what the other took, and PoCL ends the program (3.1 and 5.0:
 * `found->ref_count > 0'; 6.0 loads at the same times and gives back what was taken). So where PoCL
 * loads a kernel, no other context runs that kernel meanwhile. Other versions may load at other times: with
 * them contexts run one kernel at a time. Kernels that libraries launch (clFFT, VkFFT) take no turns. */
#ifndef CLV_RUNTIME_POCL_TURNS_H
#define CLV_RUNTIME_POCL_TURNS_H

#include "runtime/driver/driver.h"

/* Whether this version has been read and tried. */
bool clv_pocl_is_known(const clvox_device_limits *limits);

/* The hooks of these names. */
int clv_pocl_join(clvox_context *ctx);
void clv_pocl_leave(clvox_context *ctx);
struct clv_shared *clv_pocl_share(const clvox_context *ctx, const struct clv_cache_key *key);
clv_turn clv_pocl_before(clvox_context *ctx, const struct clv_kernel *kernel, const size_t global[3]);
void clv_pocl_after(clvox_context *ctx, clv_turn turn, cl_event event);

#endif
