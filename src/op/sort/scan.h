/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_SORT_SCAN_H
#define CLV_OP_SORT_SCAN_H

#include "runtime/runtime.h"

extern const clv_entry clv_entry_scan_totals, clv_entry_scan_before, clv_entry_scan_sums;
extern const clv_entry clv_entry_scan_totals_wide, clv_entry_scan_before_wide, clv_entry_scan_sums_wide;

/* Prefix sums of n integers, signed or not, of 32 bits, or 64 where wide, modulo 2^32 or 2^64: exact whatever the
 * device. out[i] = in[0] + ... + in[i - 1], and in[i] too where inclusive. out may
 * be in. */
typedef struct clv_scan_args {
    const clv_buffer *in;
    const clv_buffer *keys; /* n 32-bit words: sums restart where two neighbours differ; NULL: one sum */
    int n;
    bool inclusive, wide;
    clv_buffer *totals; /* scratch of clv_scan_words(ctx, n, wide) 32-bit words */
    clv_buffer *out;
} clv_scan_args;

/* Negative: no kernel builds on this device. */
int clv_scan_words(clvox_context *ctx, int n, bool wide);
int clv_scan(clvox_context *ctx, const clv_scan_args *args);

#endif
