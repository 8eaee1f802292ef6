/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/sort_forms.h"
#include "op/harness.h"
#include "ref/sort/radix_sort.h"

enum { LONGEST = 70001 };
static clvox_context *ctx;

typedef enum pattern { RANDOM, EQUAL, REVERSED, ONE_BIT, FEW, NARROW, ACROSS, PATTERNS } pattern;

static uint32_t key_of(pattern p, int i, int n, uint64_t noise)
{
    switch (p) {
    case EQUAL: return 0x87654321u;
    case REVERSED: return (uint32_t)(n - i) << 13;
    case ONE_BIT: return (uint32_t)(noise & 1) << (noise >> 9) % 32;
    case FEW: return (uint32_t)(noise % 3) * 0x40000001u;
    case NARROW: return 0x12000000u + (uint32_t)(noise % 70000); /* two digits in which all agree */
    case ACROSS: return 0x7fffff00u + (uint32_t)(noise % 70000); /* a narrow range over all digits */
    default: return (uint32_t)noise;
    }
}

static void sort(clv_sort_form form, pattern p, int n)
{
    static uint32_t keys[LONGEST], values[LONGEST], got[LONGEST], got_values[LONGEST], order[LONGEST];
    const size_t bytes = 4 * (size_t)n;
    size_t counts, totals;
    uint64_t noise = 88172645463325252u;
    for (int i = 0; i < n; i++) {
        noise = noise * 6364136223846793005u + 1442695040888963407u;
        keys[i] = key_of(p, i, n, noise >> 29);
        values[i] = (uint32_t)i * 2654435761u;
    }
    assert_ok(clv_sort_form_words(ctx, n, &counts, &totals));
    clv_sort_args a = {.keys = harness_upload(ctx, keys, bytes), .values = harness_upload(ctx, values, bytes),
                       .other_keys = harness_output(ctx, 2 * bytes),
                       .other_values = harness_output(ctx, 2 * bytes),
                       .counts = harness_output(ctx, 4 * counts), .totals = harness_output(ctx, 4 * totals),
                       .n = n};
    assert_ok(clv_sort_in_form(ctx, form, &a));
    harness_download(ctx, a.keys, got, bytes);
    harness_download(ctx, a.values, got_values, bytes);
    ref_sort(CLVOX_SORT_UINT32, keys, n, order);
    for (int i = 0; i < n; i++)
        assert_that(got[i] == keys[order[i]] && got_values[i] == values[order[i]],
                    "form %d, pattern %d, n %d: at %d is %#x with %#x", (int)form, (int)p, n, i, got[i],
                    got_values[i]);
    clv_buffer *all[] = {a.keys, a.values, a.other_keys, a.other_values, a.counts, a.totals};
    for (int i = 0; i < 6; i++)
        clv_buffer_destroy(&all[i]);
}

static void sorted_in_form(void **state)
{
    const clv_sort_form form = *(const clv_sort_form *)*state;
    const bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    const int lengths[] = {270, 1, 255, 4097, LONGEST};
    /* Implicit counts are among what oclgrind computes wrongly. */
    if (harness_simulated() && form == CLV_SORT_IMPLICIT)
        return;
    for (int l = 0; l < (tiny ? 1 : 5); l++)
        for (int p = tiny ? ACROSS : 0; p < (int)PATTERNS; p++)
            sort(form, (pattern)p, lengths[l]);
}

static void a_pass_less(void **state)
{
    (void)state;
    static const uint32_t keys[] = {0x550003ffu, 0x55000001u, 0x55000200u, 0x55000001u};
    static const uint32_t values[] = {4, 1, 3, 2};
    uint32_t got[4];
    size_t counts, totals;
    assert_ok(clv_sort_form_words(ctx, 4, &counts, &totals));
    clv_sort_args a = {.keys = harness_upload(ctx, keys, 16), .values = harness_upload(ctx, values, 16),
                       .other_keys = harness_output(ctx, 16), .other_values = harness_output(ctx, 16),
                       .counts = harness_output(ctx, 4 * counts), .totals = harness_output(ctx, 4 * totals),
                       .n = 4};
    assert_ok(clv_sort_in_form(ctx, CLV_SORT_LIMITED, &a));
    /* Two digits: the other buffer holds the keys after the first. */
    harness_download(ctx, a.other_keys, got, 16);
    const uint32_t after_one[] = {0x55000200u, 0x55000001u, 0x55000001u, 0x550003ffu};
    assert_memory_equal(got, after_one, 16);
    harness_download(ctx, a.values, got, 16);
    assert_memory_equal(got, ((const uint32_t[]){1, 2, 3, 4}), 16);
    clv_buffer *all[] = {a.keys, a.values, a.other_keys, a.other_values, a.counts, a.totals};
    for (int i = 0; i < 6; i++)
        clv_buffer_destroy(&all[i]);
}

int main(void)
{
    static const clv_sort_form implicit = CLV_SORT_IMPLICIT, pairs = CLV_SORT_PAIRS,
                               limited = CLV_SORT_LIMITED;
    ctx = harness_open();
    harness_cases(&clv_entry_sort_implicit, sorted_in_form, &implicit, sizeof implicit, "implicit counts");
    harness_cases(&clv_entry_sort_pairs_count, sorted_in_form, &pairs, sizeof pairs, "pairs side by side");
    harness_cases(&clv_entry_sort_pairs, sorted_in_form, &pairs, sizeof pairs, "pairs side by side");
    harness_cases(&clv_entry_sort_range, sorted_in_form, &limited, sizeof limited, "a limited range");
    test_case(a_pass_less, "digits in which all keys agree take no pass");
    return test_run("sort_forms", harness_close);
}
