/* SPDX-License-Identifier: Apache-2.0 */
/* The discrete energy of unbiased registration and its gradient, in double. */
#ifndef REF_FORCE_H
#define REF_FORCE_H

typedef struct ref_force {
    const float *moving;
    int moving_size[3];
    const float *fixed;
    const float *mask; /* may be NULL */
    int size[3];
    double spacing[3];
    double linear[3][4], shift[3][3];
    double lambda;
} ref_force;

/* result: image term, sum (J - 1) log J, smallest J, number of J that are not
 * above 0. u is planar. Returns image + lambda * penalty. */
double ref_force_energy(const ref_force *problem, const double *u, double result[4]);

/* force = -dE/du, planar, 3 values a voxel. */
void ref_force_gradient(const ref_force *problem, const double *u, double *force);

#endif
