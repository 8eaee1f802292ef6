/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_ATLAS_SUBJECTS_H
#define CLV_ATLAS_SUBJECTS_H

#include "atlas/run.h"

/* Sorts the subjects, finds those given twice, brings them to one scale and finds the grid and where they
 * begin on it. */
int clv_atlas_gather(clv_atlas_run *a, const clvox_atlas_subject *subjects);

#endif
