/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_FIELD_COMPOSE_H
#define REF_FIELD_COMPOSE_H

#include "op/field/compose.h"

/* Trilinear value of component c of a planar field at p within [0, n - 1], by
 * the definition: the sum over all voxels near p of
 * (1 - |dx|)(1 - |dy|)(1 - |dz|) times the value. */
double ref_component(const float *w, const int n[3], const double p[3], int c);

/* clv_compose with planar fields. unsure: one flag a voxel, set where a
 * rounding of the position by slack could decide otherwise. */
void ref_compose(const float *u, double own, const float *w, const int w_size[3], const clv_map *map,
                 const float reorient[3][3], bool extend, double slack, double *out, int *unsure,
                 const int out_size[3]);

#endif
