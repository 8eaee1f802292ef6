/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FIELD_INVERSE_H
#define CLV_OP_FIELD_INVERSE_H

#include "op/image.h"

/* v with v(x) = -u(x + v(x)): x + v(x) is the inverse of x + u(x). u, trilinear
 * with its border's vectors going on beyond, and v are fields on one grid in mm
 * along its axes; v is not u. Each voxel is searched by itself, by Newton's
 * steps, until |v(x) + u(x + v(x))| is a thousandth of a voxel, or after `most`
 * looks at u: then v is the best that was found, as where no root exists. The
 * search starts from -u, or where warm is set from the v that is there: the
 * inverse of a map that has changed little takes two looks. */
int clv_inverse(clvox_context *ctx, const clv_image *u, int most, bool warm, clv_buffer *v);

extern const clv_entry clv_entry_inverse;

#endif
