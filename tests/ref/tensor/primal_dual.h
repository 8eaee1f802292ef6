/* SPDX-License-Identifier: Apache-2.0 */
/* Total variation of tensor fields in double precision, all nine entries and
 * the mask itself, voxel by voxel. */
#ifndef REF_TENSOR_PRIMAL_DUAL_H
#define REF_TENSOR_PRIMAL_DUAL_H

#include <stdbool.h>

typedef struct ref_tensor_pd {
    int size[3];
    double weight[3];
    double lambda, floor; /* floor below 0: none */
    bool paper;
    const float *mask;    /* NULL: everywhere */
    const double *share;  /* a voxel's of the total variation, local alone; NULL: 1 */
    const double *data;   /* 9 a voxel */
} ref_tensor_pd;

/* Six planes and nine entries a voxel. */
void ref_tensor_unpack(const float *planes, int n, double *nine);

/* sum |grad D|_F or the root of the squared sums, and 1/2 |D - f|^2. */
void ref_tensor_pd_energy(const ref_tensor_pd *r, const double *d, double *variation, double *fit);

/* The nearest symmetric matrix with eigenvalues not below least. */
void ref_tensor_project(double d[9], double least);
/* log or exp by the eigenvalues. */
void ref_tensor_log(double d[9], double least, bool back);

/* contrast / (contrast + |grad D|_F) of each voxel. */
void ref_tensor_share(const ref_tensor_pd *r, const double *d, double contrast, double *share);

/* One iteration of algorithm 2 of Chambolle and Pock: d, ahead 9 n, dual 27 n
 * (entry by entry, three differences); radius: of the nine entries. */
void ref_tensor_pd_step(const ref_tensor_pd *r, double tau, double sigma, double theta, const double radius[9],
                        double *d, double *ahead, double *dual);
/* radius: TV[d_ij] / the root of the squared sums, the even one for constants. */
void ref_tensor_radius(const ref_tensor_pd *r, const double *d, double radius[9]);

/* A long accelerated descent on the energy with |.| smoothed by eps inside the
 * root, projected after each step; d is the start and the result. */
void ref_tensor_descend(const ref_tensor_pd *r, double eps, int steps, double *d);

#endif
