/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_SORT_RADIX_SORT_H
#define CLV_OP_SORT_RADIX_SORT_H

#include "clvox/sort.h"
#include "runtime/runtime.h"

extern const clv_entry clv_entry_sort_range, clv_entry_sort_count, clv_entry_sort_columns;
extern const clv_entry clv_entry_sort_scatter;

/* Sorts n keys, with 32-bit values where there are any, in place and stably: equal keys
 * keep their order. The same on every device. */
typedef struct clv_sort_args {
    clvox_sort_kind kind;
    clv_buffer *keys, *values;             /* values may be NULL */
    clv_buffer *other_keys, *other_values; /* scratch as large */
    clv_buffer *counts, *totals;           /* scratch of so many words as clv_sort_words says */
    int n;
    /* Reads the smallest and the largest key first and leaves out the digits above their
     * difference (the range limiter of Ha 2011, section A.3.3.1, exact for floating-point
     * keys too): one more pass over the keys, which pays where two digits fall away. The
     * host waits for it. */
    bool limit_range;
} clv_sort_args;

/* Bytes of a key. */
size_t clv_sort_key_bytes(clvox_sort_kind kind);
/* 32-bit words of the scratch buffers. */
int clv_sort_words(clvox_context *ctx, clvox_sort_kind kind, bool with_values, int n, size_t *counts, size_t *totals);
int clv_sort(clvox_context *ctx, const clv_sort_args *args);

/* The same for unsigned keys of 32 bits with values, for comparison: on the way from one digit to the next
 * the keys and values lie side by side (the hybrid layout of Ha 2011, section A.3.2.1). pairs: 2 n words
 * each; args' other buffers do not count; counts and totals: of so many words. */
int clv_sort_by_pairs(clvox_context *ctx, const clv_sort_args *args, clv_buffer *const pairs[2]);
int clv_sort_pairs_words(clvox_context *ctx, int n, size_t *counts, size_t *totals);

#endif
