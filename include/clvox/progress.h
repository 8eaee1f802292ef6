/* SPDX-License-Identifier: Apache-2.0 */
/* How long-running functions report progress and are stopped. */
#ifndef CLVOX_PROGRESS_H
#define CLVOX_PROGRESS_H

#ifdef __cplusplus
extern "C" {
#endif

/* How far the work is. */
typedef struct clvox_step {
    const char *stage;    /* what is being done: "deformation", "permutations"; static */
    double fraction;      /* of the whole, or of the stage if the function says so: 0 to 1, never falling */
    int level, iteration; /* of a deformation, from 0; -1 where there are none */
    double metric;        /* at this iteration; NAN where there is none */
} clvox_step;

/* Is called from time to time, in the thread that called the function unless that says otherwise. A result
 * other than 0 stops the work, and the function returns CLVOX_ERROR_STOPPED. step is of no use afterwards. */
typedef int (*clvox_progress)(void *user, const clvox_step *step);

#ifdef __cplusplus
}
#endif

#endif
