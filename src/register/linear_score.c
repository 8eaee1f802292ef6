/* SPDX-License-Identifier: Apache-2.0 */
/* What a joint histogram is worth, and how that changes with each of its
 * entries: from this table the device makes the derivative of every sample. */
#include <math.h>
#include <string.h>

#include "register/linear.h"

/* Middles of the bins on the images' scale. */
static double fixed_value(int bin, int bins)
{
    return (bin + .5) / bins;
}

static double moving_value(int bin, int bins)
{
    return (bin - 1.) / (bins - 3);
}

static double entropy_term(double p)
{
    return p > 0 ? p * log(p) : 0;
}

/* I = sum p log(p / (pf pm)); F does not move, so that only p and pm change. */
static double information(int bins, const uint32_t *counts, double total, const double *pf, const double *pm,
                          float *table)
{
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
    return sum;
}

/* Squared correlation of the bins' middles. */
static double correlation(int bins, const uint32_t *counts, double total, const double *pf, const double *pm,
                          float *table, double *variance)
{
    double mean_f = 0, mean_m = 0, ff = 0, mm = 0, fm = 0;
    for (int b = 0; b < bins; b++) {
        mean_f += pf[b] * fixed_value(b, bins);
        mean_m += pm[b] * moving_value(b, bins);
    }
    for (int b = 0; b < bins; b++) {
        double f = fixed_value(b, bins) - mean_f, m = moving_value(b, bins) - mean_m;
        ff += pf[b] * f * f;
        mm += pm[b] * m * m;
        for (int k = 0; k < bins; k++)
            fm += counts[b * bins + k] / total * f * (moving_value(k, bins) - mean_m);
    }
    *variance = mm;
    if (!(ff > 1e-9 && mm > 1e-9)) {
        if (table)
            memset(table, 0, sizeof *table * (size_t)(bins * bins));
        return 0;
    }
    for (int f = 0; table && f < bins; f++)
        for (int k = 0; k < bins; k++) {
            double a = fixed_value(f, bins) - mean_f, b = moving_value(k, bins) - mean_m;
            table[f * bins + k] = (float)(2 * fm / (ff * mm) * a * b - fm * fm / (ff * mm * mm) * b * b);
        }
    return fm * fm / (ff * mm);
}

double linear_score(clvox_metric metric, int bins, const uint32_t *counts, double *total, float *table,
                    float *weight)
{
    double pf[CLV_AFFINE_MOST_BINS] = {0}, pm[CLV_AFFINE_MOST_BINS] = {0}, sum = 0, variance, value;
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
    if (metric == CLVOX_METRIC_MI) {
        value = information(bins, counts, sum, pf, pm, table);
        /* As for Gaussian values around the mean of M given F. */
        for (int f = 0; weight && f < bins; f++) {
            double mean = 0, square = 0;
            for (int m = 0; pf[f] > 0 && m < bins; m++) {
                double p = counts[f * bins + m] / sum / pf[f], v = moving_value(m, bins);
                mean += p * v;
                square += p * v * v;
            }
            weight[f] = (float)(1 / (fmax(square - mean * mean, 0) + .5 / (bins * bins)));
        }
    } else {
        value = correlation(bins, counts, sum, pf, pm, table, &variance);
        for (int f = 0; weight && f < bins; f++)
            weight[f] = (float)(2 / (variance + 1e-9));
    }
    return value;
}
