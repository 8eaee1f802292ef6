/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FIELD_COMPOSE_H
#define CLV_OP_FIELD_COMPOSE_H

#include "op/field/warp.h"

/* Composition and resampling of displacement fields:
 *   out(i) = own u(i) + reorient w(p(i)),  p(i) = map of op/field/warp.h,
 * w on its own grid, trilinear, zero outside. u, on out's grid, may be NULL (then
 * the map's shift and `own` do not count: plain resampling of w). reorient is a
 * 3x3 matrix that brings w's vectors into the frame of the output. out may
 * not be u or w. */
int clv_compose(clvox_context *ctx, const clv_buffer *u, float own, const clv_image *w, const clv_map *map,
                const float reorient[3][3], const clv_image *out);

/* The same with w's border vectors repeated outside of its grid. A position
 * that is not a number takes the first voxel's. */
int clv_compose_extended(clvox_context *ctx, const clv_buffer *u, float own, const clv_image *w,
                         const clv_map *map, const float reorient[3][3], const clv_image *out);

extern const clv_entry clv_entry_compose;

#endif
