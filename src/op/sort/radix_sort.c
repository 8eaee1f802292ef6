/* SPDX-License-Identifier: Apache-2.0 */
#include "op/sort/radix_sort.h"

#include "op/sort/scan.h"

/* MOST_BLOCKS: enough that every compute unit counts; their sums stay in the device's cache. */
enum { DIGITS = 256, DIGIT_BITS = 8, RANGE_GROUPS = 256, MOST_BLOCKS = 1024 };

/* march: keys of an item, or of a chunk. */
static const clv_variant range_variants[] = {
    {.name = "group", .function = "sort_range", .group = {CLV_MARCH}, .most_groups = RANGE_GROUPS,
     .devices = CLV_ON_GPU, .cell_bytes = 16, .tiles = {{256, 1, 1, 4096}, {64, 1, 1, 4096}}},
    {.name = "item", .function = "sort_range", .group = {CLV_MARCH}, .most_groups = RANGE_GROUPS,
     .devices = CLV_ON_ANY, .cell_bytes = 16, .tiles = {{1, 1, 1, 65536}}},
};
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
/* Local memory of an item: its keys twice, in places that are spread, and room for a scan. */
#define BYTES(keys) ((keys) * 17 / 16 * 8 + 8)
#define FIXED (DIGITS * 4 + 64)
static const clv_variant scatter_variants[] = {
    {.name = "group", .function = "sort_scatter_group", .defines = "-DSWEEP=4", .item = {CLV_MARCH},
     .devices = CLV_ON_GPU, .cell_bytes = BYTES(15), .fixed_bytes = FIXED,
     .tiles = {{256, 1, 1, 15}, {128, 1, 1, 15}}},
    /* A twentieth less time for pairs than groups of 256, a fifth more for keys alone. */
    {.name = "wide", .function = "sort_scatter_group", .defines = "-DSWEEP=4", .item = {CLV_MARCH},
     .devices = CLV_ON_GPU, .cell_bytes = BYTES(13), .fixed_bytes = FIXED, .tiles = {{384, 1, 1, 13}}},
    {.name = "implicit", .function = "sort_scatter_group", .defines = "-DSWEEP=2", .item = {CLV_MARCH},
     .devices = CLV_ON_GPU, .optional = true, .cell_bytes = BYTES(15), .fixed_bytes = FIXED,
     .tiles = {{64, 1, 1, 15}, {128, 1, 1, 7}}},
    {.name = "lines", .function = "sort_scatter_chunk", .group = {CLV_MARCH}, .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 65536}}},
    {.name = "direct", .function = "sort_scatter_direct", .group = {CLV_MARCH}, .devices = CLV_ON_ANY,
     .optional = true, .tiles = {{1, 1, 1, 65536}}},
};

/* The last: of pairs, as the last three below, that are read, written, and both. */
static const char *const kind_builds[] = {"-DKIND=0", "-DKIND=1", "-DKIND=2",           "-DKIND=3",
                                          "-DKIND=4", "-DKIND=5", "-DKIND=0 -DPAIRS=1", NULL};
enum { READS = 1, WRITES = 2, COUNT_OF_PAIRS = 6, SCATTER_OF_PAIRS = 11 };
#define WITH_VALUES(k) "-DKIND=" #k " -DVALUES=0", "-DKIND=" #k " -DVALUES=1"
static const char *const scatter_builds[] = {WITH_VALUES(0),
                                             WITH_VALUES(1),
                                             WITH_VALUES(2),
                                             WITH_VALUES(3),
                                             WITH_VALUES(4),
                                             WITH_VALUES(5),
                                             "-DKIND=0 -DVALUES=1 -DPAIRS=1",
                                             "-DKIND=0 -DVALUES=1 -DPAIRS=2",
                                             "-DKIND=0 -DVALUES=1 -DPAIRS=3",
                                             NULL};

const clv_entry clv_entry_sort_range = CLV_ENTRY("sort/radix_sort", "sort_range", range_variants,
                                                 kind_builds);
const clv_entry clv_entry_sort_count = CLV_ENTRY("sort/radix_sort", "sort_count", count_variants,
                                                 kind_builds);
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

/* pairs: READS and WRITES. */
static int divide(clvox_context *ctx, clvox_sort_kind kind, bool with_values, int pairs, int n, division *d)
{
    int status = CLVOX_OK;
    const int line[3] = {n, 1, 1};
    const char *build = scatter_builds[pairs ? SCATTER_OF_PAIRS + pairs : 2 * (int)kind + with_values];
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_sort_scatter, build, line, 0, &d->scatter));
    d->shares = clv_launch_groups(d->scatter, line, NULL);
    d->runs = 1 + (d->shares - 1) / MOST_BLOCKS;
    d->blocks = 1 + (d->shares - 1) / d->runs;
    if (d->shares > INT32_MAX / DIGITS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d keys are too many to be sorted at once on %s", n,
                          clvox_context_limits(ctx)->name);
end:
    return status;
}

static void grow_words(const division *d, size_t *counts, size_t *totals)
{
    const size_t shares = DIGITS * (size_t)d->shares, blocks = DIGITS * (size_t)(1 + d->blocks);
    *counts = shares > *counts ? shares : *counts;
    *totals = blocks > *totals ? blocks : *totals;
}

int clv_sort_words(clvox_context *ctx, clvox_sort_kind kind, bool with_values, int n, size_t *counts, size_t *totals)
{
    int status = CLVOX_OK;
    division d;
    CLV_TRY(divide(ctx, kind, with_values, 0, n, &d));
    *counts = 4 * RANGE_GROUPS; /* the range lies there before */
    *totals = 0;
    grow_words(&d, counts, totals);
end:
    return status;
}

