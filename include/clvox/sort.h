/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting and prefix sums on the device, for arrays of the host and for buffers of any OpenCL program. */
#ifndef CLVOX_SORT_H
#define CLVOX_SORT_H

#include "clvox/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types of keys. Signed integers are two's complement. Floating-point keys are in the order -infinity .. -0, +0 ..
 * +infinity, and every NaN after that. */
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

/* The same in place for buffers of the device: keys and values (NULL: none) are cl_mem of the context's cl_context
 * (clvox_context_adopt), of count keys and of count words of 32 bits, and stay the caller's. Scratch of the same bytes
 * is taken and given back. When it returns, everything before it in the queue and the sort itself are done. */
CLVOX_API int clvox_sort_buffer(clvox_context *context, clvox_sort_kind kind, void *keys, void *values, size_t count);

/* Prefix sums of count integers, signed or not, of 32 or 64 bits, modulo 2^bits, exact: out[i] = in[0] + ... +
 * in[i - 1], and in[i] too where inclusive. segments, of 32 bits an element (NULL: one segment): sums restart
 * where one differs from the one before it. out may be in; all three are arrays of the host. count is at most 2^31 - 1.
 * CLVOX_ERROR_ARGUMENT, CLVOX_ERROR_MEMORY or CLVOX_ERROR_DEVICE. */
CLVOX_API int clvox_scan(clvox_context *context, int bits, const void *in, const void *segments, size_t count,
                         bool inclusive, void *out);

/* The same of cl_mem, which belong and wait as those of clvox_sort_buffer. */
CLVOX_API int clvox_scan_buffer(clvox_context *context, int bits, void *in, void *segments, size_t count, bool inclusive,
                                void *out);

#ifdef __cplusplus
}
#endif

#endif
