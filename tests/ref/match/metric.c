/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/match/metric.h"

#include <math.h>
#include <stdlib.h>

static int counts(double f, double m)
{
    return isfinite(f) && isfinite(m);
}

/* The cubic B-spline at distance d of its centre, and its derivative. */
static double spline(double d)
{
    d = fabs(d);
    return d < 1 ? 2.0 / 3 - d * d + d * d * d / 2 : d < 2 ? pow(2 - d, 3) / 6 : 0;
}

static double spline_derivative(double d)
{
    double a = fabs(d), s = a < 1 ? -2 * a + 1.5 * a * a : a < 2 ? -(2 - a) * (2 - a) / 2 : 0;
    return d < 0 ? -s : s;
}

static double place(double v, int bins)
{
    return 1 + (bins - 3) * fmin(fmax(v, 0), 1);
}

/* joint[k * bins + l]: the fixed image's bin k, the moving one's l. Returns N. */
static size_t histogram(const double *f, const double *m, size_t n, int bins, double *joint)
{
    size_t valid = 0;
    for (int b = 0; b < bins * bins; b++)
        joint[b] = 0;
    for (size_t i = 0; i < n; i++) {
        if (!counts(f[i], m[i]))
            continue;
        valid++;
        for (int k = 0; k < bins; k++) {
            double wk = spline(place(f[i], bins) - k);
            for (int l = 0; wk > 0 && l < bins; l++)
                joint[k * bins + l] += wk * spline(place(m[i], bins) - l);
        }
    }
    return valid;
}

/* log (p / (pF pM)) of every bin, and I. */
static double table_of(const double *joint, size_t valid, int bins, double *table)
{
    double sum = 0;
    for (int k = 0; k < bins; k++)
        for (int l = 0; l < bins; l++) {
            double p = joint[k * bins + l], row = 0, column = 0;
            for (int j = 0; j < bins; j++) {
                row += joint[k * bins + j];
                column += joint[j * bins + l];
            }
            table[k * bins + l] = p > 0 ? log(p * (double)valid / (row * column)) : 0;
            sum += p > 0 ? p / (double)valid * table[k * bins + l] : 0;
        }
    return sum;
}

typedef struct moments {
    size_t n;
    double f, m, ff, mm, fm;
} moments;

static moments moments_of(const double *f, const double *m, size_t n)
{
    moments s = {0, 0, 0, 0, 0, 0};
    for (size_t i = 0; i < n; i++)
        if (counts(f[i], m[i])) {
            s.n++;
            s.f += f[i];
            s.m += m[i];
        }
    s.f /= s.n ? (double)s.n : 1;
    s.m /= s.n ? (double)s.n : 1;
    for (size_t i = 0; i < n; i++)
        if (counts(f[i], m[i])) {
            double w = 1 / (double)s.n;
            s.ff += w * (f[i] - s.f) * (f[i] - s.f);
            s.mm += w * (m[i] - s.m) * (m[i] - s.m);
            s.fm += w * (f[i] - s.f) * (m[i] - s.m);
        }
    return s;
}

double ref_metric(clv_metric_kind kind, const double *fixed, const double *moving, size_t n, int bins,
                    size_t *valid)
{
    moments s = moments_of(fixed, moving, n);
    double sum = 0;
    *valid = s.n;
    if (kind == CLV_METRIC_NCC)
        return s.ff > 1e-10 && s.mm > 1e-10 ? (double)s.n * s.fm * s.fm / (s.ff * s.mm) : 0;
    if (kind == CLV_METRIC_SSD) {
        for (size_t i = 0; i < n; i++)
            if (counts(fixed[i], moving[i]))
                sum -= 0.5 * (moving[i] - fixed[i]) * (moving[i] - fixed[i]);
        return sum;
    }
    double *joint = malloc(2 * (size_t)(bins * bins) * sizeof *joint);
    histogram(fixed, moving, n, bins, joint);
    sum = (double)s.n * table_of(joint, s.n, bins, joint + bins * bins);
    free(joint);
    return sum;
}

void ref_metric_derivative(clv_metric_kind kind, const double *fixed, const double *moving, size_t n,
                        int bins, double *derivative)
{
    moments s = moments_of(fixed, moving, n);
    bool varies = s.ff > 1e-10 && s.mm > 1e-10;
    double *joint = malloc(2 * (size_t)(bins * bins) * sizeof *joint), *table = joint + bins * bins;
    if (kind == CLV_METRIC_MI)
        table_of(joint, histogram(fixed, moving, n, bins, joint), bins, table);
    for (size_t i = 0; i < n; i++) {
        double f = fixed[i], m = moving[i];
        derivative[i] = 0;
        if (!counts(f, m))
            continue;
        if (kind == CLV_METRIC_SSD)
            derivative[i] = f - m;
        if (kind == CLV_METRIC_NCC && varies)
            derivative[i] = 2 * s.fm / (s.ff * s.mm) * (f - s.f - s.fm / s.mm * (m - s.m));
        for (int k = 0; kind == CLV_METRIC_MI && varies && m >= 0 && m <= 1 && k < bins; k++) {
            double w = (bins - 3) * spline(place(f, bins) - k);
            for (int l = 0; w > 0 && l < bins; l++)
                derivative[i] += w * spline_derivative(place(m, bins) - l) * table[k * bins + l];
        }
    }
    free(joint);
}
