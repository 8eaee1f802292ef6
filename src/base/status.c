/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[2048];

int clvox_fail(clvox_status code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return code;
}

int clvox_fail_in(int code, const char *context)
{
    char inner[sizeof message];
    memcpy(inner, message, sizeof message);
    snprintf(message, sizeof message, "%s: %.1800s", context, inner);
    return code;
}

int clv_missing(const char *function, const char *names, const void *const *given, size_t count)
{
    size_t missing = 0;
    while (missing < count && given[missing])
        missing++;
    if (missing == count)
        return CLVOX_OK;
    for (; missing; missing--)
        names += strcspn(names, ",") + 2;
    return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: %.*s is NULL", function, (int)strcspn(names, ","), names);
}

int clv_out_of_memory(void)
{
    return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

const char *clvox_message(void)
{
    return message;
}

const char *clvox_version(void)
{
    return CLVOX_VERSION;
}
