/* SPDX-License-Identifier: Apache-2.0 */
#include "op/sort/radix_sort.h"

#include "op/sort/scan.h"

/* MOST_BLOCKS: enough that every compute unit counts; their sums stay in the device's cache. */
enum { DIGITS = CLV_SORT_DIGITS, MOST_BLOCKS = 1024 };

static const clv_variant count_variants[] = {
    {.name = "group", .function = "sort_count_group", .group = {1}, .devices = CLV_ON_GPU,
     .fixed_bytes = DIGITS * 4, .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}}},
    {.name = "chunk", .function = "sort_count_chunk", .group = {1}, .devices = CLV_ON_ANY, .tiles = {{1, 1, 1, 1}}},
};
static const clv_variant columns_variants[] = {
    {.name = "group", .function = "sort_columns_group", .group = {8}, .devices = CLV_ON_GPU, .cell_bytes = 4,
     .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}}},
    {.name = "item", .function = "sort_columns_item", .group = {CLV_WHOLE}, .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 1}}},
};
static const clv_variant scatter_variants[] = {
    {.name = "group", .function = "sort_scatter_group", .item = {CLV_MARCH},
     .devices = CLV_ON_GPU, .cell_bytes = CLV_SORT_BYTES(15), .fixed_bytes = CLV_SORT_FIXED_BYTES,
     .tiles = {{256, 1, 1, 15}, {128, 1, 1, 15}}},
    /* A twentieth less time for pairs than groups of 256, a fifth more for keys alone. */
    {.name = "wide", .function = "sort_scatter_group", .item = {CLV_MARCH},
     .devices = CLV_ON_GPU, .cell_bytes = CLV_SORT_BYTES(13), .fixed_bytes = CLV_SORT_FIXED_BYTES,
     .tiles = {{384, 1, 1, 13}}},
    {.name = "lines", .function = "sort_scatter_chunk", .group = {CLV_MARCH}, .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 65536}}},
};

static const char *const count_builds[] = {"-DKIND=0", "-DKIND=1", "-DKIND=2", "-DKIND=3",
                                           "-DKIND=4", "-DKIND=5", NULL};
#define WITH_VALUES(k) "-DKIND=" #k " -DVALUES=0", "-DKIND=" #k " -DVALUES=1"
static const char *const scatter_builds[] = {WITH_VALUES(0),
                                             WITH_VALUES(1),
                                             WITH_VALUES(2),
                                             WITH_VALUES(3),
                                             WITH_VALUES(4),
                                             WITH_VALUES(5),
                                             NULL};

const clv_entry clv_entry_sort_count = CLV_ENTRY("sort/radix_sort", "sort_count", count_variants,
                                                 count_builds);
const clv_entry clv_entry_sort_columns = CLV_ENTRY("sort/radix_sort", "sort_columns", columns_variants, NULL);
const clv_entry clv_entry_sort_scatter = CLV_ENTRY("sort/radix_sort", "sort_scatter", scatter_variants,
                                                   scatter_builds);

size_t clv_sort_key_bytes(clvox_sort_kind kind)
{
    return kind >= CLVOX_SORT_UINT64 ? 8 : 4;
}

/* How the keys are divided: into shares, one a work-group of the scatter, and these into blocks, which are
 * counted together. */
typedef struct division {
    const clv_kernel *scatter;
    int shares, runs, blocks; /* runs: shares of a block */
} division;

/* The kernels that sort keys of that kind, with values or without. */
static clv_sort_kernels own_kernels(clvox_sort_kind kind, bool with_values)
{
    return (clv_sort_kernels){&clv_entry_sort_count, &clv_entry_sort_scatter, count_builds[kind],
                              scatter_builds[2 * (int)kind + with_values]};
}

static int divide(clvox_context *ctx, const clv_sort_kernels *with, int n, division *d)
{
    int status = CLVOX_OK;
    const int line[3] = {n, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, with->scatter, with->scatter_build, line, 0, &d->scatter));
    d->shares = clv_launch_groups(d->scatter, line, NULL);
    d->runs = 1 + (d->shares - 1) / MOST_BLOCKS;
    d->blocks = 1 + (d->shares - 1) / d->runs;
    if (d->shares > INT32_MAX / DIGITS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d keys are too many to be sorted at once on %s", n,
                          clvox_context_limits(ctx)->name);
