/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes as the elements of currents and varifolds, on the device. */
#ifndef CLV_ANATOMY_ELEMENTS_H
#define CLV_ANATOMY_ELEMENTS_H

#include "clvox/shape.h"
#include "op/anatomy/currents.h"

/* Elements on the device, in an order in which neighbours in space lie near one another. */
typedef struct clv_element_set {
    clv_buffer *element, *box;
    int count;
    double bounds[2][3]; /* least and greatest centre; 0 without elements */
    double largest;      /* size */
} clv_element_set;

/* The order of elements along a Morton curve through the box of all. */
int clv_element_order(clvox_context *ctx, const float *element, int count, uint32_t *order);

/* clv_shape_element of each, times scale; those without size are left out.
 * Positions are relative to `origin`, so that float32 holds them well. CLVOX_ERROR_DATA
 * where a point is no number. Release with clv_element_set_release, also after a failure. */
int clv_element_set_create(clvox_context *ctx, const clvox_shape *shape, double scale, const double origin[3],
                           clv_element_set *out);
void clv_element_set_release(clv_element_set *set);

/* Every step-th element, dealt out to so many sets, each of which is spread over all of the surface. To be
 * released, also after a failure. Blocking. */
int clv_element_set_deal(clvox_context *ctx, const clv_element_set *set, int step, int sets,
                         clv_element_set *out);

/* The pairs of elements that clv_currents looks at. Blocking. */
int clv_element_pairs(clvox_context *ctx, const clv_element_set *a, const clv_element_set *b, double width,
                      double *pairs);

/* The elements as clv_currents takes them. */
clv_elements clv_element_set_view(const clv_element_set *set);

#endif
