/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_RECURSIVE_H
#define CLV_OP_IMAGE_RECURSIVE_H

#include "runtime/runtime.h"

/* out = Gaussian of sigma voxels of in along one axis (0, 1, 2), by the 4th-
 * order recursion of Deriche (1993): its kernel is within 1e-3 of the
 * Gaussian's peak for sigma >= 0.5. The time does not depend on sigma. The
 * border value is repeated. A NaN takes its whole line. in and out are
 * distinct. Callers use clv_gaussian, which checks arguments. */
int clv_recursive(clvox_context *ctx, const clv_buffer *in, const int size[3], bool vectors, int axis,
                  float sigma, clv_buffer *out);

extern const clv_entry clv_entry_recursive_x;    /* lines along x */
extern const clv_entry clv_entry_recursive_axis; /* lines along y or z */

#endif
