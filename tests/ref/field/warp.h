/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_FIELD_WARP_H
#define REF_FIELD_WARP_H

#include "op/field/warp.h"

enum { REF_NEAREST, REF_LINEAR, REF_CUBIC, REF_LABEL, REF_BSPLINE, REF_LANCZOS, REF_GAUSSIAN };

/* Position of output voxel (x, y, z), field planar on the output grid or NULL. */
void ref_position(const clv_map *map, const float *field, const int size[3], int x, int y, int z,
                  double p[3]);

/* The value of one frame at p. *unsure is set where a rounding of p by slack
 * could decide otherwise (border, nearest voxel, winning label). */
double ref_sample(const float *in, const int n[3], const double p[3], int kind, double outside,
                  double slack, int *unsure);

/* clv_warp; unsure: one flag a voxel. */
void ref_warp(const float *in, const int in_size[3], const clv_map *map, const float *field,
              int kind, double outside, double slack, double *out, int *unsure,
              const int out_size[3]);

#endif
