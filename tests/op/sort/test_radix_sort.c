/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "ref/sort/radix_sort.h"
#include "runtime/device/error.h"

static clvox_context *ctx;

enum { LONGEST = 70001 };

typedef enum pattern { RANDOM, EQUAL, SORTED, REVERSED, ONE_BIT, ALL_ONES, FEW, NARROW, PATTERNS } pattern;
static const char *const pattern_names[] = {"random", "equal", "sorted", "reversed", "one bit", "all ones", "few", "narrow"};

/* Floating-point keys get special values as well. */
static uint64_t key_of(pattern p, clvox_sort_kind kind, int i, int n, uint64_t noise)
{
    bool wide = clv_sort_key_bytes(kind) == 8;
    if ((kind == CLVOX_SORT_FLOAT32 || kind == CLVOX_SORT_FLOAT64) && (p == RANDOM || p == FEW)) {
        static const double special[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1e-310, -1e-42, 1, -1, 3e38};
        double value = p == FEW || noise % 5 == 0 ? special[noise / 5 % 10] : ((double)(noise >> 20) - 8e12) * 1e-7;
        float narrow = (float)value;
        uint32_t bits;
        uint64_t wide_bits;
        memcpy(&bits, &narrow, 4);
        memcpy(&wide_bits, &value, 8);
        if (isnan(value) && noise & 1024) { /* NaNs of both signs */
            bits ^= 0x80000000u;
            wide_bits ^= (uint64_t)1 << 63;
        }
        return wide ? wide_bits : bits;
    }
    switch (p) {
    case EQUAL: return 0x8765432112345678u;
    case SORTED: return (uint64_t)i * 3;
    case REVERSED: return (uint64_t)(n - i) << (wide ? 40 : 13);
    case ONE_BIT: return (noise & 1) << (noise >> 9) % (wide ? 64 : 32);
    case ALL_ONES: return ~(uint64_t)0;
    case FEW: return noise % 3 * 0x4000000040000001u;
    case NARROW: return (wide ? 0x7fffffffffff0000u : 0x7fff0000u) + noise % 70000; /* over the middle, past the sign */
    default: return noise;
    }
}

static void sort(clvox_sort_kind kind, pattern p, int n, bool with_values)
{
    static uint64_t keys64[LONGEST], got64[LONGEST];
    static uint32_t keys32[LONGEST], got32[LONGEST], values[LONGEST], order[LONGEST];
    bool wide = clv_sort_key_bytes(kind) == 8;
    uint64_t noise = 12345u + (uint64_t)n;
    for (int i = 0; i < n; i++) {
        noise = noise * 6364136223846793005u + 1442695040888963407u;
        keys64[i] = key_of(p, kind, i, n, noise >> 7 ^ noise << 50);
        keys32[i] = (uint32_t)keys64[i];
        values[i] = (uint32_t)i * 2654435761u;
    }
    const void *keys = wide ? (void *)keys64 : keys32;
    size_t bytes = clv_sort_key_bytes(kind) * (size_t)n, counts, totals;
    assert_ok(clv_sort_words(ctx, kind, with_values, n, &counts, &totals));
    clv_sort_args a = {.kind = kind, .keys = harness_upload(ctx, keys, bytes), .other_keys = harness_output(ctx, bytes),
                       .counts = harness_output(ctx, 4 * counts), .totals = harness_output(ctx, 4 * totals),
                       .n = n};
    if (with_values) {
        a.values = harness_upload(ctx, values, 4 * (size_t)n);
        a.other_values = harness_output(ctx, 4 * (size_t)n);
    }
    assert_ok(clv_sort(ctx, &a));
    harness_download(ctx, a.keys, wide ? (void *)got64 : got32, bytes);
    ref_sort(kind, keys, n, order);
    for (int i = 0; i < n; i++) {
        uint64_t want = wide ? keys64[order[i]] : keys32[order[i]], got = wide ? got64[i] : got32[i];
        if (got != want)
            assert_that(false, "kind %d, %s, n %d: key %d is %#llx, not %#llx", (int)kind, pattern_names[p], n, i,
                        (unsigned long long)got, (unsigned long long)want);
    }
    if (with_values) {
        harness_download(ctx, a.values, got32, 4 * (size_t)n);
        for (int i = 0; i < n; i++)
            if (got32[i] != values[order[i]])
                assert_that(false, "kind %d, %s, n %d: value %d is not that of its key", (int)kind, pattern_names[p], n, i);
    }
    clv_buffer_destroy(&a.keys);
    clv_buffer_destroy(&a.other_keys);
    clv_buffer_destroy(&a.values);
    clv_buffer_destroy(&a.other_values);
    clv_buffer_destroy(&a.counts);
    clv_buffer_destroy(&a.totals);
}

