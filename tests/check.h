/* SPDX-License-Identifier: Apache-2.0 */
/* The test protocol: each case prints one TAP line; main returns check_end().
 *   CHECK_CASE("name") { ... CHECK(x == 3); ... }
 * A failed CHECK prints where and fails the case, which goes on. */
#ifndef CHECK_H
#define CHECK_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/status.h"

/* Weak: one copy for the test and the helpers that it is linked with, so that
 * a check fails the case whichever of them opened it. */
__attribute__((weak)) int check_cases, check_failures, check_failed_here;
__attribute__((weak)) char check_name[256], check_skip[256];

static inline void check_close(void)
{
    if (!check_name[0])
        return;
    check_cases++;
    if (check_failed_here)
        check_failures++;
    printf("%s %d - %s%s%s\n", check_failed_here ? "not ok" : "ok", check_cases, check_name,
           check_skip[0] ? " # SKIP " : "", check_skip);
    fflush(stdout);
    check_name[0] = check_skip[0] = 0;
    check_failed_here = 0;
}

/* Starts a case and ends the one before. */
#define CHECK_CASE(...)                                           \
    do {                                                          \
        check_close();                                            \
        snprintf(check_name, sizeof check_name, __VA_ARGS__);     \
    } while (0)

#define CHECK_SKIP(...) snprintf(check_skip, sizeof check_skip, __VA_ARGS__)

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition);            \
            check_failed_here = 1;                                              \
        }                                                                       \
    } while (0)

/* As CHECK, with a printf message that shows the values. */
#define CHECK_THAT(condition, ...)                                              \
    do {                                                                        \
        if (!(condition)) {                                                     \
            printf("# %s:%d: %s: ", __FILE__, __LINE__, #condition);            \
            printf(__VA_ARGS__);                                                \
            printf("\n");                                                       \
            check_failed_here = 1;                                              \
        }                                                                       \
    } while (0)

/* For what a test rests on and does not test: its failure ends the program. */
static inline void check_must(int status)
{
    if (status < 0) {
        printf("Bail out! %s\n", clvox_message());
        exit(1);
    }
}

static inline int check_end(void)
{
    check_close();
    printf("1..%d\n", check_cases);
    return check_failures ? 1 : 0;
}

#endif
