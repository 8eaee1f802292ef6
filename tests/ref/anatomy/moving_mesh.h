/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_ANATOMY_MOVING_MESH_H
#define REF_ANATOMY_MOVING_MESH_H

#include <stdbool.h>

/* Triangles (3 corners), segments (2) or points (1) of vertices x, three numbers each, in mm. */
typedef struct ref_mesh {
    int corners, vertices, elements;
    const double *x;
    const int *corner;    /* `corners` vertices of each element */
    const double *weight; /* of each vertex, where elements are points */
} ref_mesh;

void ref_mesh_elements(const ref_mesh *mesh, float *element);

/* |S|^2 + |T|^2 - 2 <S, T> as currents or varifolds. */
double ref_mesh_energy(const ref_mesh *s, const ref_mesh *t, double width, bool varifold);

/* Its derivative by the vertices of s: element by element, by the rule of products. */
void ref_mesh_gradient(const ref_mesh *s, const ref_mesh *t, double width, bool varifold, double *gradient);

#endif
