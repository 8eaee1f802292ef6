/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FIELD_JACOBIAN_H
#define CLV_OP_FIELD_JACOBIAN_H

#include "runtime/runtime.h"

/* out = det(I + sign Du), or its natural logarithm when log is set (of
 * max(det, 1e-6)). (Du)_ij = d u_i / d x_j by the differences of clv_gradient.
 * field in mm along the grid's axes; sign is +1 for h = x + u, -1 for
 * h = x - u. */
int clv_jacobian(clvox_context *ctx, const clv_buffer *field, const int size[3],
                 const float spacing[3], float sign, bool log, clv_buffer *out);

extern const clv_entry clv_entry_jacobian;

#endif
