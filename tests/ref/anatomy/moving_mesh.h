/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_ANATOMY_MOVING_MESH_H
#define REF_ANATOMY_MOVING_MESH_H

#include <stdbool.h>

/* Elements of the triangles (three vertices each) of vertices x, three numbers each, in mm. */
void ref_mesh_elements(const double *x, const int *corner, int triangles, float *element);

/* |S|^2 + |T|^2 - 2 <S, T> of the triangles S over vertices x and T over y, as currents or varifolds. */
double ref_mesh_energy(const double *x, const int *s, int s_count, const double *y, const int *t, int t_count, double width,
                       bool varifold);

/* Its derivative by x, of `vertices` vertices: triangle by triangle, by the rule of products. */
void ref_mesh_gradient(const double *x, int vertices, const int *s, int s_count, const double *y, const int *t, int t_count,
                       double width, bool varifold, double *gradient);

#endif
