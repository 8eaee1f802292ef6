/* SPDX-License-Identifier: Apache-2.0 */
/* Host threads of a context. */
#ifndef CLV_RUNTIME_HOST_H
#define CLV_RUNTIME_HOST_H

#include "clvox/device.h"

/* The first line of every public function that takes a context: until it returns, clvox_threads() and
 * clvox_parallel go by the context's number. */
#define CLV_HOST_THREADS(context)                                                          \
    const int threads_before_ __attribute__((cleanup(clv_context_threads_back), unused)) = \
        clv_context_threads(context)

int clv_context_threads(const clvox_context *context);
void clv_context_threads_back(const int *before);

#endif
