/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_BASE_STATUS_H
#define CLV_BASE_STATUS_H

#include <stddef.h>

#include "clvox/status.h"

/* Runs a call inside a function that has `int status` and a label `end`. */
#define CLV_TRY(call)            \
    do {                         \
        status = (call);         \
        if (status < 0)          \
            goto end;            \
    } while (0)

/* The first line of a public function: the pointers that it needs. Where one is NULL a sentence names it, and
 * the function returns CLVOX_ERROR_ARGUMENT, or what _OR says. */
#define CLV_GIVEN(...) CLV_GIVEN_OR(CLVOX_ERROR_ARGUMENT, __VA_ARGS__)
#define CLV_GIVEN_OR(result, ...)                                                                       \
    do {                                                                                                \
        const void *const given_[] = {__VA_ARGS__};                                                     \
        if (clv_missing(__func__, #__VA_ARGS__, given_, sizeof given_ / sizeof *given_))                \
            return result;                                                                              \
    } while (0)
int clv_missing(const char *function, const char *names, const void *const *given, size_t count);

/* Returns CLVOX_ERROR_MEMORY, and says so. */
int clv_out_of_memory(void);

#endif
