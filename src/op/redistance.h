/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_REDISTANCE_H
#define CLV_OP_REDISTANCE_H

#include "runtime/runtime.h"

/* out = the signed distance to the zero level of phi, sign as phi's, |grad out|
 * = 1 with the voxel edges `spacing` (out is in their unit). The voxels beside
 * the zero level take their distance from phi by a sub-voxel fit, so that the
 * level stays where it is; the others solve the eikonal equation outward, exact
 * to first order or better, out to `reach` (in the unit of spacing), beyond
 * which out is +-reach or farther. phi without a zero level: out = +-reach
 * everywhere. NaN counts as outside. out is not phi. scratch:
 * clv_redistance_bytes. The same bits run after run. */
int clv_redistance(clvox_context *ctx, const clv_buffer *phi, const int size[3], const float spacing[3],
                   float reach, clv_buffer *out, clv_buffer *scratch);

size_t clv_redistance_bytes(const int size[3]);

#endif
