/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_PAPERS_TENSOR_TV_H
#define REF_PAPERS_TENSOR_TV_H

#include <stdbool.h>

#include "bench/papers/op/tensor_tv.h"

/* The model of bench/papers/op/tensor_tv.h in double precision, straight from its
 * formulas. Fields are 6 n values, planar; mask may be NULL. */
typedef struct ref_tensor_tv {
    int size[3];
    double w[3];
    const float *mask;
    const float *data;
    clv_tensor_coupling coupling;
    double lambda, eps, dt, floor;
    int low[3], high[3]; /* the block that steps and whose variations count; high 0: all */
    bool alone;          /* no slopes across its border */
} ref_tensor_tv;

/* Sums of the six entries' total variations (may be NULL) and the energy. */
double ref_tensor_energy(const ref_tensor_tv *m, const double *d, double tv[6]);

/* dE/dL of D = L L^T, six values of the lower triangle (00 10 20 11 21 22). */
void ref_tensor_gradient(const ref_tensor_tv *m, const double *d, const double *l, double *gradient);

/* The lower triangle of one tensor. */
void ref_tensor_factor(const double d[6], double l[6]);
void ref_tensor_product(const double l[6], double d[6]);

/* A step; d becomes the field after it. */
void ref_tensor_step(const ref_tensor_tv *m, double *d);

#endif
