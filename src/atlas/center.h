/* SPDX-License-Identifier: Apache-2.0 */
/* The mean map, which every round removes. */
#ifndef CLV_ATLAS_CENTER_H
#define CLV_ATLAS_CENTER_H

#include "atlas/run.h"

/* Removes the mean of the affines. */
int clv_atlas_center_affines(clv_atlas_run *a, clvox_atlas_round *round);
/* Before the registrations of a deformable round: the moves of the one before are gone. */
int clv_atlas_center_begin(clv_atlas_run *a);
void clv_atlas_center_end(clv_atlas_run *a);
/* Maps that have just been found and are on the device: the mean need not fetch them. */
int clv_atlas_center_add(clv_atlas_run *a, clv_atlas_member *s, int device, clv_buffer *const field[2]);
/* Removes the mean of the warps. */
int clv_atlas_center_warps(clv_atlas_run *a, clvox_atlas_round *round);

#endif
