/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy matching and LDDMM of Ha 2011 by the references of their parts; fields are planar. */
#ifndef REF_PAPERS_MATCHING_H
#define REF_PAPERS_MATCHING_H

#include "op/fluid/fluid_operator.h"

/* v = K (weight (target - image) grad image); weight NULL: 1. */
void ref_greedy_velocity(const clv_fluid_operator *op, const float *image, const float *target,
                         const float *weight, double *v);
/* out = own v + u o (x + own v), own 1 or -1. */
void ref_greedy_move(const int size[3], const float *v, float own, const float *u, float *out);
void ref_greedy_deform(const int size[3], const float *image, const float *u, float *out);

/* One iteration of the velocities v, one step of 3 n after another. */
void ref_lddmm_iterate(const clv_fluid_operator *op, int steps, float sigma, float epsilon, const float *i0,
                       const float *i1, float *v);

#endif
