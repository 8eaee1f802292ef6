/* SPDX-License-Identifier: Apache-2.0 */
/* The negative gradient of the discrete energy of unbiased registration, in double. */
#ifndef REF_FLUID_FORCE_H
#define REF_FLUID_FORCE_H

#include "ref/fluid/energy.h"

/* force = -dE/du, planar, 3 values a voxel. */
void ref_force_gradient(const ref_energy_problem *problem, const double *u, double *force);

#endif
