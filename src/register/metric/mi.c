/* SPDX-License-Identifier: Apache-2.0 */
/* Mutual information of a joint histogram with Parzen windows. */
#include <math.h>
#include <stddef.h>

#include "op/match/affine_metric.h"
#include "register/metric/metric.h"

static int derivative(clvox_context *ctx, const clv_metric_args *args)
{
    return clv_metric(ctx, CLV_METRIC_MI, args);
}

static double entropy_term(double p)
{
    return p > 0 ? p * log(p) : 0;
}

/* I = sum p log(p / (pf pm)); F does not move, so that only p and pm change. */
static double score(const clv_joint *joint, float *table, float *weight)
{
    const int bins = joint->bins;
    const uint32_t *counts = joint->counts;
    const double total = joint->total, *pf = joint->fixed, *pm = joint->moving;
    double sum = 0, log_m[CLV_AFFINE_MOST_BINS];
    for (int m = 0; m < bins; m++) {
        log_m[m] = pm[m] > 0 ? log(pm[m]) : 0;
        sum -= entropy_term(pm[m]);
    }
    for (int f = 0; f < bins; f++) {
        sum -= entropy_term(pf[f]);
        for (int m = 0; m < bins; m++) {
            double p = counts[f * bins + m] / total, log_p = p > 0 ? log(p) : 0;
            sum += p * log_p;
            /* An empty entry would win without bound: as if it held a little. */
            if (table)
                table[f * bins + m] = (float)(pm[m] > 0 ? (p > 0 ? log_p : log(1e-6)) - log_m[m] : 0);
        }
    }
    /* As for Gaussian values around the mean of M given F. */
    for (int f = 0; weight && f < bins; f++) {
        double mean = 0, square = 0;
        for (int m = 0; pf[f] > 0 && m < bins; m++) {
            double p = counts[f * bins + m] / total / pf[f], v = clv_joint_moving(m, bins);
            mean += p * v;
            square += p * v * v;
        }
        weight[f] = (float)(1 / (fmax(square - mean * mean, 0) + .5 / (bins * bins)));
    }
    return sum;
}

const clv_metric_row clv_metric_mi = {
    .metric = CLVOX_METRIC_MI,
    .name = "mi",
    .also = "mattes",
    .title = "MI",
    .unit = "nats",
    .parameter = "BINS",
    .meaning = "bins of either image",
    .linear_field = offsetof(clvox_register_options, linear_bins),
    .field = offsetof(clvox_register_options, bins),
    .says = {"", " bins"},
    .compared = {2, 64, 1024},
    .scratch = clv_metric_scratch,
    .derivative = derivative,
    .strength = 10,
    .score = score,
    .search = CLVOX_METRIC_MI,
    .coarse = CLVOX_METRIC_MI,
    .detail = true,
    .rounding = 1e-6,
    .compare = clv_compare_mi,
};
