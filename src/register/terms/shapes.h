/* SPDX-License-Identifier: Apache-2.0 */
/* Surfaces, curves and clouds of points as terms of a deformation. A model raises
 *   metric a voxel - sum over kinds of weight mean_i |S_i - T_i|^2 / (|S_i|^2 + |T_i|^2),
 * S_i and T_i the shapes of one kind in the moving and in the fixed image as currents or varifolds, where
 * the maps lead to them in the middle (of one-sided models the fixed image), after the linear part. The
 * norms below are those of the shapes before the deformation, so that they do not change on the way.
 * They are the term clv_term_shapes. */
#ifndef CLV_REGISTER_SHAPES_H
#define CLV_REGISTER_SHAPES_H

#include "register/terms/points.h"

/* Which of the options are a kind's. */
typedef struct clv_shape_row {
    const char *takes; /* the weight, as the table calls it */
    size_t weight;     /* where it is in clvox_register_options, a double */
    size_t comparison; /* likewise, a clvox_surface_kind; 0: there is none */
} clv_shape_row;

/* Whether it is compared as a varifold. */
bool clv_shape_varifold(const clvox_register_options *options, clvox_shape_kind kind);

/* CLVOX_ERROR_ARGUMENT, or CLVOX_ERROR_DATA with which one it is, where shapes are none. */
int clv_shapes_check(const clvox_register_images *images);

/* From images, of which shapes alone are looked at. */
void clv_shapes_describe(clv_registration *run, const clvox_register_images *images);
int clv_shapes_requests(clv_registration *run, clv_request *list);
/* Bytes that placing shapes needs beside those for a moment, and meshes for a level. */
size_t clv_shapes_own_bytes(const clv_registration *run);

/* Width of the kernel on that grid, mm. */
double clv_shapes_width(const clvox_register_options *options, const clvox_grid *grid, int index);

/* Fills by_element of one side: the derivative of -2 <S, T> by all pairs; and what is added to it: that of the
 * side's own product, which makes it the energy's. */
int clv_shape_derive(clv_registration *run, clv_shape_term *term, int side);
int clv_shape_derive_own(clv_registration *run, clv_shape_term *term, int side);

/* All three products by all pairs, where the elements lie. */
int clv_shape_multiply_all(clv_registration *run, clv_shape_term *term);

/* |S - T|^2 as the last sums found it. Blocking. */
int clv_shape_energy(clv_registration *run, const clv_shape_term *term, double *energy);

/* Releases the terms' own buffers. */
void clv_shapes_release(clv_registration *run);

#endif
