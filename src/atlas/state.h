/* SPDX-License-Identifier: Apache-2.0 */
/* A run's state in the folder options->state. Without one these do nothing. */
#ifndef CLV_ATLAS_STATE_H
#define CLV_ATLAS_STATE_H

#include "atlas/run.h"

/* Takes over what an earlier run had done in whole rounds. Refuses a state of another run. */
int clv_atlas_state_open(clv_atlas_run *a);
/* The maps of a subject that this round has registered, unless that takes too much of the time. */
int clv_atlas_state_keep(clv_atlas_run *a, const clv_atlas_member *s);
/* 1 where an earlier run had them: then they are the subject's now, as if this device had found them;
 * else 0. */
int clv_atlas_state_find(clv_atlas_run *a, clv_atlas_member *s, int device);
/* A round is over, and another follows. */
int clv_atlas_state_advance(clv_atlas_run *a);
/* Waits for what is being written: no function of a state may follow but clvox_atlas_forget. What cannot be
 * written now is reported in the result. */
void clv_atlas_state_end(clv_atlas_run *a);
/* After the end of a run that has succeeded: what the first member that could not write has to tell, all
 * tell. */
int clv_atlas_state_share_end(clv_atlas_run *a);
/* The figures of a template of a regression: kept once it has been taken, and found again. */
int clv_atlas_state_keep_template(const clv_atlas_run *a);
int clv_atlas_state_find_template(const clv_atlas_run *a, int at, clvox_atlas_result *r);

#endif
