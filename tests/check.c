/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <fnmatch.h>

/* A case with its fixture. Cases of a fixture name the one that sets it up. */
typedef struct test {
    CMUnitTestFunction before, function;
    CMFixtureFunction set_up, tear_down, make, drop; /* of all cases of a fixture; of each */
    int first; /* of the fixture; -1: there is none */
    int unit;  /* what stays together when the order is drawn */
    bool ready, made, generated, left_out;
    void *before_data, *data;
} test;

static struct CMUnitTest *cases;
static test *tests;
static int count, room, first = -1;
static CMFixtureFunction next_set_up, after_each, each_make, each_drop;

static int set_up(void **state)
{
    test *t = *state;
    void *data = t->data;
    int status = t->set_up ? t->set_up(&data) : 0;
    t->ready = !status;
    return status;
}

static void run(void **state)
{
    test *t = *state;
    if (t->first >= 0 && !tests[t->first].ready)
        fail_msg("the set-up of these cases failed");
    if (t->left_out)
        return;
    void *data = t->data;
    if (t->make && t->make(&data))
        fail_msg("the set-up of this case failed");
    t->made = true;
    data = t->before_data;
    if (t->before)
        t->before(&data);
    data = t->data;
    t->function(&data);
}

static int tear_down(void **state)
{
    test *t = *state;
    void *data = t->data;
    int status = after_each ? after_each(&data) : 0;
    if (t->made && t->drop && t->drop(&data))
        status = -1;
    bool ready = t->first < 0 || tests[t->first].ready;
    return ready && t->tear_down && t->tear_down(&data) ? -1 : status;
}

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static void *copy(const void *data, size_t bytes)
{
    return bytes ? memcpy(must(malloc(bytes)), data, bytes) : NULL;
}

static void add(CMUnitTestFunction function, const void *data, size_t bytes, const char *name, va_list list)
{
    if (count == room) {
        room = 2 * room + 64;
        cases = must(realloc(cases, (size_t)room * sizeof *cases));
        tests = must(realloc(tests, (size_t)room * sizeof *tests));
    }
    char *text = must(malloc(512));
    vsnprintf(text, 512, name, list);
    if (next_set_up)
        first = count;
    tests[count] = (test){.function = function, .set_up = next_set_up, .first = first, .make = each_make,
                          .drop = each_drop, .data = copy(data, bytes)};
    cases[count++] = (struct CMUnitTest){.name = text, .test_func = run};
    next_set_up = NULL;
}

void test_case(CMUnitTestFunction function, const char *name, ...)
{
    va_list list;
    va_start(list, name);
    add(function, NULL, 0, name, list);
    va_end(list);
}

void test_case_at(CMUnitTestFunction function, const void *data, size_t bytes, const char *name, ...)
{
    va_list list;
    va_start(list, name);
    add(function, data, bytes, name, list);
    tests[count - 1].generated = true;
    va_end(list);
}

void test_before(CMUnitTestFunction before, const void *data, size_t bytes)
{
    tests[count - 1].before = before;
    tests[count - 1].before_data = copy(data, bytes);
}

void test_set_up(CMFixtureFunction function)
{
    next_set_up = function;
    first = -1;
}

void test_each(CMFixtureFunction make, CMFixtureFunction drop)
{
    each_make = make;
    each_drop = drop;
}

void test_after_each(CMFixtureFunction function)
{
    after_each = function;
}

void test_tear_down(CMFixtureFunction function)
{
    if (count && !next_set_up)
        tests[count - 1].tear_down = function;
    next_set_up = NULL;
    first = -1;
}

/* The first and the last of generated cases show the host's part of a kernel. */
static void leave_out_middles(void)
{
    for (int i = 0; i < count; i++) {
        bool before = false, after = false;
        for (int k = 0; k < count; k++)
            if (tests[k].function == tests[i].function) {
                before |= k < i;
                after |= k > i;
            }
        tests[i].left_out = tests[i].generated && before && after;
    }
}

static void swap_cases(int a, int b)
{
    const struct CMUnitTest c = cases[a];
    const test t = tests[a];
    cases[a] = cases[b], tests[a] = tests[b];
    cases[b] = c, tests[b] = t;
}

