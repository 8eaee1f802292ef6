/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_SORT_RADIX_SORT_H
#define CLV_OP_SORT_RADIX_SORT_H

#include "clvox/sort.h"
#include "runtime/runtime.h"

extern const clv_entry clv_entry_sort_count, clv_entry_sort_columns, clv_entry_sort_scatter;

/* Sorts n keys, with 32-bit values where there are any, in place and stably: equal keys
 * keep their order. The same on every device. */
typedef struct clv_sort_args {
    clvox_sort_kind kind;
    clv_buffer *keys, *values;             /* values may be NULL */
    clv_buffer *other_keys, *other_values; /* scratch as large */
    clv_buffer *counts, *totals;           /* scratch of so many words as clv_sort_words says */
    int n;
} clv_sort_args;

/* Bytes of a key. */
size_t clv_sort_key_bytes(clvox_sort_kind kind);
/* 32-bit words of the scratch buffers. */
int clv_sort_words(clvox_context *ctx, clvox_sort_kind kind, bool with_values, int n, size_t *counts, size_t *totals);
int clv_sort(clvox_context *ctx, const clv_sort_args *args);

/* ---- what other forms of a digit's kernels are made of ---- */

enum { CLV_SORT_DIGITS = 256, CLV_SORT_DIGIT_BITS = 8 };
/* Local memory of an item of the scatter by groups: its keys twice, in places that are spread, and room for a
 * scan. */
#define CLV_SORT_BYTES(keys) ((keys) * 17 / 16 * 8 + 8)
#define CLV_SORT_FIXED_BYTES (CLV_SORT_DIGITS * 4 + 64)

typedef struct clv_sort_kernels {
    const clv_entry *count, *scatter;
    const char *count_build, *scatter_build;
} clv_sort_kernels;

int clv_sort_words_of(clvox_context *ctx, const clv_sort_kernels *with, int n, size_t *counts,
                      size_t *totals);
/* The digit from bit `shift` on: from keys and values to the other ones. */
int clv_sort_digit(clvox_context *ctx, const clv_sort_args *args, const clv_sort_kernels *with, int shift);
/* clv_sort by these kernels, by the lowest bits alone. */
int clv_sort_bits(clvox_context *ctx, const clv_sort_args *args, const clv_sort_kernels *with, int bits);

#endif
