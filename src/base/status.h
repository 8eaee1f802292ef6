/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_BASE_STATUS_H
#define CLV_BASE_STATUS_H

#include "clvox/status.h"

/* Stores the sentence for clvox_message and returns code, so that a failure
 * is one statement: return clv_fail(CLVOX_ERROR_FILE, "%s: ...", path). */
int clv_fail(clvox_status code, const char *format, ...) CLVOX_PRINTF(2, 3);

/* Puts "context: " before the current sentence; returns code. */
int clv_fail_in(int code, const char *context);

/* Runs a call inside a function that has `int status` and a label `end`. */
#define CLV_TRY(call)            \
    do {                         \
        status = (call);         \
        if (status < 0)          \
            goto end;            \
    } while (0)

#endif
