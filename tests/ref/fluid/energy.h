/* SPDX-License-Identifier: Apache-2.0 */
/* The discrete energy of unbiased registration, in double. */
#ifndef REF_FLUID_ENERGY_H
#define REF_FLUID_ENERGY_H

typedef struct ref_energy_problem {
    const float *moving;
    int moving_size[3];
    const float *fixed;
    const float *mask; /* may be NULL */
    int size[3];
    double spacing[3];
    double linear[3][4], shift[3][3];
    double lambda;
} ref_energy_problem;

/* result: image term, sum (J - 1) log J, smallest J, number of J that are not
 * above 0. u is planar. Returns image + lambda * penalty. */
double ref_energy(const ref_energy_problem *problem, const double *u, double result[4]);

/* The same, and where gradient is not NULL, adds dE/du to it: every voxel gives
 * its part to the voxels that its differences look at. */
void ref_energy_walk(const ref_energy_problem *problem, const double *u, double result[4],
                     double *gradient);

#endif