end:
    return status;
}

int clv_sort_words_of(clvox_context *ctx, const clv_sort_kernels *with, int n, size_t *counts,
                      size_t *totals)
{
    int status = CLVOX_OK;
    division d;
    CLV_TRY(divide(ctx, with, n, &d));
    *counts = DIGITS * (size_t)d.shares;
    *totals = DIGITS * (size_t)(1 + d.blocks);
end:
    return status;
}

int clv_sort_words(clvox_context *ctx, clvox_sort_kind kind, bool with_values, int n, size_t *counts,
                   size_t *totals)
{
    const clv_sort_kernels own = own_kernels(kind, with_values);
    return clv_sort_words_of(ctx, &own, n, counts, totals);
}

int clv_sort_digit(clvox_context *ctx, const clv_sort_args *a, const clv_sort_kernels *with, int shift)
{
    int status = CLVOX_OK;
    const clv_kernel *count, *columns, *firsts;
    division d;
    CLV_TRY(divide(ctx, with, a->n, &d));
    const int line[3] = {a->n, 1, 1}, blocks[3] = {d.blocks, 1, 1}, digits[3] = {DIGITS, 1, 1};
    const double key_bytes = (double)clv_sort_key_bytes(a->kind) * a->n;
    const double all = key_bytes + (a->values ? 4. * a->n : 0);
    const double counts = 4. * DIGITS * d.shares, sums = 4. * DIGITS * d.blocks;
    CLV_TRY(clv_kernel_get(ctx, with->count, with->count_build, blocks, 0, &count));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_sort_columns, "", digits, 0, &columns));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_scan_before, "-DSEGMENTED=0", digits, 0, &firsts));
    CLV_TRY(CLV_LAUNCH(ctx, count, blocks, key_bytes + counts + sums, CLV_BUF(a->keys), CLV_INT(a->n),
                       CLV_INT(d.scatter->group[0]), CLV_INT(d.runs), CLV_INT(shift), CLV_BUF(a->counts),
                       CLV_BUF(a->totals)));
    CLV_TRY(CLV_LAUNCH(ctx, columns, digits, 3 * sums, CLV_BUF(a->totals), CLV_INT(d.blocks)));
    CLV_TRY(CLV_LAUNCH(ctx, firsts, digits, 8. * DIGITS, CLV_BUF(a->totals), CLV_INT(DIGITS)));
    CLV_TRY(CLV_LAUNCH(ctx, d.scatter, line, 2 * all + counts, CLV_BUF(a->keys), CLV_BUF(a->values),
                       CLV_INT(a->n), CLV_INT(d.runs), CLV_INT(shift), CLV_BUF(a->counts),
                       CLV_BUF(a->totals), CLV_BUF(a->other_keys), CLV_BUF(a->other_values)));
end:
    return status;
}

static void exchange(clv_buffer **a, clv_buffer **b)
{
    clv_buffer *c = *a;
    *a = *b;
    *b = c;
}

int clv_sort_bits(clvox_context *ctx, const clv_sort_args *args, const clv_sort_kernels *with, int bits)
{
    int status = CLVOX_OK;
    clv_sort_args a = *args;
    for (int shift = 0; shift < bits && a.n > 1; shift += CLV_SORT_DIGIT_BITS) {
        CLV_TRY(clv_sort_digit(ctx, &a, with, shift));
        exchange(&a.keys, &a.other_keys);
        exchange(&a.values, &a.other_values);
    }
    if (a.keys != args->keys) {
        size_t bytes = clv_sort_key_bytes(a.kind) * (size_t)a.n;
        CLV_TRY(clv_buffer_copy(ctx, a.keys, 0, args->keys, 0, bytes));
        if (a.values)
            CLV_TRY(clv_buffer_copy(ctx, a.values, 0, args->values, 0, 4 * (size_t)a.n));
    }
end:
    return status;
}

