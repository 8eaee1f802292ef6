/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting on the device. */
#ifndef CLVOX_SORT_H
#define CLVOX_SORT_H

#include "clvox/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What keys are. Signed integers are two's complement. Floating-point keys are in the
 * order -infinity .. -0, +0 .. +infinity, and every NaN after that. */
typedef enum clvox_sort_kind {
    CLVOX_SORT_UINT32 = 0,
    CLVOX_SORT_INT32,
    CLVOX_SORT_FLOAT32,
    CLVOX_SORT_UINT64,
    CLVOX_SORT_INT64,
    CLVOX_SORT_FLOAT64
} clvox_sort_kind;

/* Sorts count keys of host memory in ascending order, and values, of 32 bits each, with
 * them (NULL: none). Stable: equal keys keep their order, NaNs too, and so the result is
 * the same on every device. count is at most 2^31 - 1. The device needs twice the bytes
 * of keys and values. CLVOX_ERROR_ARGUMENT, CLVOX_ERROR_MEMORY or CLVOX_ERROR_DEVICE leave
 * the arrays as they were. */
CLVOX_API int clvox_sort(clvox_context *context, clvox_sort_kind kind, void *keys, void *values, size_t count);

#ifdef __cplusplus
}
#endif

#endif