int clv_sort_pairs_words(clvox_context *ctx, int n, size_t *counts, size_t *totals)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_sort_words(ctx, CLVOX_SORT_UINT32, true, n, counts, totals));
    for (int pairs = READS; pairs <= (READS | WRITES); pairs++) { /* whose tiles may be others */
        division d;
        CLV_TRY(divide(ctx, CLVOX_SORT_UINT32, true, pairs, n, &d));
        grow_words(&d, counts, totals);
    }
end:
    return status;
}

/* The smallest key, as the kernels order them, and the bits of the difference to the largest. */
static int find_range(clvox_context *ctx, const clv_sort_args *a, uint64_t *low, int *bits)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    uint64_t wide[2 * RANGE_GROUPS], high = 0;
    uint32_t narrow[2 * RANGE_GROUPS];
    const int line[3] = {a->n, 1, 1};
    size_t bytes = clv_sort_key_bytes(a->kind);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_sort_range, kind_builds[a->kind], line, 0, &kernel));
    int groups = clv_launch_groups(kernel, line, NULL);
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, (double)bytes * a->n, CLV_BUF(a->keys), CLV_INT(a->n),
                       CLV_BUF(a->counts)));
    CLV_TRY(clv_buffer_read(ctx, a->counts, 0, bytes == 8 ? (void *)wide : narrow, 2 * bytes * (size_t)groups));
    *low = UINT64_MAX;
    for (int i = 0; i < 2 * groups; i++) {
        uint64_t key = bytes == 8 ? wide[i] : narrow[i];
        *low = key < *low ? key : *low;
        high = key > high ? key : high;
    }
    for (*bits = 0; *bits < 64 && (high - *low) >> *bits; ++*bits)
        ;
end:
    return status;
}

/* One digit: from keys and values to the other ones; pairs: READS and WRITES. */
static int sort_digit(clvox_context *ctx, const clv_sort_args *a, int pairs, clv_arg low, int shift)
{
    int status = CLVOX_OK;
    const clv_kernel *count, *columns, *firsts;
    division d;
    CLV_TRY(divide(ctx, a->kind, a->values != NULL, pairs, a->n, &d));
    const int line[3] = {a->n, 1, 1}, blocks[3] = {d.blocks, 1, 1}, digits[3] = {DIGITS, 1, 1};
    const double key_bytes = (double)clv_sort_key_bytes(a->kind) * a->n;
    const double all = key_bytes + (a->values ? 4. * a->n : 0);
    const double counts = 4. * DIGITS * d.shares, sums = 4. * DIGITS * d.blocks;
    const char *build = kind_builds[pairs & READS ? COUNT_OF_PAIRS : (int)a->kind];
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_sort_count, build, blocks, 0, &count));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_sort_columns, "", digits, 0, &columns));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_scan_before, "-DSEGMENTED=0", digits, 0, &firsts));
    CLV_TRY(CLV_LAUNCH(ctx, count, blocks, key_bytes + counts + sums, CLV_BUF(a->keys), CLV_INT(a->n),
                       CLV_INT(d.scatter->group[0]), CLV_INT(d.runs), low, CLV_INT(shift), CLV_BUF(a->counts),
                       CLV_BUF(a->totals)));
    CLV_TRY(CLV_LAUNCH(ctx, columns, digits, 3 * sums, CLV_BUF(a->totals), CLV_INT(d.blocks)));
    CLV_TRY(CLV_LAUNCH(ctx, firsts, digits, 8. * DIGITS, CLV_BUF(a->totals), CLV_INT(DIGITS)));
    CLV_TRY(CLV_LAUNCH(ctx, d.scatter, line, 2 * all + counts, CLV_BUF(a->keys), CLV_BUF(a->values),
                       CLV_INT(a->n), CLV_INT(d.runs), low, CLV_INT(shift), CLV_BUF(a->counts),
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

int clv_sort(clvox_context *ctx, const clv_sort_args *args)
{
    int status = CLVOX_OK, bits = 8 * (int)clv_sort_key_bytes(args->kind);
    uint64_t low = 0;
    clv_sort_args a = *args;
    if (a.n <= 1)
        return CLVOX_OK;
    if (a.limit_range)
        CLV_TRY(find_range(ctx, &a, &low, &bits));
    const uint32_t narrow = (uint32_t)low;
    const clv_arg least = bits > 32 || clv_sort_key_bytes(a.kind) == 8 ? (clv_arg){8, &low, NULL}
                                                                      : (clv_arg){4, &narrow, NULL};
    for (int shift = 0; shift < bits; shift += DIGIT_BITS) {
        CLV_TRY(sort_digit(ctx, &a, 0, least, shift));
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

int clv_sort_by_pairs(clvox_context *ctx, const clv_sort_args *args, clv_buffer *const pairs[2])
{
    int status = CLVOX_OK;
    enum { BITS = 32 };
    const uint32_t none = 0;
    const clv_arg low = {4, &none, NULL};
    if (args->kind != CLVOX_SORT_UINT32 || !args->values || args->n > INT32_MAX / 2)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "pairs are of unsigned keys of 32 bits with values");
    for (int shift = 0, at = 0; shift < BITS && args->n > 1; shift += DIGIT_BITS, at = !at) {
        const int how = (shift > 0 ? READS : 0) | (shift + DIGIT_BITS < BITS ? WRITES : 0);
        clv_sort_args a = *args;
        if (how & READS)
            a.keys = pairs[!at];
        a.other_keys = how & WRITES ? pairs[at] : args->keys;
        a.other_values = args->values;
        CLV_TRY(sort_digit(ctx, &a, how, low, shift));
    }
end:
    return status;
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
    &clv_entry_sort_range, &clv_entry_sort_count, &clv_entry_sort_columns, &clv_entry_sort_scatter, NULL};
