/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_ANATOMY_PARTICLE_MESH_H
#define REF_ANATOMY_PARTICLE_MESH_H

#include "op/anatomy/particle_mesh.h"

/* By the definition. What a grid holds is planar, 6 numbers a node; of currents the last three stay 0. */

/* Adds to held; returns the number of elements left out. */
int ref_mesh_splat(const clv_particle_mesh *mesh, const float *element, int count, double factor,
                   double *held);
/* Periodic sums along each axis. */
void ref_mesh_convolve(const clv_particle_mesh *mesh, double *held);
/* The product; gradient as of ref_currents. */
double ref_mesh_read(const clv_particle_mesh *mesh, const double *held, const float *target, int targets,
                     double *gradient);

#endif
