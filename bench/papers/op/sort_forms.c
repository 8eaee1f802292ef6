/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/sort_forms.h"

enum { RANGE_GROUPS = 256, BITS = 32 };

/* march: keys of an item, or of a chunk. */
static const clv_variant range_variants[] = {
    {.name = "group", .function = "sort_range", .group = {CLV_MARCH}, .most_groups = RANGE_GROUPS,
     .devices = CLV_ON_GPU, .cell_bytes = 8, .tiles = {{256, 1, 1, 4096}, {64, 1, 1, 4096}}},
    {.name = "item", .function = "sort_range", .group = {CLV_MARCH}, .most_groups = RANGE_GROUPS,
     .devices = CLV_ON_ANY, .cell_bytes = 8, .tiles = {{1, 1, 1, 65536}}},
};
static const clv_variant implicit_variants[] = {
    {.name = "implicit", .function = "sort_scatter_group", .defines = "-DSWEEP=2", .item = {CLV_MARCH},
     .devices = CLV_ON_GPU, .cell_bytes = CLV_SORT_BYTES(15), .fixed_bytes = CLV_SORT_FIXED_BYTES,
     .tiles = {{64, 1, 1, 15}, {128, 1, 1, 7}}},
};
static const clv_variant count_variants[] = {
    {.name = "group", .function = "sort_count_group", .group = {1}, .devices = CLV_ON_GPU,
     .fixed_bytes = CLV_SORT_DIGITS * 4, .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}}},
    {.name = "chunk", .function = "sort_count_chunk", .group = {1}, .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 1}}},
};
static const clv_variant pairs_variants[] = {
    {.name = "group", .function = "sort_scatter_group", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .cell_bytes = CLV_SORT_BYTES(15), .fixed_bytes = CLV_SORT_FIXED_BYTES,
     .tiles = {{256, 1, 1, 15}, {128, 1, 1, 15}}},
    {.name = "lines", .function = "sort_scatter_chunk", .group = {CLV_MARCH}, .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 65536}}},
};
/* By what is in pairs: nothing, what is read, what is written, both. */
enum { READS = 1, WRITES = 2 };
static const char *const pairs_builds[] = {"-DPAIRS=0", "-DPAIRS=1", "-DPAIRS=2", "-DPAIRS=3", NULL};
static const char *const count_builds[] = {"-DPAIRS=0", "-DPAIRS=1", NULL};

const clv_entry clv_entry_sort_range = CLV_ENTRY("papers/sort_forms", "sort_range", range_variants, NULL);
const clv_entry clv_entry_sort_implicit = CLV_ENTRY("papers/sort_forms", "sort_implicit", implicit_variants,
                                                    NULL);
const clv_entry clv_entry_sort_pairs_count = CLV_ENTRY("papers/sort_forms", "sort_pairs_count",
                                                       count_variants, count_builds);
const clv_entry clv_entry_sort_pairs = CLV_ENTRY("papers/sort_forms", "sort_pairs", pairs_variants,
                                                 pairs_builds);

static clv_sort_kernels kernels_of(clv_sort_form form, int pairs)
{
    const bool implicit = form == CLV_SORT_IMPLICIT;
    return (clv_sort_kernels){&clv_entry_sort_pairs_count,
                              implicit ? &clv_entry_sort_implicit : &clv_entry_sort_pairs,
                              count_builds[pairs & READS], implicit ? "" : pairs_builds[pairs]};
}

int clv_sort_form_words(clvox_context *ctx, int n, size_t *counts, size_t *totals)
{
    int status = CLVOX_OK;
    *counts = 2 * RANGE_GROUPS;
    *totals = 0;
    for (int form = 0; form < CLV_SORT_FORMS; form++)
        for (int pairs = 0; pairs <= (READS | WRITES); pairs++) { /* whose tiles may be others */
            const clv_sort_kernels with = kernels_of((clv_sort_form)form, pairs);
            size_t some, more;
            CLV_TRY(clv_sort_words_of(ctx, &with, n, &some, &more));
            *counts = some > *counts ? some : *counts;
            *totals = more > *totals ? more : *totals;
        }
end:
    return status;
}

/* So many of the lowest bits are not the same in all keys. */
static int find_range(clvox_context *ctx, const clv_sort_args *a, int *bits)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    uint32_t range[2 * RANGE_GROUPS], low = UINT32_MAX, high = 0;
    const int line[3] = {a->n, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_sort_range, NULL, line, 0, &kernel));
    int groups = clv_launch_groups(kernel, line, NULL);
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 4. * a->n, CLV_BUF(a->keys), CLV_INT(a->n), CLV_BUF(a->counts)));
    CLV_TRY(clv_buffer_read(ctx, a->counts, 0, range, 8 * (size_t)groups));
    for (int i = 0; i < 2 * groups; i++) {
        low = range[i] < low ? range[i] : low;
        high = range[i] > high ? range[i] : high;
    }
    for (*bits = 0; *bits < BITS && (uint64_t)(low ^ high) >> *bits; ++*bits)
        ;
end:
    return status;
}

static int sort_pairs(clvox_context *ctx, const clv_sort_args *args)
{
    int status = CLVOX_OK;
    clv_buffer *const pairs[2] = {args->other_keys, args->other_values};
    if (args->n > INT32_MAX / 2)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d pairs are too many to be sorted side by side", args->n);
    for (int shift = 0, at = 0; shift < BITS && args->n > 1; shift += CLV_SORT_DIGIT_BITS, at = !at) {
        const int how = (shift > 0 ? READS : 0) | (shift + CLV_SORT_DIGIT_BITS < BITS ? WRITES : 0);
        const clv_sort_kernels with = kernels_of(CLV_SORT_PAIRS, how);
        clv_sort_args a = *args;
        if (how & READS)
            a.keys = pairs[!at];
        a.other_keys = how & WRITES ? pairs[at] : args->keys;
        a.other_values = args->values;
        CLV_TRY(clv_sort_digit(ctx, &a, &with, shift));
    }
end:
    return status;
}

int clv_sort_in_form(clvox_context *ctx, clv_sort_form form, const clv_sort_args *args)
{
    int status = CLVOX_OK, bits = BITS;
    const clv_sort_kernels with = kernels_of(form, 0);
    if (form == CLV_SORT_PAIRS)
        return sort_pairs(ctx, args);
    if (form == CLV_SORT_LIMITED && args->n > 1)
        CLV_TRY(find_range(ctx, args, &bits));
    CLV_TRY(clv_sort_bits(ctx, args, &with, bits));
end:
    return status;
}

const clv_entry *const clv_operation_papers_sort_forms[] = {
    &clv_entry_sort_range, &clv_entry_sort_implicit, &clv_entry_sort_pairs_count, &clv_entry_sort_pairs,
    NULL};
