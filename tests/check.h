/* SPDX-License-Identifier: Apache-2.0 */
/* Tests by cmocka: main names the cases, each a function of its own, and runs them as one group.
 *   static void adds_up(void **state) { (void)state; assert_int_equal(1 + 1, 2); }
 *   int main(void) { test_case(adds_up, "one and one are two"); return test_run("sums", NULL); }
 * Cases run in the order in which they were named. What they share is made by a fixture (test_set_up),
 * or for each of them (test_each).
 * CLVOX_TEST_ONLY=PATTERN runs those whose name matches ('*' and '?'), CLVOX_TEST_SHUFFLE=SEED draws their order. */
#ifndef CHECK_H
#define CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clvox/status.h"

/* Names a case as by printf. */
void test_case(CMUnitTestFunction function, const char *name, ...) __attribute__((format(printf, 2, 3)));
/* A generated case: *state is a copy of the data, mostly of the indices of loops that named it:
 *   test_case_at(adds, TEST_AT(i, k), "%d and %d", i, k);
 *   static void adds(void **state) { const int *at = *state; int i = at[0], k = at[1]; ... } */
void test_case_at(CMUnitTestFunction function, const void *data, size_t bytes, const char *name, ...)
    __attribute__((format(printf, 4, 5)));
#define TEST_AT(...) (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__})
/* With CLVOX_TEST_FEW set, only the first and the last of the cases of a function run; their fixtures run for all. */
/* The same of a struct of what a case works on. */
#define TEST_OF(object) &(object), sizeof(object)

/* Options of a context. */
#define CONTEXT_OPTIONS(...) &(clvox_context_options){.size = sizeof(clvox_context_options), __VA_ARGS__}

/* Set-up of the case that was named last, with data of its own (copied). */
void test_before(CMUnitTestFunction before, const void *data, size_t bytes);

/* A fixture: set_up runs before the case that is named next, and where it fails, so do the cases up to
 * the one named last when test_tear_down is called; tear_down runs after that one. */
void test_set_up(CMFixtureFunction set_up);
void test_tear_down(CMFixtureFunction tear_down);

/* The same around each of the cases that are named from here on: what they change is made anew for the next.
 * NULL and NULL end it. */
void test_each(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* Runs after every case, failed or not. */
void test_after_each(CMFixtureFunction function);

/* Runs what was named, then tear_down (may be NULL); returns what main returns. */
int test_run(const char *group, CMFixtureFunction tear_down);

/* Ends the case as skipped, with a reason as by printf. */
_Noreturn void test_skip(const char *reason, ...) __attribute__((format(printf, 1, 2)));
/* For main, where nothing can run: says that and returns what main returns. */
int test_skip_all(const char *reason, ...) __attribute__((format(printf, 1, 2)));

/* As assert_true, with a printf message that shows the values. */
#define assert_that(condition, ...)                                             \
    do {                                                                        \
        if (!(condition)) {                                                     \
            print_message("# %s: ", #condition);                                \
            print_message(__VA_ARGS__);                                         \
            print_message("\n");                                                \
            _fail(__FILE__, __LINE__);                                          \
        }                                                                       \
    } while (0)

/* A status of the library that says no failure; where it does, the library's message is shown. */
#define assert_ok(status) test_status(status, #status, __FILE__, __LINE__)
void test_status(int status, const char *what, const char *file, int line);

#endif
