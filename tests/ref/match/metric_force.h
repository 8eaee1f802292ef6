/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_MATCH_METRIC_FORCE_H
#define REF_MATCH_METRIC_FORCE_H

#include "op/match/metric_force.h"

/* clv_metric_force with planar fields; force holds what is kept on entry. unsure: one
 * flag a voxel, set where a rounding of the position by slack could decide
 * otherwise. */
void ref_metric_force(const float *moving, const int moving_size[3], const clv_map *map, const float *u,
              const float *derivative, double weight, double keep, const float *axes, double slack, double *force,
              int *unsure, const int size[3]);

/* sum over voxels of derivative(i) T(p(i)), whose derivative by u ref_metric_force claims to be. */
double ref_metric_force_sum(const float *moving, const int moving_size[3], const clv_map *map,
                    const float *u, const float *derivative, const int size[3]);

#endif
