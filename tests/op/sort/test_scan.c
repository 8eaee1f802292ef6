/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "ref/sort/scan.h"

static clvox_context *ctx;

enum { LONGEST = 70001 };

/* keys: runs of about `run` elements; 0: none. */
static void scan(int n, int run, bool inclusive, bool in_place, uint32_t most)
{
    static uint32_t in[LONGEST], keys[LONGEST], want[LONGEST], got[LONGEST];
    uint32_t seed = 77u + (uint32_t)n, key = 5;
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        in[i] = most ? (seed >> 3) % most : seed;
        key += run > 0 && (seed >> 7) % (uint32_t)run == 0;
        keys[i] = key;
    }
    size_t bytes = (size_t)n * 4;
    int words = clv_scan_words(ctx, n, false);
    assert_true(words >= 0);
    clv_buffer *device = harness_upload(ctx, in, bytes), *other = run ? harness_upload(ctx, keys, bytes) : NULL;
    clv_buffer *totals = harness_output(ctx, 4 * (size_t)words + 4), *out = in_place ? device : harness_output(ctx, bytes);
    const clv_scan_args args = {.in = device, .keys = other, .n = n, .inclusive = inclusive, .totals = totals, .out = out};
    assert_ok(clv_scan(ctx, &args));
    harness_download(ctx, out, got, bytes);
    ref_scan(in, run ? keys : NULL, n, inclusive, want);
    for (int i = 0; i < n; i++)
        if (got[i] != want[i])
            assert_that(false, "n %d, runs of %d, inclusive %d: sum %d is %u, not %u", n, run, inclusive, i, got[i], want[i]);
    if (!in_place)
        clv_buffer_destroy(&out);
    clv_buffer_destroy(&device);
    clv_buffer_destroy(&other);
    clv_buffer_destroy(&totals);
}

static void sums_of_all_lengths(void **state)
{
    (void)state;
    bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    const int lengths[] = {1, 64, 65, 1023, 1025, 4096, 4097, LONGEST};
    int count = tiny ? 4 : sizeof lengths / sizeof *lengths;
    for (int i = 0; i < count; i++) {
        scan(lengths[i], 0, i % 2, i % 3 == 0, 100);
        scan(lengths[i], i % 2 ? 3 : 2000, i % 3 == 0, i % 2, 0); /* sums run over */
        scan(lengths[i], 1, true, false, 7);
    }
}

/* Sums past 2^32, and past 2^64 of words that are negative or large. */
static void scan_wide(int n, int run, bool inclusive, bool in_place)
{
    static uint64_t in[LONGEST], want[LONGEST], got[LONGEST];
    static uint32_t keys[LONGEST];
    uint64_t noise = 99u + (uint64_t)n;
    uint32_t key = 5;
    for (int i = 0; i < n; i++) {
        noise = noise * 6364136223846793005u + 1442695040888963407u;
        in[i] = noise ^ noise >> 31;
        key += run > 0 && (noise >> 40) % (uint32_t)run == 0;
        keys[i] = key;
    }
    size_t bytes = (size_t)n * 8;
    int words = clv_scan_words(ctx, n, true);
    assert_true(words >= 0);
    clv_buffer *device = harness_upload(ctx, in, bytes), *other = run ? harness_upload(ctx, keys, (size_t)n * 4) : NULL;
    clv_buffer *totals = harness_output(ctx, 4 * (size_t)words + 4), *out = in_place ? device : harness_output(ctx, bytes);
    const clv_scan_args args = {.in = device, .keys = other, .n = n, .inclusive = inclusive, .wide = true,
                                .totals = totals, .out = out};
    assert_ok(clv_scan(ctx, &args));
    harness_download(ctx, out, got, bytes);
    ref_scan_wide(in, run ? keys : NULL, n, inclusive, want);
    for (int i = 0; i < n; i++)
        if (got[i] != want[i])
            assert_that(false, "n %d, runs of %d, inclusive %d: sum %d is %#llx, not %#llx", n, run, inclusive, i,
                        (unsigned long long)got[i], (unsigned long long)want[i]);
    if (!in_place)
        clv_buffer_destroy(&out);
    clv_buffer_destroy(&device);
    clv_buffer_destroy(&other);
    clv_buffer_destroy(&totals);
}

static void wide_sums(void **state)
{
    (void)state;
    bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    const int lengths[] = {1, 65, 513, 1023, 2048, 2049, LONGEST};
    int count = tiny ? 3 : sizeof lengths / sizeof *lengths;
    for (int i = 0; i < count; i++) {
        scan_wide(lengths[i], 0, i % 2, i % 3 == 0);
        scan_wide(lengths[i], i % 2 ? 3 : 2000, i % 3 != 0, i % 2);
    }
}

static void nothing_to_add(void **state)
{
    (void)state;
    assert_ok(clv_scan(ctx, &(clv_scan_args){.n = 0}));
}

int main(void)
{
    ctx = harness_open();
    harness_cases(&clv_entry_scan_totals, sums_of_all_lengths, NULL, 0, "sums of all lengths");
    harness_cases(&clv_entry_scan_before, sums_of_all_lengths, NULL, 0, "sums of all lengths");
    harness_cases(&clv_entry_scan_sums, sums_of_all_lengths, NULL, 0, "sums of all lengths");
    harness_cases(&clv_entry_scan_totals_wide, wide_sums, NULL, 0, "sums of 64 bits");
    harness_cases(&clv_entry_scan_before_wide, wide_sums, NULL, 0, "sums of 64 bits");
    harness_cases(&clv_entry_scan_sums_wide, wide_sums, NULL, 0, "sums of 64 bits");
    test_case(nothing_to_add, "nothing to add");
    return test_run("scan", harness_close);
}