int clv_sort(clvox_context *ctx, const clv_sort_args *args)
{
    const clv_sort_kernels own = own_kernels(args->kind, args->values != NULL);
    return clv_sort_bits(ctx, args, &own, 8 * (int)clv_sort_key_bytes(args->kind));
}

static int check(const clvox_context *ctx, clvox_sort_kind kind, const void *keys, size_t count)
{
    if (!ctx || (!keys && count > 0) || (unsigned)kind > CLVOX_SORT_FLOAT64)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a sort wants a context, keys and a known kind of key");
    if (count > INT32_MAX)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "%zu keys are too many to be sorted at once: 2147483647 are possible", count);
    return CLVOX_OK;
}

int clvox_sort_buffer(clvox_context *ctx, clvox_sort_kind kind, void *keys, void *values, size_t count)
{
    int status = CLVOX_OK;
    clv_buffer own_keys, own_values;
    clv_sort_args a = {.kind = kind, .keys = &own_keys, .values = values ? &own_values : NULL, .n = (int)count};
    size_t bytes = clv_sort_key_bytes(kind) * count, counts, totals;
    CLV_TRY(check(ctx, kind, keys, count));
    if (count < 1)
        return CLVOX_OK;
    CLV_TRY(clv_buffer_wrap(ctx, keys, bytes, "keys", &own_keys));
    if (values)
        CLV_TRY(clv_buffer_wrap(ctx, values, 4 * count, "values", &own_values));
    CLV_TRY(clv_sort_words(ctx, kind, values != NULL, a.n, &counts, &totals));
    const clv_request requests[] = {
        {&a.other_keys, bytes, "keys in their new order"},
        {&a.counts, 4 * counts, "counts of digits"},
        {&a.totals, 4 * totals, "places of digits"},
        {&a.other_values, 4 * count, "values in their new order"},
    };
    const int wanted = values ? 4 : 3;
    CLV_TRY(clv_pool_take(ctx, requests, wanted));
    status = clv_sort(ctx, &a);
    if (status >= 0)
        status = clv_finish(ctx);
    clv_pool_release(requests, wanted);
end:
    return status;
}

int clvox_sort(clvox_context *ctx, clvox_sort_kind kind, void *keys, void *values, size_t count)
{
    int status = CLVOX_OK;
    clv_sort_args a = {.kind = kind, .n = (int)count};
    size_t bytes = clv_sort_key_bytes(kind) * count, counts, totals;
    CLV_TRY(check(ctx, kind, keys, count));
    if (count < 2)
        return CLVOX_OK;
    CLV_TRY(clv_sort_words(ctx, kind, values != NULL, a.n, &counts, &totals));
    const clv_request requests[] = {
        {&a.keys, bytes, "keys"},
        {&a.other_keys, bytes, "keys in their new order"},
        {&a.counts, 4 * counts, "counts of digits"},
        {&a.totals, 4 * totals, "places of digits"},
        {&a.values, 4 * count, "values"},
        {&a.other_values, 4 * count, "values in their new order"},
    };
    int wanted = values ? 6 : 4;
    CLV_TRY(clv_pool_take(ctx, requests, wanted));
    status = clv_buffer_write(ctx, a.keys, 0, keys, bytes);
    if (status >= 0 && values)
        status = clv_buffer_write(ctx, a.values, 0, values, 4 * count);
    if (status >= 0)
        status = clv_sort(ctx, &a);
    if (status >= 0)
        status = clv_finish(ctx);
    if (status >= 0 && values)
        status = clv_buffer_read(ctx, a.values, 0, values, 4 * count);
    if (status >= 0)
        status = clv_buffer_read(ctx, a.keys, 0, keys, bytes);
    clv_pool_release(requests, wanted);
end:
    return status;
}

const clv_entry *const clv_operation_sort_radix_sort[] = {
    &clv_entry_sort_count, &clv_entry_sort_columns, &clv_entry_sort_scatter, NULL};
