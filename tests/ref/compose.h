/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_COMPOSE_H
#define REF_COMPOSE_H

#include "op/compose.h"

/* clv_compose with planar fields. unsure: one flag a voxel, set where a
 * rounding of the position by slack could decide otherwise. */
void ref_compose(const float *u, double own, const float *w, const int w_size[3],
                 const clv_map *map, const float turn[3][3], double slack, double *out,
                 int *unsure, const int out_size[3]);

#endif
