/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of the template, by vote. */
#ifndef CLV_ATLAS_VOTE_H
#define CLV_ATLAS_VOTE_H

#include "atlas/run.h"

/* The labels of the result; none where no subject has labels. */
int clv_atlas_vote(clv_atlas_run *a);
/* These through the inverse of a subject's map, whose warps are volumes of the result by now. */
int clv_atlas_label(clv_atlas_run *a, clv_atlas_member *s, int device);

#endif
