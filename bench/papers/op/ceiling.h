/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_CEILING_H
#define CLV_OP_PAPERS_CEILING_H

#include "runtime/runtime.h"

/* Kernels that measure a device's ceilings, beside clv_copy and clv_fma_rate. None of these waits. */

/* Floats of in and out for clv_ceiling_local, and counters (a power of two) for
 * clv_ceiling_atomics. */
enum { CLV_CEILING_ROOM = 1 << 20, CLV_CEILING_COUNTERS = 1 << 16 };

/* Cells of clv_ceiling_reads, behind which in has as many as it reads beyond them. */
#define CLV_CEILING_CELLS 2048
enum { CLV_CEILING_BEYOND = 101 };

/* out = in for n floats by accesses of 4, 8 or 16 bytes; n is a multiple of 4. */
int clv_ceiling_copy(clvox_context *ctx, int access, const clv_buffer *in, clv_buffer *out, int n);

/* Every work-item l of every group reads the group's cells (four floats each,
 * as many as the group has work-items, the same in all groups, from in) in the
 * order l, l + 1 ... round and round, `steps` of them (a multiple of 4), and
 * writes their sum to out. bytes: what is read from local memory; group: cells. */
int clv_ceiling_local(clvox_context *ctx, int steps, const clv_buffer *in, clv_buffer *out, double *bytes,
                      int *group);

/* Every work-item l of every group reads in[c], [c + 1], [c + 33], [c + 34], [c + 66], [c + 67], [c + 99] and
 * [c + 100], c = (l + 37 i) mod CLV_CEILING_CELLS, for i = 0, 8 ... below steps, a multiple of 8, and writes their
 * sum to out, which has room for CLV_CEILING_ROOM. */
int clv_ceiling_reads(clvox_context *ctx, int steps, const clv_buffer *in, clv_buffer *out, double *reads,
                      int *group);

/* Every work-item adds 1 `steps` times to counters (int32), work-item g to
 * (g + 31 i) mod count in its i-th step; count is a power of two, at most
 * CLV_CEILING_COUNTERS. additions: how many there are. */
int clv_ceiling_atomics(clvox_context *ctx, int count, int steps, clv_buffer *counters, double *additions);

/* A launch of one work-item that does nothing. */
int clv_ceiling_empty(clvox_context *ctx, clv_buffer *any);

extern const clv_entry clv_entry_ceiling_atomics, clv_entry_ceiling_copy, clv_entry_ceiling_empty,
    clv_entry_ceiling_local, clv_entry_ceiling_reads;

#endif
