/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_SURFACE_LEVEL_DISTANCE_H
#define CLV_OP_SURFACE_LEVEL_DISTANCE_H

#include "op/image.h"

/* out = the signed distance, in the unit of the image's spacing, to where values cross iso;
 * negative where values are above it. Between voxels values are linear, so that
 * a mask's surface lies half-way between voxels (iso 0.5) and a grey-level one
 * where its values say. Exact for that surface within ten voxels, to the closest
 * of its points at voxels beyond, at most reach; without a crossing +-reach.
 * NaN lies outside. Beyond the grid the outermost cells go on. scratch:
 * clv_redistance_bytes. The same bits run after run. CLVOX_ERROR_ARGUMENT for
 * an axis of more than 2040 voxels. */
int clv_level_distance(clvox_context *ctx, const clv_image *values, float iso, float reach, clv_buffer *out,
                       clv_buffer *scratch);

extern const clv_entry clv_entry_level_distance_near, clv_entry_level_distance_finish;

#endif
