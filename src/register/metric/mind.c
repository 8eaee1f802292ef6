/* SPDX-License-Identifier: Apache-2.0 */
/* Squared differences of self-similarity descriptors. */
#include "op/match/mind.h"

#include <math.h>
#include <stddef.h>

#include "register/metric/metric.h"

/* Heads of different contrasts whose affine is right lose a tenth to a fifth of the difference of their descriptors;
 * of those whose affine is 6 mm off, or whose labels end farther apart, three quarters lose less than SHARE. */
static bool dear(double linear, double after, double variance)
{
    static const double SHARE = .09;
    (void)variance;
    return after - linear < SHARE * fabs(linear);
}

const clv_metric_row clv_metric_mind = {
    .metric = CLVOX_METRIC_MIND,
    .name = "mind",
    .title = "MIND",
    .parameter = "PATCH",
    .meaning = "patches of 2 N + 1 voxels",
    .linear_field = offsetof(clvox_register_options, linear_patch),
    .field = offsetof(clvox_register_options, patch),
    .says = {"patch ", ""},
    .scratch = clv_mind_scratch,
    .dear = dear,
    .derivative = clv_mind,
    .strength = 100,
    .content = true,
    .search = CLVOX_METRIC_MI, /* neighbours see too little far from the goal */
    .coarse = CLVOX_METRIC_MI,
    .rounding = 1e-6,
};
