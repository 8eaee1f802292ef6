/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_BASE_PROGRESS_H
#define CLV_BASE_PROGRESS_H

#include <math.h>
#include <stdbool.h>

#include "clvox/progress.h"

/* Tells a program how far a stage is; true where it wants to stop. progress NULL: nobody wants to know. */
static inline bool clv_progress_stage(clvox_progress progress, void *user, const char *stage, double fraction)
{
    const clvox_step step = {
        .stage = stage, .fraction = fraction, .level = -1, .iteration = -1, .metric = (double)NAN};
    return progress && progress(user, &step);
}

#endif
