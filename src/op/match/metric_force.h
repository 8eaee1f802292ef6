/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_MATCH_METRIC_FORCE_H
#define CLV_OP_MATCH_METRIC_FORCE_H

#include "op/field/warp.h"
#include "op/image.h"

/* The force with which a metric moves the displacement: by the chain rule
 *   force(i) = keep force(i) + weight derivative(i) map.shift^T dT/dp (p(i)),
 * p(i) = map.linear (i, 1) + map.shift u(i), derivative = dS/dT(p(i)) as the metric
 * gave it, T trilinear, dT/dp the interpolant's own derivative at p (the one to
 * the right at a voxel's centre, to the left at the last one, 0 along an axis
 * on which p is outside); 0 more than half a voxel outside of T and
 * where one of the eight corners that count is not finite. So force = dS/du,
 * per mm. u may be NULL (then u = 0, map.shift still counts). force is not u;
 * keep 0 does not read it. */
typedef struct clv_metric_force_args {
    clv_image moving; /* T */
    const clv_map *map;
    const clv_buffer *u, *derivative; /* on the force's grid */
    float weight, keep;
    const float *axes; /* NULL, or what the components that are added are multiplied by */
    clv_within within; /* of the force's grid (op/within.h): elsewhere force stays */
    clv_image force;
} clv_metric_force_args;

int clv_metric_force(clvox_context *ctx, const clv_metric_force_args *args);

extern const clv_entry clv_entry_metric_force;

#endif
