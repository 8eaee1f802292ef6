/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_BASE_PARALLEL_H
#define CLV_BASE_PARALLEL_H

#include <stddef.h>

/* Host threads that clv_parallel uses: as set, else as many as this process
 * may run on. At least 1. */
int clv_threads(void);

/* Sets the number of host threads; 0 goes back to the default. To be called
 * before work starts. */
void clv_set_threads(int threads);

/* One piece of work. worker is below clv_threads() and no two pieces with the
 * same worker run at a time, so that it can index scratch memory. Returns 0
 * or a clvox_status with its sentence stored. */
typedef int (*clv_task)(void *user, size_t index, int worker);

/* Runs task for every index below count, handed out in rising order, in
 * clv_threads() threads including the caller's. After a failure no further
 * piece starts; the failure with the lowest index becomes the caller's. */
int clv_parallel(size_t count, clv_task task, void *user);

#endif
