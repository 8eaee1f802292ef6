/* SPDX-License-Identifier: Apache-2.0 */
/* Steps for every subject, shared among devices, and their progress. */
#ifndef CLV_ATLAS_STEPS_H
#define CLV_ATLAS_STEPS_H

#include "atlas/team.h"

/* The devices of a run, from the call and its options: refuses those that differ. */
int clv_atlas_devices_open(clv_atlas_run *a, clvox_context *first);
void clv_atlas_devices_close(clv_atlas_run *a);
/* The same for each device, on a thread of its own. A failure is reported as by clv_atlas_each. */
int clv_atlas_every(clv_atlas_run *a, int (*take)(clv_atlas_run *a, int device, void *user), void *user);

/* A step reads these of a subject. Those that options->store has on disk are fetched before its turn, and
 * give their memory back after it. */
enum { CLV_ATLAS_IMAGE = 1, CLV_ATLAS_WARPS = 2, CLV_ATLAS_LABELS = 4 };

/* Work on each subject by itself. */
typedef struct clv_atlas_step {
    int (*take)(clv_atlas_run *a, clv_atlas_member *s, int device, void *user);
    void *user;
    double work;           /* against a registration */
    clvox_atlas_work name; /* CLVOX_ATLAS_WORKS: it is not timed */
    /* CLV_ATLAS_IMAGE and so on; with CLV_ATLAS_WARPS the device that has the maps takes it. */
    unsigned reads;
    bool all;  /* also of those that take no part */
} clv_atlas_step;
/* Takes the step for every subject, on the device that is free first, a thread each. A failure stops the
 * others; its sentence, of several the first subject's, becomes the caller's. */
int clv_atlas_each(clv_atlas_run *a, const clv_atlas_step *step);
/* Tells the progress; share: of the registration that is under way on the device. CLVOX_ERROR_STOPPED */
int clv_atlas_told(clv_atlas_run *a, int device, double share);
/* Tells what took the time since `mark` (clv_seconds). */
void clv_atlas_timed(clv_atlas_run *a, clvox_atlas_work work, double mark);

#endif
