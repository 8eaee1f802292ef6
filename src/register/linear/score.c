/* SPDX-License-Identifier: Apache-2.0 */
/* Score of a joint histogram, and its derivative by each entry: from this table the device makes the derivative of
 * every sample. */
#include <math.h>
#include <string.h>

#include "register/linear/linear.h"

double clv_linear_score(const clv_metric_row *metric, int bins, const uint32_t *counts, double *total,
                    float *table, float *weight)
{
    double pf[CLV_AFFINE_MOST_BINS] = {0}, pm[CLV_AFFINE_MOST_BINS] = {0}, sum = 0;
    for (int i = 0; i < bins * bins; i++)
        sum += counts[i];
    *total = sum;
    if (!(sum > 0)) {
        if (table)
            memset(table, 0, sizeof *table * (size_t)(bins * bins));
        for (int f = 0; weight && f < bins; f++)
            weight[f] = 0;
        return -INFINITY;
    }
    for (int f = 0; f < bins; f++)
        for (int m = 0; m < bins; m++) {
            pf[f] += counts[f * bins + m] / sum;
            pm[m] += counts[f * bins + m] / sum;
        }
    return metric->score(&(clv_joint){bins, counts, sum, pf, pm}, table, weight);
}
