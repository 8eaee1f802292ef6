/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_CAUCHY_H
#define CLV_OP_PAPERS_CAUCHY_H

#include "op/anatomy/currents.h"

/* clv_currents with the Cauchy kernel k(x, y) = 1 / (1 + |x - y|^2 / width^2) of Ha 2011, equation 3.6, over
 * all pairs. out: 8 floats a target: the product's derivative by the centre, the target's share of the
 * product; sum k b m, 0. Boxes are not read. */
int clv_cauchy(clvox_context *ctx, const clv_elements *target, const clv_elements *source, float width,
               clv_buffer *out);

extern const clv_entry clv_entry_cauchy;

#endif
