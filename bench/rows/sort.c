/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of sorting and prefix sums. */
#include <stdlib.h>
#include <string.h>

#include "bench/rows/check.h"
#include "ref/sort/radix_sort.h"
#include "ref/sort/scan.h"

/* Random words. */
static uint32_t *noise(size_t count)
{
    uint32_t *words = malloc(4 * count);
    uint64_t state = 2011;
    for (size_t i = 0; words && i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        words[i] = (uint32_t)(state >> 32);
    }
    return words;
}

/* In d->nine: keys, values, and keys of 24 bits. */
int bench_begin_sort(bench_data *d)
{
    size_t n = (size_t)d->n;
    uint32_t *words = noise(3 * n);
    if (!words)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (size_t i = 0; i < n; i++)
        words[2 * n + i] = words[i] >> 8;
    int status = clv_buffer_write(d->ctx, d->nine, 0, words, 12 * n);
    free(words);
    return status;
}

/* Sorting works in place: each run begins with a copy. */
int bench_unsorted(bench_data *d, bool with_values, bool narrow, clv_sort_args *args)
{
    int status = CLVOX_OK;
    size_t bytes = 4 * (size_t)d->n;
    *args = (clv_sort_args){
        .kind = CLVOX_SORT_UINT32, .keys = d->out[0], .other_keys = d->field[0], .n = d->n,
        .values = with_values ? d->out[1] : NULL, .other_values = with_values ? d->field[1] : NULL,
        .counts = d->solver[0], .totals = d->partial,
    };
    CLV_TRY(clv_buffer_copy(d->ctx, d->nine, narrow ? 2 * bytes : 0, d->out[0], 0, bytes));
    if (with_values)
        CLV_TRY(clv_buffer_copy(d->ctx, d->nine, bytes, d->out[1], 0, bytes));
end:
    return status;
}

int bench_sort(bench_data *d, bool with_values, bool narrow)
{
    clv_sort_args args;
    const int status = bench_unsorted(d, with_values, narrow, &args);
    return status < 0 ? status : clv_sort(d->ctx, &args);
}

static int row_sort_pairs(bench_data *d)
{
    return bench_sort(d, true, false);
}

static int row_sort_keys(bench_data *d)
{
    return bench_sort(d, false, false);
}

static int row_scan(bench_data *d)
{
    return clv_scan(d->ctx, &(clv_scan_args){.in = d->nine, .n = d->n, .totals = d->partial, .out = d->out[0]});
}

/* `want` words against those of a buffer. */
static int check_words(bench_check *c, const clv_buffer *buffer, const uint32_t *want)
{
    uint32_t *got = (uint32_t *)(void *)c->got;
    int status = clv_buffer_read(c->data->ctx, buffer, 0, got, 4 * c->n);
    for (size_t i = 0; i < c->n && status >= 0; i++)
        if (got[i] != want[i])
            status = bench_wrong(c->data->ctx, c->label, "word %zu is %u, not %u", i, got[i], want[i]);
    return status;
}

int bench_check_sort(bench_check *c, bool with_values, bool narrow)
{
    int status = CLVOX_OK;
    uint32_t *words = noise(2 * c->n), *order = malloc(4 * c->n), *want = malloc(4 * c->n);
    if (!words || !order || !want) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (size_t i = 0; i < c->n && narrow; i++)
        words[i] >>= 8;
    ref_sort(CLVOX_SORT_UINT32, words, (int)c->n, order);
    for (size_t i = 0; i < c->n; i++)
        want[i] = words[order[i]];
    CLV_TRY(check_words(c, c->data->out[0], want));
    for (size_t i = 0; i < c->n; i++)
        want[i] = words[c->n + order[i]];
    if (with_values)
        CLV_TRY(check_words(c, c->data->out[1], want));
end:
    free(words);
    free(order);
    free(want);
    return status;
}

static int check_sort_pairs(bench_check *c)
{
    return bench_check_sort(c, true, false);
}

static int check_sort_keys(bench_check *c)
{
    return bench_check_sort(c, false, false);
}

static int check_scan(bench_check *c)
{
    uint32_t *words = noise(2 * c->n), *want = malloc(4 * c->n);
    int status = words && want ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    if (status >= 0) {
        ref_scan(words, NULL, (int)c->n, false, want);
        status = check_words(c, c->data->out[0], want);
    }
    free(words);
    free(want);
    return status;
}

/* Bytes of a sort: four digits, for each of which keys are read twice and written once, values read and written,
 * after a copy. */
const bench_row bench_rows_sort[] = {
    {"scan", "scan_sums", 8, 1, row_scan, check_scan, bench_begin_sort, NULL},
    {"sort keys", NULL, 56, 0, row_sort_keys, check_sort_keys, bench_begin_sort, NULL},
    {"sort pairs", "sort_scatter", 96, 0, row_sort_pairs, check_sort_pairs, bench_begin_sort, NULL},
    {NULL, NULL, 0, 0, NULL, NULL, NULL, NULL},
};
