/* SPDX-License-Identifier: Apache-2.0 */
/* Host threads: how many the library uses, and a loop over them for a program's own work. */
#ifndef CLVOX_THREADS_H
#define CLVOX_THREADS_H

#include <stddef.h>

#include "clvox/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Host threads that the library uses in the calling thread, at least 1. While a function that takes a context
 * is at work: as the context says (its options' threads). Else as set for the thread (clvox_threads_own).
 * Where that does not say: as set for the process, or as many as this process may run on. */
CLVOX_API int clvox_threads(void);

/* Sets the number for the whole process: of functions without a context, and of contexts that do not say. 0
 * goes back to the default. To be called before work starts. No result depends on it. */
CLVOX_API void clvox_threads_set(int threads);

/* The same for the calling thread alone, and for what it begins by clvox_parallel, until the next call: for
 * one of several jobs that run side by side. 0, as a thread begins: as many as the process. Returns the
 * thread's number before (0: none of its own), to be set again at the job's end. Functions that take a
 * context do not go by it, and leave it as it is. */
CLVOX_API int clvox_threads_own(int threads);

/* One piece of work. worker is below clvox_threads() and no two pieces with the same worker run at a time, so
 * that it can index scratch memory. Returns 0, or a clvox_status with its sentence stored (clvox_fail). */
typedef int (*clvox_task)(void *user, size_t index, int worker);

/* Runs task for every index below count, handed out in rising order, in clvox_threads() threads including the
 * caller's. After a failure no further piece starts; the failure with the lowest index, and its sentence,
 * become the caller's. */
CLVOX_API int clvox_parallel(size_t count, clvox_task task, void *user);

#ifdef __cplusplus
}
#endif

#endif
