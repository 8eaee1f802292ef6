/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_SURFACE_MESH_DISTANCE_H
#define REF_SURFACE_MESH_DISTANCE_H

/* Squared distance from p to the triangle of three corners, 9 numbers. */
double ref_triangle_squared(const double corners[9], const double p[3]);

#endif
