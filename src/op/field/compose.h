/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FIELD_COMPOSE_H
#define CLV_OP_FIELD_COMPOSE_H

#include "op/field/warp.h"

/* Composition and resampling of displacement fields:
 *   out(i) = own u(i) + reorient w(p(i)),  p(i) = map of op/map.h,
 * w on its own grid, trilinear, outside of it zero or, with extend, its border's
 * vectors (a position that is not a number takes the first voxel's). */
typedef struct clv_compose_args {
    const clv_buffer *u; /* on out's grid; NULL: plain resampling of w, without own and the map's shift */
    float own;
    clv_image w;
    const clv_map *map;
    const float (*reorient)[3]; /* 3x3: brings w's vectors into the frame of the output */
    bool extend;
    clv_image out; /* not u or w */
} clv_compose_args;

int clv_compose(clvox_context *ctx, const clv_compose_args *args);

extern const clv_entry clv_entry_compose;

#endif