/* Numerical Recipes' generator: the order of a seed is the same everywhere. */
static int drawn(uint32_t *seed, int below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (int)(*seed >> 8) % below;
}

/* Keeps the cases whose name matches, and draws their order. Cases of a fixture stay together; the first of them sets
 * it up, the last tears it down. */
static void choose_cases(const char *only, const char *shuffle)
{
    uint32_t seed = shuffle ? (uint32_t)strtoul(shuffle, NULL, 10) : 0;
    int kept = 0, *unit = must(calloc((size_t)count + 1, sizeof *unit));
    CMFixtureFunction *set = must(calloc((size_t)count + 1, sizeof *set)), *tear = must(calloc((size_t)count + 1, sizeof *tear));
    for (int i = 0; i < count; i++) {
        const int of = tests[i].first < 0 ? i : tests[i].first;
        if (tests[i].set_up)
            set[of] = tests[i].set_up;
        if (tests[i].tear_down)
            tear[of] = tests[i].tear_down;
        tests[i].set_up = tests[i].tear_down = NULL;
        tests[i].unit = of;
    }
    for (int i = 0; i < count; i++)
        if (!only || !fnmatch(only, cases[i].name, 0))
            swap_cases(kept++, i);
    count = kept;
    /* A random place for each unit, then one for each case within it. */
    for (int i = 0; shuffle && i < count; i++)
        unit[tests[i].unit] = 0;
    for (int i = 0; shuffle && i < count; i++)
        if (!unit[tests[i].unit])
            unit[tests[i].unit] = 1 + drawn(&seed, 1 << 20);
    for (int i = count - 1; shuffle && i > 0; i--)
        swap_cases(i, drawn(&seed, i + 1));
    for (int i = 1; shuffle && i < count; i++)
        for (int k = i; k > 0; k--) {
            const int a = tests[k - 1].unit, b = tests[k].unit;
            if (unit[a] < unit[b] || (unit[a] == unit[b] && a <= b))
                break;
            swap_cases(k - 1, k);
        }
    for (int i = 0; i < count; i++) {
        const int of = tests[i].unit;
        if (i == 0 || tests[i - 1].unit != of)
            tests[i].set_up = set[of], first = i;
        if (i == count - 1 || tests[i + 1].unit != of)
            tests[i].tear_down = tear[of];
        tests[i].first = tests[i].first < 0 ? -1 : first;
    }
    free(unit);
    free(set);
    free(tear);
}

int test_run(const char *group, CMFixtureFunction group_tear_down)
{
    const char *only = getenv("CLVOX_TEST_ONLY"), *shuffle = getenv("CLVOX_TEST_SHUFFLE");
    const int named = count;
    if (only || shuffle)
        choose_cases(only, shuffle);
    if (getenv("CLVOX_TEST_FEW"))
        leave_out_middles();
    for (int i = 0; i < count; i++) {
        cases[i].initial_state = &tests[i];
        cases[i].setup_func = set_up;
        cases[i].teardown_func = tear_down;
    }
    int failed = _cmocka_run_group_tests(group, cases, (size_t)count, NULL, group_tear_down);
    for (int i = 0; i < named; i++) {
        free((void *)(uintptr_t)cases[i].name);
        free(tests[i].before_data);
        free(tests[i].data);
    }
    free(cases);
    free(tests);
    return failed ? 1 : 0;
}

void test_skip(const char *reason, ...)
{
    va_list list;
    va_start(list, reason);
    printf("# SKIP ");
    vprintf(reason, list);
    printf("\n");
    va_end(list);
    skip();
    abort();
}

int test_skip_all(const char *reason, ...)
{
    va_list list;
    va_start(list, reason);
    printf("1..0 # SKIP ");
    vprintf(reason, list);
    printf("\n");
    va_end(list);
    return 77;
}

void test_status(int status, const char *what, const char *file, int line)
{
    if (status >= 0)
        return;
    print_message("# %s: %s\n", what, clvox_message());
    _fail(file, line);
}
