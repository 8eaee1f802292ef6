/* SPDX-License-Identifier: Apache-2.0 */
/* Squared normalised correlation in windows, their mean. */
#include <limits.h>
#include <math.h>
#include <stddef.h>

#include "op/match/lncc.h"
#include "register/metric/metric.h"

/* It counts the noise of the background, too, which interpolation changes much: it
 * must have fallen clearly, and the correlation with it. */
static bool worse(double before, double ncc_before, double after, double ncc_after)
{
    return before - after > .05 * before && fabs(ncc_after) < fabs(ncc_before) - .01;
}

const clv_metric_row clv_metric_lncc = {
    .metric = CLVOX_METRIC_LNCC,
    .name = "lncc",
    .also = "cc",
    .title = "LNCC",
    .parameter = "RADIUS",
    .meaning = "cubes of 2 N + 1 voxels",
    .linear_field = offsetof(clvox_register_options, linear_radius),
    .field = offsetof(clvox_register_options, radius),
    .says = {"radius ", ""},
    .compared = {1, 4, INT_MAX},
    .scratch = clv_lncc_scratch,
    /* Pairs of T1 gain more; pairs of contrasts whose labels end no nearer than the affine brought them gain
     * less (adults, 2026-11-24). */
    .yield = 1.05,
    .hides = true,
    .derivative = clv_lncc,
    .strength = 1,
    .approximates = true,
    .content = true,
    .worse = worse,
    .search = CLVOX_METRIC_MI, /* windows see too little far from the goal */
    .coarse = CLVOX_METRIC_MI,
    .rounding = 1e-6,
    .compare = clv_compare_lncc,
};
