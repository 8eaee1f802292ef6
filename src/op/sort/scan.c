/* SPDX-License-Identifier: Apache-2.0 */
#include "op/sort/scan.h"

#include "clvox/sort.h"

/* Bytes of a run, with or without a key. march: elements of an item, or of a chunk. */
#define TOTALS(bytes)                                                                                            \
    {.name = "group", .function = "scan_totals_group", .group = {1}, .devices = CLV_ON_GPU,                          \
     .cell_bytes = 2 * (bytes), .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}}},                                           \
    {.name = "chunk", .function = "scan_totals_chunk", .group = {1}, .devices = CLV_ON_ANY, .tiles = {{1, 1, 1, 1}}}
#define BEFORE(bytes)                                                                                \
    {.name = "group",                                                                                \
     .function = "scan_before_group",                                                                \
     .group = {CLV_WHOLE},                                                                           \
     .devices = CLV_ON_GPU,                                                                          \
     .cell_bytes = 2 * (bytes),                                                                      \
     .tiles = {{1024, 1, 1, 1}, {256, 1, 1, 1}, {64, 1, 1, 1}}},                                     \
    {                                                                                                \
        .name = "item", .function = "scan_before_item", .group = {CLV_WHOLE}, .devices = CLV_ON_ANY, \
        .tiles = {                                                                                   \
            {1, 1, 1, 1}                                                                             \
        }                                                                                            \
    }
#define SUMS(bytes, each)                                                                                        \
    {.name = "group", .function = "scan_sums_group", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,                     \
     .cell_bytes = ((each) + 3) * (bytes), .tiles = {{64, 1, 1, (each)}, {256, 1, 1, (each)}}},            \
    {.name = "chunk", .function = "scan_sums_chunk", .group = {CLV_MARCH}, .devices = CLV_ON_ANY,                    \
     .tiles = {{1, 1, 1, 65536}}}

static const clv_variant totals_variants[] = {TOTALS(8)}, totals_wide[] = {TOTALS(16)};
static const clv_variant before_variants[] = {BEFORE(8)}, before_wide[] = {BEFORE(16)};
static const clv_variant sums_variants[] = {SUMS(8, 16)}, sums_wide[] = {SUMS(16, 8)};
static const char *const builds[] = {"-DSEGMENTED=0", "-DSEGMENTED=1", NULL};
static const char *const wide_builds[] = {"-DSEGMENTED=0 -DWIDE=1", "-DSEGMENTED=1 -DWIDE=1", NULL};

const clv_entry clv_entry_scan_totals = CLV_ENTRY("sort/scan", "scan_totals", totals_variants, builds);
const clv_entry clv_entry_scan_before = CLV_ENTRY("sort/scan", "scan_before", before_variants, builds);
const clv_entry clv_entry_scan_sums = CLV_ENTRY("sort/scan", "scan_sums", sums_variants, builds);
const clv_entry clv_entry_scan_totals_wide = CLV_ENTRY("sort/scan", "scan_totals_wide", totals_wide,
                                                       wide_builds);
const clv_entry clv_entry_scan_before_wide = CLV_ENTRY("sort/scan", "scan_before_wide", before_wide,
                                                       wide_builds);
const clv_entry clv_entry_scan_sums_wide = CLV_ENTRY("sort/scan", "scan_sums_wide", sums_wide, wide_builds);

int clv_scan_words(clvox_context *ctx, int n, bool wide)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    CLV_TRY(clv_kernel_get(ctx, wide ? &clv_entry_scan_sums_wide : &clv_entry_scan_sums, wide ? wide_builds[0] : builds[0],
                           (const int[3]){n, 1, 1}, 0, &kernel));
    return (wide ? 4 : 2) * clv_launch_groups(kernel, (const int[3]){n, 1, 1}, NULL);
end:
    return status;
}

