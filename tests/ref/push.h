/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_PUSH_H
#define REF_PUSH_H

#include "op/push.h"

/* clv_push with planar fields; force holds what is kept on entry. unsure: one
 * flag a voxel, set where a rounding of the position by slack could decide
 * otherwise. */
void ref_push(const float *moving, const int moving_size[3], const clv_map *map, const float *u,
              const float *slope, double weight, double keep, double slack, double *force,
              int *unsure, const int size[3]);

/* sum over voxels of slope(i) T(p(i)), whose derivative by u ref_push claims to be. */
double ref_push_sum(const float *moving, const int moving_size[3], const clv_map *map,
                    const float *u, const float *slope, const int size[3]);

#endif
