/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_BASE_STATUS_H
#define CLV_BASE_STATUS_H

#include "clvox/status.h"

/* Runs a call inside a function that has `int status` and a label `end`. */
#define CLV_TRY(call)            \
    do {                         \
        status = (call);         \
        if (status < 0)          \
            goto end;            \
    } while (0)

#endif
