/* SPDX-License-Identifier: Apache-2.0 */
/* The template as the average of what is seen through the maps. */
#ifndef CLV_ATLAS_AVERAGE_H
#define CLV_ATLAS_AVERAGE_H

#include "atlas/run.h"

/* A volume of a subject through its whole map (warp, affine), sampled once; outside it is NaN, labels 0. */
int clv_atlas_pull(clv_atlas_run *a, int device, const clv_atlas_member *s, const clvox_volume *volume,
                   clvox_interpolation interpolation, clvox_volume **out);
/* a->next from the images through their maps; and how like it they are, unless so many rounds to come will
 * tell anew. */
int clv_atlas_average(clv_atlas_run *a, int to_come);
/* Averages a further channel. */
int clv_atlas_average_further(clv_atlas_run *a, int channel);
/* The new template takes the place of the old one. */
int clv_atlas_replace(clv_atlas_run *a, clvox_atlas_round *round);

#endif