int clv_scan(clvox_context *ctx, const clv_scan_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *totals, *before, *sums;
    const char *build = (a->wide ? wide_builds : builds)[a->keys != NULL];
    const int line[3] = {a->n, 1, 1};
    const double word = a->wide ? 8 : 4, bytes = word + (a->keys ? 4 : 0);
    if (a->n <= 0)
        return CLVOX_OK;
    CLV_TRY(clv_kernel_get(ctx, a->wide ? &clv_entry_scan_sums_wide : &clv_entry_scan_sums, build, line, 0, &sums));
    const int groups[3] = {clv_launch_groups(sums, line, NULL), 1, 1};
    CLV_TRY(clv_kernel_get(ctx, a->wide ? &clv_entry_scan_totals_wide : &clv_entry_scan_totals, build, groups, 0, &totals));
    CLV_TRY(CLV_LAUNCH(ctx, totals, groups, bytes * a->n, CLV_BUF(a->in), CLV_BUF(a->keys), CLV_INT(a->n),
                       CLV_INT(sums->group[0]), CLV_BUF(a->totals)));
    CLV_TRY(clv_kernel_get(ctx, a->wide ? &clv_entry_scan_before_wide : &clv_entry_scan_before, build, groups, 0, &before));
    CLV_TRY(CLV_LAUNCH(ctx, before, groups, 2 * bytes * groups[0], CLV_BUF(a->totals), CLV_INT(groups[0])));
    CLV_TRY(CLV_LAUNCH(ctx, sums, line, (word + bytes) * a->n, CLV_BUF(a->in), CLV_BUF(a->keys), CLV_INT(a->n),
                       CLV_INT(a->inclusive), CLV_BUF(a->totals), CLV_BUF(a->out)));
end:
    return status;
}

static int check(const clvox_context *ctx, int bits, const void *in, size_t count, const void *out)
{
    if (!ctx || (bits != 32 && bits != 64) || (count > 0 && (!in || !out)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "a scan wants a context, integers of 32 or 64 bits, and a place for the sums");
    if (count > INT32_MAX)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "%zu integers are too many to be added up at once: 2147483647 are possible", count);
    return CLVOX_OK;
}

int clvox_scan_buffer(clvox_context *ctx, int bits, void *in, void *segments, size_t count, bool inclusive, void *out)
{
    int status = CLVOX_OK;
    clv_buffer from, keys, to;
    clv_scan_args a = {.in = &from, .keys = segments ? &keys : NULL, .n = (int)count, .inclusive = inclusive,
                       .wide = bits == 64, .out = &to};
    const size_t bytes = (size_t)bits / 8 * count;
    CLV_TRY(check(ctx, bits, in, count, out));
    if (count < 1)
        return CLVOX_OK;
    CLV_TRY(clv_buffer_wrap(ctx, in, bytes, "integers", &from));
    CLV_TRY(clv_buffer_wrap(ctx, out, bytes, "sums", &to));
    if (segments)
        CLV_TRY(clv_buffer_wrap(ctx, segments, 4 * count, "segments", &keys));
    int words = clv_scan_words(ctx, a.n, a.wide);
    CLV_TRY(words);
    const clv_request requests[] = {{&a.totals, 4 * (size_t)words, "totals"}};
    CLV_TRY(clv_pool_take(ctx, requests, 1));
    status = clv_scan(ctx, &a);
    if (status >= 0)
        status = clv_finish(ctx);
    clv_pool_release(requests, 1);
end:
    return status;
}

int clvox_scan(clvox_context *ctx, int bits, const void *in, const void *segments, size_t count, bool inclusive,
               void *out)
{
    int status = CLVOX_OK;
    clv_buffer *values = NULL, *keys = NULL;
    const size_t bytes = (size_t)bits / 8 * count;
    CLV_TRY(check(ctx, bits, in, count, out));
    if (count < 1)
        return CLVOX_OK;
    CLV_TRY(clv_buffer_create(ctx, bytes, "integers", &values));
    CLV_TRY(clv_buffer_write(ctx, values, 0, in, bytes));
    if (segments) {
        CLV_TRY(clv_buffer_create(ctx, 4 * count, "segments", &keys));
        CLV_TRY(clv_buffer_write(ctx, keys, 0, segments, 4 * count));
    }
    CLV_TRY(clvox_scan_buffer(ctx, bits, values->mem, keys ? keys->mem : NULL, count, inclusive, values->mem));
    CLV_TRY(clv_buffer_read(ctx, values, 0, out, bytes));
end:
    clv_buffer_destroy(&values);
    clv_buffer_destroy(&keys);
    return status;
}

const clv_entry *const clv_operation_sort_scan[] = {
    &clv_entry_scan_totals,      &clv_entry_scan_before,      &clv_entry_scan_sums,
    &clv_entry_scan_totals_wide, &clv_entry_scan_before_wide, &clv_entry_scan_sums_wide, NULL};
