/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_BASE_THREADS_H
#define CLV_BASE_THREADS_H

#include "clvox/threads.h"

/* From now on the calling thread, and those that it starts by clvox_parallel, work with so many; 0: as many
 * as the process. Returns what it was before. */
int clv_threads_own(int threads);

#endif
