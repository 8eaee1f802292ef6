/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FIELD_JACOBIAN_H
#define CLV_OP_FIELD_JACOBIAN_H

#include "op/image.h"

/* out = det(I + Du), of h = x + u, or its natural logarithm when log is set (of
 * max(det, 1e-6)). (Du)_ij = d u_i / d x_j by cl/common/difference.clh.
 * u in mm along the grid's axes. */
int clv_jacobian(clvox_context *ctx, const clv_image *u, bool log, clv_buffer *out);

extern const clv_entry clv_entry_jacobian;

#endif
