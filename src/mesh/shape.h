/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes as elements, of whatever kind. */
#ifndef CLV_MESH_SHAPE_H
#define CLV_MESH_SHAPE_H

#include "clvox/shape.h"

typedef struct clv_shape_words {
    const char *noun;    /* "surface" */
    const char *element; /* "triangle" */
    const char *size;    /* "an area" */
} clv_shape_words;

/* NULL where there is no such kind. */
const clv_shape_words *clv_shape_words_of(clvox_shape_kind kind);

/* On success *out is the caller's; on failure NULL. */
int clv_shape_copy(const clvox_shape *shape, clvox_shape **out);

/* Centre, normal of a triangle or direction of a segment (0 where it has none; of a point 1, 0, 0), and
 * the area, length or weight. Corners have to be vertices. */
double clv_shape_element(const clvox_shape *shape, size_t element, double centre[3], double unit[3]);

/* Weight of a cloud's vertex; 0 for other kinds. */
double clv_shape_weight(const clvox_shape *shape, int32_t vertex);

/* Scale of the elements of a shape of that size, as currents: the weights of a cloud add up to one. */
double clv_shape_scale(const clvox_shape *shape, double size);

/* As clvox_shape_size, and CLVOX_ERROR_DATA for a shape of no size. */
int clv_shape_check(const clvox_shape *shape, double *size);

#endif