/* A build each: of tiles past a variant's first, one kind is sorted. */
static void keys_of_all_kinds(void **state)
{
    (void)state;
    bool tiny = getenv("CLVOX_TEST_TINY") != NULL, all = harness_first() && !tiny;
    const int lengths[] = {1, 257, 4095, 4097, 9001};
    for (int kind = 0; kind <= CLVOX_SORT_FLOAT64; kind++)
        for (int p = 0; p < (tiny ? 1 : PATTERNS) && (all || kind == CLVOX_SORT_FLOAT32); p++)
            sort((clvox_sort_kind)kind, (pattern)p, tiny ? 270 : lengths[(3 * p + kind) % 5], kind % 2 == 0);
}

/* Powers of two and their neighbours, past the shares of several work-groups. */
static void lengths_and_patterns(void **state)
{
    (void)state;
    bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    for (int power = 0, p = 0; power <= (tiny ? 0 : 16); power += power < 8 ? 4 : 2)
        for (int more = -1; more <= 1; more++, p++)
            if ((1 << power) + more > 0)
                sort(CLVOX_SORT_UINT32, (pattern)(p % PATTERNS), (1 << power) + more, true);
    if (!tiny)
        sort(CLVOX_SORT_UINT32, RANDOM, LONGEST, true);
}

/* So many that a block has several shares, where these are small. */
static void blocks_of_shares(void **state)
{
    (void)state;
    enum { N = (1 << 21) + 77 };
    if (getenv("CLVOX_TEST_TINY"))
        return;
    uint32_t *keys = malloc(4 * N), *values = malloc(4 * N), *before = malloc(4 * N);
    assert_true(keys && values && before);
    for (uint32_t i = 0; i < N; i++) {
        before[i] = keys[i] = i * 2654435761u >> 12;
        values[i] = i;
    }
    assert_ok(clvox_sort(ctx, CLVOX_SORT_UINT32, keys, values, N));
    for (int i = 0; i < N; i++) {
        assert_that(values[i] < N && keys[i] == before[values[i]], "value %d is not that of its key", i);
        assert_that(i == 0 || keys[i] > keys[i - 1] || (keys[i] == keys[i - 1] && values[i] > values[i - 1]),
                    "key %d is not in its place", i);
    }
    free(keys);
    free(values);
    free(before);
}

/* Forms of the count have them where the scatter is one of small shares. */
static void counts_of_blocks(void **state)
{
    assert_ok(clv_force_variant(ctx, clv_entry_sort_scatter.name, "group", 1));
    blocks_of_shares(state);
    assert_ok(clv_force_variant(ctx, clv_entry_sort_scatter.name, NULL, -1));
}

