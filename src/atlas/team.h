/* SPDX-License-Identifier: Apache-2.0 */
/* Teams: without one these do nothing, and every subject is mine. */
#ifndef CLV_ATLAS_TEAM_H
#define CLV_ATLAS_TEAM_H

#include "atlas/run.h"

/* As clvox_team_agree; the second: whether each has memory that it asked for. */
int clv_atlas_agree(const clv_atlas_run *a, int status);
int clv_atlas_have(const clv_atlas_run *a, bool memory);
bool clv_atlas_is_mine(const clv_atlas_run *a, const clv_atlas_member *s);
/* Gives the subjects that take part to the members in turn, unless each has its own. */
void clv_atlas_deal(clv_atlas_run *a);
/* Whether each member has images of its own: then what it knows of them becomes known to all, first their
 * contents, then what is known once they are on one scale. */
int clv_atlas_share_contents(clv_atlas_run *a);
int clv_atlas_share_scaled(clv_atlas_run *a);
/* All that a member knows of its subjects, but warps, all know then. CLVOX_ERROR_DATA: none is left. */
int clv_atlas_share(clv_atlas_run *a);
/* The first member's matrices and weights become those of all: versions of libm may differ in a last bit. */
int clv_atlas_settle(clv_atlas_run *a);
int clv_atlas_total(const clv_atlas_run *a, int64_t *values, size_t count);
int clv_atlas_spread(const clv_atlas_run *a, int from, void *bytes, size_t size);
/* A volume of a grid and number of frames that one member has becomes all members'. */
int clv_atlas_spread_volume(const clv_atlas_run *a, int from, int frames, clvox_kind kind, clvox_volume **v);

#endif
