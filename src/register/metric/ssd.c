/* SPDX-License-Identifier: Apache-2.0 */
/* Squared differences of matched intensities. */
#include <math.h>

#include "register/metric/metric.h"

static int derivative(clvox_context *ctx, const clv_metric_args *args)
{
    return clv_metric(ctx, CLV_METRIC_SSD, args);
}

static double report(double mean_square, double ncc)
{
    (void)ncc;
    return mean_square;
}

static bool worse(double before, double ncc_before, double after, double ncc_after)
{
    (void)ncc_before;
    (void)ncc_after;
    return after - before > .03 * fabs(before) + 1e-12;
}

static void add(const clv_pair_sums *s, double weight, double *value, double gradient[12],
                double normal[12][12])
{
    *value -= weight * (s->ff + s->mm - 2 * s->fm + (s->f - s->m) * (s->f - s->m));
    for (int p = 0; p < s->parameters; p++) {
        gradient[p] -= weight * 2 * (s->md[p] - s->fd[p]) / s->n;
        for (int q = 0; q < s->parameters; q++)
            normal[p][q] += weight * 2 * s->normal[p][q] / s->n;
    }
}

const clv_metric_row clv_metric_ssd = {
    .metric = CLVOX_METRIC_SSD,
    .name = "ssd",
    .also = "meansquares",
    .title = "SSD",
    .scratch = clv_metric_scratch,
    .derivative = derivative,
    .strength = 100, /* a tenth of the range is one unit */
    .compares_values = true,
    .report = report,
    .worse = worse,
    .score = clv_metric_correlation,
    .add = add,
    .search = CLVOX_METRIC_NCC,
    .coarse = CLVOX_METRIC_SSD,
    .smooth = true,
    .rounding = 1e-6,
    .compare = clv_compare_ssd,
};
