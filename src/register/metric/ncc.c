/* SPDX-License-Identifier: Apache-2.0 */
/* Squared normalised correlation over the whole image. */
#include <math.h>
#include <string.h>

#include "register/metric/metric.h"

static int derivative(clvox_context *ctx, const clv_metric_args *args)
{
    return clv_metric(ctx, CLV_METRIC_NCC, args);
}

static double report(double mean_square, double ncc)
{
    (void)mean_square;
    return ncc * ncc;
}

double clv_metric_correlation(const clv_joint *joint, float *table, float *weight)
{
    const int bins = joint->bins;
    const uint32_t *counts = joint->counts;
    const double total = joint->total, *pf = joint->fixed, *pm = joint->moving;
    double mean_f = 0, mean_m = 0, ff = 0, mm = 0, fm = 0;
    for (int b = 0; b < bins; b++) {
        mean_f += pf[b] * clv_joint_fixed(b, bins);
        mean_m += pm[b] * clv_joint_moving(b, bins);
    }
    for (int b = 0; b < bins; b++) {
        double f = clv_joint_fixed(b, bins) - mean_f, m = clv_joint_moving(b, bins) - mean_m;
        ff += pf[b] * f * f;
        mm += pm[b] * m * m;
        for (int k = 0; k < bins; k++)
            fm += counts[b * bins + k] / total * f * (clv_joint_moving(k, bins) - mean_m);
    }
    for (int f = 0; weight && f < bins; f++)
        weight[f] = (float)(2 / (mm + 1e-9));
    if (!(ff > 1e-9 && mm > 1e-9)) {
        if (table)
            memset(table, 0, sizeof *table * (size_t)(bins * bins));
        return 0;
    }
    for (int f = 0; table && f < bins; f++)
        for (int k = 0; k < bins; k++) {
            double a = clv_joint_fixed(f, bins) - mean_f, b = clv_joint_moving(k, bins) - mean_m;
            table[f * bins + k] = (float)(2 * fm / (ff * mm) * a * b - fm * fm / (ff * mm * mm) * b * b);
        }
    return fm * fm / (ff * mm);
}

static void add(const clv_pair_sums *s, double weight, double *value, double gradient[12],
                double normal[12][12])
{
    if (!(s->ff > 1e-9 && s->mm > 1e-9))
        return;
    double ncc = s->fm / sqrt(s->ff * s->mm), n = s->n, a[12], b[12];
    *value += weight * ncc * ncc;
    for (int p = 0; p < s->parameters; p++) {
        a[p] = (s->md[p] / n - s->m * s->d[p] / n) / sqrt(s->mm); /* along M itself: changes its length only */
        b[p] = (s->fd[p] / n - s->f * s->d[p] / n) / sqrt(s->ff) - ncc * a[p]; /* along F */
        gradient[p] += weight * 2 * ncc * b[p] / sqrt(s->mm);
    }
    for (int p = 0; p < s->parameters; p++)
        for (int q = 0; q < s->parameters; q++)
            normal[p][q] += weight * 2 / s->mm *
                            (s->normal[p][q] / n - s->d[p] * s->d[q] / n / n - a[p] * a[q] - b[p] * b[q]);
}

const clv_metric_row clv_metric_ncc = {
    .metric = CLVOX_METRIC_NCC,
    .name = "ncc",
    .title = "NCC",
    .scratch = clv_metric_scratch,
    .derivative = derivative,
    .strength = 10,
    .report = report,
    .score = clv_metric_correlation,
    .add = add,
    .search = CLVOX_METRIC_NCC,
    .coarse = CLVOX_METRIC_NCC,
    .smooth = true,
    .rounding = 1e-4, /* sums of squares round by 5e-5 where images are equal */
    .compare = clv_compare_ncc,
};
