/* SPDX-License-Identifier: Apache-2.0 */
/* The fluid's rate and its bounds, in double; fields are planar. */
#ifndef REF_FLUID_FLUID_STEP_H
#define REF_FLUID_FLUID_STEP_H

/* p = v - Du v; returns in bounds: the longest p in voxels, and the largest
 * Frobenius norm of (I + Du)^-1 Dp (1e19 where det(I + Du) is 1e-6 or less). */
void ref_fluid_rate(const double *u, const double *v, const int size[3], const double spacing[3],
                    double *p, double bounds[2]);

/* The smallest det(I + Du). */
double ref_fluid_least(const double *u, const int size[3], const double spacing[3]);

#endif
