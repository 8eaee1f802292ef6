/* SPDX-License-Identifier: Apache-2.0 */
/* The term of a shape by a particle mesh in place of all pairs. Both shapes are splatted at once, one with
 * the other sign: one convolution of S - T gives the energy, <S, S - T> - <T, S - T>, and both derivatives,
 * 2 and -2 times what is read at the elements, so that they are those of the energy as computed. */
#ifndef CLV_REGISTER_SHAPE_MESH_H
#define CLV_REGISTER_SHAPE_MESH_H

#include "register/terms/shapes.h"

/* Buffers in which the terms' meshes work, if a mesh may pay; returns their number. */
int clv_shape_mesh_requests(clv_registration *run, clv_request *list);

/* Whether the term goes by a mesh on this level, whose width counts, from the elements as they lie: AUTO
 * where that is likely to take less than half of the time and all pairs agree within the error, MESH always.
 * The mesh's grid is made finer until they agree. CLVOX_ERROR_DATA or CLVOX_ERROR_MEMORY where MESH cannot
 * be. on: the level's grid. Blocking. */
int clv_shape_mesh_choose(clv_registration *run, clv_shape_term *term, const clv_image *on);

/* partial[0] and [1]: the products of the moving and of the fixed shape with their difference; and
 * by_element of the sides that are wanted. */
int clv_shape_mesh_sums(clv_registration *run, clv_shape_term *term, const bool wanted[2]);

/* Whether elements have left the grid since the level began; then the term no longer goes by the mesh.
 * Blocking. */
int clv_shape_mesh_left(clv_registration *run, clv_shape_term *term, bool *left);

void clv_shape_mesh_drop(clv_shape_term *term);

#endif
