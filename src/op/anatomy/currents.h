/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_ANATOMY_CURRENTS_H
#define CLV_OP_ANATOMY_CURRENTS_H

#include "runtime/runtime.h"

/* Elements that have a box around them; each buffer of elements has 8 floats for each
 * (centre, 0; unit normal, area), each buffer of boxes 8 for each block (least corner,
 * 0; greatest corner, 0). */
#define CLV_CURRENTS_BLOCK 256
/* Widths between two blocks beyond which their pairs are passed over: k is below 1e-13 there. */
#define CLV_CURRENTS_REACH 5.5
#define CLV_CURRENTS_BLOCKS(count) (((count) + CLV_CURRENTS_BLOCK - 1) / CLV_CURRENTS_BLOCK)

extern const clv_entry clv_entry_currents;

/* Elements of a surface, a curve or points. */
typedef struct clv_elements {
    const clv_buffer *element, *box;
    int count;
} clv_elements;

/* The inner product of targets and sources in the space of currents (or varifolds) with the kernel k(x, y) =
 * exp(-|x - y|^2 / width^2): sum_i sum_j k(x_i, y_j) a_i b_j (n_i . m_j)^p, p = 1 for currents (Ha 2011,
 * section 3.2.2), 2 for varifolds (Charon and Trouve 2013). All pairs are summed but those of blocks further
 * apart than CLV_CURRENTS_REACH widths; of a buffer and itself, without a gradient, each pair once for both
 * orders. */
typedef struct clv_currents_args {
    clv_elements target, source;
    float width;
    bool varifold;
    clv_buffer *partial;  /* CLV_CURRENTS_BLOCKS(target.count) floats: their sum is the product */
    clv_buffer *gradient; /* NULL: not wanted; 8 floats a target, to which is added, times factor: the product's
                             derivative by the centre, 0; sum k b p (n . m)^(p-1) m, which is its derivative by
                             the unit normal over a; and its derivative by a */
    float factor;
} clv_currents_args;

int clv_currents(clvox_context *ctx, const clv_currents_args *args);

/* The product that partial holds for so many targets. Blocking. */
int clv_currents_product(clvox_context *ctx, const clv_buffer *partial, int targets, double *product);

#endif
