/* SPDX-License-Identifier: Apache-2.0 */
/* Squared differences of self-similarity descriptors. */
#include "op/match/mind.h"

#include <stddef.h>

#include "register/metric/metric.h"

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
    /* Pairs of T1 gain more; nine in ten pairs whose affine is 6 mm off gain less, and half of those of different
     * contrasts that end well (adults, 2026-11-24). */
    .yield = .1,
    .derivative = clv_mind,
    .derivative_add = clv_mind_add,
    .strength = 100,
    .content = true,
    .search = CLVOX_METRIC_MI, /* neighbours see too little far from the goal */
    .coarse = CLVOX_METRIC_MI,
    .rounding = 1e-6,
};
