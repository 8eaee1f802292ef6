/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_ATLAS_ROUNDS_H
#define CLV_ATLAS_ROUNDS_H

#include "atlas/run.h"

/* Rounds until there are `rounds`. */
int clv_atlas_run_until(clv_atlas_run *a, int rounds);
/* The maps go to the places where their subjects were given; those given twice have copies. */
int clv_atlas_hand_over(clv_atlas_run *a);

#endif