static void arrays_of_the_host(void **state)
{
    (void)state;
    float keys[] = {3, NAN, -0.0f, -INFINITY, 0, 3, -1, -NAN};
    uint32_t values[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const uint32_t want[] = {3, 6, 2, 4, 0, 5, 1, 7};
    assert_ok(clvox_sort(ctx, CLVOX_SORT_FLOAT32, keys, values, 8));
    assert_memory_equal(values, want, sizeof want);
    assert_true(keys[0] == -INFINITY && keys[4] == 3 && keys[5] == 3 && isnan(keys[7]));
    int64_t wide[] = {5, -7, 1ll << 40, -(1ll << 40)};
    assert_ok(clvox_sort(ctx, CLVOX_SORT_INT64, wide, NULL, 4));
    assert_true(wide[0] == -(1ll << 40) && wide[1] == -7 && wide[2] == 5 && wide[3] == 1ll << 40);
    assert_ok(clvox_sort(ctx, CLVOX_SORT_UINT32, NULL, NULL, 0));
    assert_int_equal(clvox_sort(ctx, CLVOX_SORT_UINT32, NULL, NULL, 1), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_sort(ctx, (clvox_sort_kind)9, wide, NULL, 4), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_sort(ctx, CLVOX_SORT_UINT32, wide, NULL, (size_t)1 << 31), CLVOX_ERROR_ARGUMENT);
}

/* Use by a program that has opened OpenCL itself. */
static void buffers_of_another_program(void **state)
{
    (void)state;
    enum { N = 5000 };
    clvox_device *devices;
    clvox_context *mine;
    int count = clvox_devices_list(&devices), chosen = 0;
    while (chosen < count && strcmp(devices[chosen].limits.name, clvox_context_limits(ctx)->name) != 0)
        chosen++;
    assert_true(chosen < count);
    cl_device_id device = devices[chosen].device_id;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    assert_ok(clvox_context_adopt(queue, NULL, &mine));
    static uint64_t keys[N];
    static uint32_t values[N], order[N];
    static int64_t sums[N];
    for (int i = 0; i < N; i++) {
        keys[i] = (uint64_t)(i % 77) * 0x123456789abcdefu;
        values[i] = (uint32_t)i;
    }
    ref_sort(CLVOX_SORT_UINT64, keys, N, order);
    const cl_mem_flags copied = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
    cl_mem k = clCreateBuffer(context, copied, sizeof keys, keys, NULL);
    cl_mem v = clCreateBuffer(context, copied, sizeof values, values, NULL);
    assert_ok(clvox_sort_buffer(mine, CLVOX_SORT_UINT64, k, v, N));
    clEnqueueReadBuffer(queue, v, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
    assert_memory_equal(values, order, sizeof order);
    assert_ok(clvox_scan_buffer(mine, 32, v, NULL, N, true, v));
    clEnqueueReadBuffer(queue, v, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
    for (uint32_t i = 0, sum = 0; i < N; i++)
        assert_true(values[i] == (sum += order[i]));
    /* Too small, absent, of another context. */
    assert_int_equal(clvox_sort_buffer(mine, CLVOX_SORT_UINT64, v, NULL, N), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_sort_buffer(mine, CLVOX_SORT_UINT64, NULL, NULL, N), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_sort_buffer(ctx, CLVOX_SORT_UINT64, k, NULL, N), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_scan_buffer(mine, 16, v, NULL, N, true, v), CLVOX_ERROR_ARGUMENT);
    clvox_context *none;
    assert_int_equal(clvox_context_adopt(NULL, NULL, &none), CLVOX_ERROR_ARGUMENT);
    assert_null(none);
    cl_command_queue unordered = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
    if (unordered) {
        assert_int_equal(clvox_context_adopt(unordered, NULL, &none), CLVOX_ERROR_ARGUMENT);
        assert_null(none);
        clReleaseCommandQueue(unordered);
    }
    clvox_context_destroy(&mine);
    clReleaseMemObject(k);
    clReleaseMemObject(v);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    clvox_devices_destroy(&devices);
    /* Arrays of the host, on the context of the harness. */
    for (int i = 0; i < N; i++)
        sums[i] = (int64_t)(i % 5 - 3) * ((int64_t)1 << 33);
    assert_ok(clvox_scan(ctx, 64, sums, order, N, false, sums));
    for (int i = 1; i < N; i++)
        assert_true(sums[i] == 0); /* each a segment of its own */
    assert_ok(clvox_scan(ctx, 64, sums, NULL, 0, false, NULL));
}

/* Sorts distinct keys in more than 2^31 bytes, a permutation of those given. Needs a minute and 7 GB: only if
 * CLVOX_TEST_LARGE is set. */
static void more_than_two_gigabytes(void **state)
{
    (void)state;
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    const size_t n = ((size_t)1 << 29) + 3, bytes = 4 * n;
    if (!getenv("CLVOX_TEST_LARGE") || limits->max_allocation < bytes ||
        limits->global_bytes < 5 * bytes / 2) {
        test_skip("CLVOX_TEST_LARGE is not set, or the device has no room for %zu keys", n);
        return;
    }
    uint32_t *keys = malloc(bytes), any = 0, sorted_any = 0;
    uint64_t sum = 0, sorted_sum = 0;
    assert_non_null(keys);
    for (size_t i = 0; i < n; i++) {
        keys[i] = (uint32_t)i * 2654435761u; /* odd: no two are alike */
        sum += keys[i];
        any ^= keys[i] * 2246822519u;
    }
    assert_ok(clvox_sort(ctx, CLVOX_SORT_UINT32, keys, NULL, n));
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || keys[i] > keys[i - 1]);
        sorted_sum += keys[i];
        sorted_any ^= keys[i] * 2246822519u;
    }
    assert_true(sum == sorted_sum && any == sorted_any);
    free(keys);
}

int main(void)
{
    ctx = harness_open();
    test_case(buffers_of_another_program, "buffers of another program");
    harness_cases(&clv_entry_sort_count, keys_of_all_kinds, NULL, 0, "keys of all kinds");
    harness_cases(&clv_entry_sort_columns, keys_of_all_kinds, NULL, 0, "keys of all kinds");
    harness_cases(&clv_entry_sort_scatter, keys_of_all_kinds, NULL, 0, "keys of all kinds");
    harness_cases_first(&clv_entry_sort_scatter, lengths_and_patterns, NULL, 0, "lengths and patterns");
    harness_cases(&clv_entry_sort_count, counts_of_blocks, NULL, 0, "blocks of shares");
    harness_cases(&clv_entry_sort_scatter, blocks_of_shares, NULL, 0, "blocks of shares");
    test_case(arrays_of_the_host, "arrays of the host");
    test_case(more_than_two_gigabytes, "more than 2^31 bytes");
    return test_run("radix_sort", harness_close);
}
