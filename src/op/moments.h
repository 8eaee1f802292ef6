/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_MOMENTS_H
#define CLV_OP_MOMENTS_H

#include "runtime/runtime.h"

/* Zeroth to second moments of the non-negative weights w over voxel indices:
 * result[0] = sum w, [1..3] = mean index (x, y, z), [4..9] = central second
 * moments xx xy xz yy yz zz in voxel^2 (divided by sum w). Blocking: the
 * result is on the host. All zero when sum w is 0. NaN, infinite and
 * negative weights count as 0. */
int clv_moments(clvox_context *ctx, const clv_buffer *w, const int size[3], double result[10]);

extern const clv_entry clv_entry_moments, clv_entry_moments_planes;

#endif
