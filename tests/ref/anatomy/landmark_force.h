/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_ANATOMY_LANDMARK_FORCE_H
#define REF_ANATOMY_LANDMARK_FORCE_H

#include <stdbool.h>

/* clv_landmark_track with planar fields: points 3 numbers each, those of the first image first; place and vector
 * likewise. Returns sum |a - b|^2 / count. */
double ref_landmark_track(const double *points, int count, const double *u, const double *second, const int size[3],
                          const double spacing[3], double weight, double *place, double *vector);

/* clv_landmark_force of `count` landmarks, their places and vectors. */
void ref_landmark_force(const double *place, const double *vector, int count, const float *sigma, double *force,
                        const int size[3]);

#endif
