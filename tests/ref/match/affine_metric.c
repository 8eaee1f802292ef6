/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/match/affine_metric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Trilinear with its gradient, 0 along an axis on which the border goes on; 0 where the sample does not count. */
static int sample(const float *in, const int n[3], const double p[3], double *value, double gradient[3])
{
    int low[3];
    double f[3];
    for (int a = 0; a < 3; a++) {
        if (!(p[a] >= -.5 && p[a] <= n[a] - .5))
            return 0;
        double at = fmin(fmax(p[a], 0), n[a] - 1);
        low[a] = (int)fmin(floor(at), n[a] > 1 ? n[a] - 2 : 0);
        f[a] = at - low[a];
    }
    *value = gradient[0] = gradient[1] = gradient[2] = 0;
    for (int corner = 0; corner < 8; corner++) {
        int up[3] = {corner & 1, corner >> 1 & 1, corner >> 2}, at[3];
        double w[3], d[3];
        for (int a = 0; a < 3; a++) {
            at[a] = n[a] > 1 ? low[a] + up[a] : 0;
            w[a] = up[a] ? f[a] : 1 - f[a];
            d[a] = !(p[a] >= 0 && p[a] <= n[a] - 1) ? 0 : up[a] ? 1 : -1;
        }
        double v = (double)in[((size_t)at[2] * (size_t)n[1] + (size_t)at[1]) * (size_t)n[0] + (size_t)at[0]];
        *value += w[0] * w[1] * w[2] * v;
        gradient[0] += d[0] * w[1] * w[2] * v;
        gradient[1] += w[0] * d[1] * w[2] * v;
        gradient[2] += w[0] * w[1] * d[2] * v;
    }
    return !isnan(*value);
}

/* The quadratic B-spline at distance d from its centre, and its derivative. */
static double quadratic(double d)
{
    double a = fabs(d);
    return a < .5 ? .75 - a * a : a < 1.5 ? (1.5 - a) * (1.5 - a) / 2 : 0;
}

static double quadratic_derivative(double d)
{
    double a = fabs(d), s = a < .5 ? -2 * a : a < 1.5 ? a - 1.5 : 0;
    return d < 0 ? -s : s;
}

/* The sum of voxels times splines; beyond the grid its outermost voxels go on. */
static int smooth_sample(const float *in, const int n[3], const double p[3], double *value, double gradient[3])
{
    double at[3];
    for (int a = 0; a < 3; a++) {
        if (!(p[a] >= -.5 && p[a] <= n[a] - .5))
            return 0;
        at[a] = fmin(fmax(p[a], 0), n[a] - 1);
    }
    *value = gradient[0] = gradient[1] = gradient[2] = 0;
    const int first[3] = {(int)at[0] - 1, (int)at[1] - 1, (int)at[2] - 1};
    for (int z = first[2]; z <= first[2] + 3; z++)
        for (int y = first[1]; y <= first[1] + 3; y++)
            for (int x = first[0]; x <= first[0] + 3; x++) {
                const double d[3] = {at[0] - x, at[1] - y, at[2] - z};
                if (fmax(fabs(d[0]), fmax(fabs(d[1]), fabs(d[2]))) >= 1.5)
                    continue;
                int i = (int)fmin(fmax(x, 0), n[0] - 1), j = (int)fmin(fmax(y, 0), n[1] - 1),
                    k = (int)fmin(fmax(z, 0), n[2] - 1);
                double v = (double)in[((size_t)k * (size_t)n[1] + (size_t)j) * (size_t)n[0] + (size_t)i];
                *value += quadratic(d[0]) * quadratic(d[1]) * quadratic(d[2]) * v;
                gradient[0] += quadratic_derivative(d[0]) * quadratic(d[1]) * quadratic(d[2]) * v;
                gradient[1] += quadratic(d[0]) * quadratic_derivative(d[1]) * quadratic(d[2]) * v;
                gradient[2] += quadratic(d[0]) * quadratic(d[1]) * quadratic_derivative(d[2]) * v;
            }
    return !isnan(*value);
}

int ref_affine_samples(const float *fixed, const int size[3], const float *moving, const int moving_size[3],
                       const int step[2], const double centre[3], const double map[3][4],
                       const float *weights, ref_affine_sample *out)
{
    int count = 0;
    for (int z = 0; z < size[2]; z += step[1])
        for (int y = 0; y < size[1]; y += step[0])
            for (int x = 0; x < size[0]; x++) {
                double p[3];
                const double here[3] = {x, y, z};
                ref_affine_sample *s = &out[count];
                s->at = (z * size[1] + y) * size[0] + x;
                s->fixed = (double)fixed[s->at];
                for (int a = 0; a < 3; a++) {
                    p[a] = map[a][0] * x + map[a][1] * y + map[a][2] * z + map[a][3];
                    s->from_centre[a] = here[a] - centre[a];
                }
                s->weight = weights ? (double)weights[s->at] : 1;
                if (!isnan(s->fixed) && (weights ? smooth_sample : sample)(moving, moving_size, p, &s->moving,
                                                                           s->gradient))
                    count++;
            }
    return count;
}

/* The cubic B-spline at distance d from its centre, and its derivative. */
static double spline(double d)
{
    double a = fabs(d);
    return a < 1 ? 2. / 3 - a * a + a * a * a / 2 : a < 2 ? (2 - a) * (2 - a) * (2 - a) / 6 : 0;
}

static double spline_derivative(double d)
{
    double a = fabs(d), s = a < 1 ? -2 * a + 1.5 * a * a : a < 2 ? -(2 - a) * (2 - a) / 2 : 0;
    return d < 0 ? -s : s;
}

static int bin_of(double f, int bins)
{
    return (int)fmin(floor(fmin(fmax(f, 0), 1) * bins), bins - 1);
}

static double place(double m, int bins)
{
    return 1 + m * (bins - 3);
}

void ref_affine_histogram(const ref_affine_sample *samples, int count, int bins, double *counts)
{
    memset(counts, 0, sizeof *counts * (size_t)(bins * bins));
    for (int i = 0; i < count; i++)
        for (int b = 0; b < bins; b++)
            counts[bin_of(samples[i].fixed, bins) * bins + b] += spline(place(samples[i].moving, bins) - b);
}

void ref_affine_sums(const ref_affine_sample *samples, int count, clv_affine_source source, int bins,
                     const float *table, const float *derivatives, double *sums)
{
    static const int pairs[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};
    static const int powers[10][2] = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 1},
                                      {1, 2}, {1, 3}, {2, 2}, {2, 3}, {3, 3}};
    int sets = source == CLV_AFFINE_PAIR ? 3 : 1;
    memset(sums, 0, sizeof *sums * (size_t)(66 + 12 * sets));
    for (int i = 0; i < count; i++) {
        const ref_affine_sample *s = &samples[i];
        const double k[4] = {1, s->from_centre[0], s->from_centre[1], s->from_centre[2]};
        double f = s->fixed, m = s->moving, w = s->weight, factor[3] = {w, w * f, w * m}, weight = w;
        const double terms[6] = {w, w * f, w * m, w * f * f, w * m * m, w * f * m};
        if (source == CLV_AFFINE_TABLE) {
            factor[0] = 0;
            for (int b = 0; b < bins; b++)
                factor[0] +=
                    (double)table[bin_of(f, bins) * bins + b] * spline_derivative(place(m, bins) - b) * (bins - 3);
            weight = (double)table[bins * bins + bin_of(f, bins)];
        } else if (source == CLV_AFFINE_IMAGE) {
            factor[0] = (double)derivatives[s->at];
        }
        for (int t = 0; t < 6; t++)
            sums[t] += terms[t];
        for (int set = 0; set < sets; set++)
            for (int j = 0; j < 12; j++)
                sums[6 + 12 * set + j] += factor[set] * s->gradient[j / 4] * k[j % 4];
        for (int q = 0; q < 60; q++)
            sums[6 + 12 * sets + q] += weight * s->gradient[pairs[q / 10][0]] * s->gradient[pairs[q / 10][1]] *
                                       k[powers[q % 10][0]] * k[powers[q % 10][1]];
    }
}

double ref_affine_information(const ref_affine_sample *samples, int count, int bins, float *table)
{
    double *p = malloc(sizeof *p * (size_t)(bins * bins)), *pf = calloc(2 * (size_t)bins, sizeof *pf),
           *pm = pf + bins;
    double sum = 0;
    ref_affine_histogram(samples, count, bins, p);
    for (int i = 0; i < bins * bins; i++) {
        p[i] /= count;
        pf[i / bins] += p[i];
        pm[i % bins] += p[i];
    }
    for (int i = 0; i < bins * bins; i++) {
        double ratio = p[i] > 0 ? log(p[i] / pm[i % bins]) : -30;
        if (p[i] > 0)
            sum += p[i] * (ratio - log(pf[i / bins]));
        if (table)
            table[i] = (float)ratio;
    }
    free(p);
    free(pf);
    return sum;
}

double ref_affine_correlation(const ref_affine_sample *samples, int count)
{
    double n = 0, f = 0, m = 0, ff = 0, mm = 0, fm = 0;
    for (int i = 0; i < count; i++) {
        n += samples[i].weight;
        f += samples[i].weight * samples[i].fixed;
        m += samples[i].weight * samples[i].moving;
    }
    for (int i = 0; i < count; i++) {
        double a = samples[i].fixed - f / n, b = samples[i].moving - m / n, w = samples[i].weight;
        ff += w * a * a;
        mm += w * b * b;
        fm += w * a * b;
    }
    return fm * fm / (ff * mm);
}

void ref_affine_correlation_derivatives(const double *s, double derivatives[12])
{
    double n = s[0], ff = s[3] - s[1] * s[1] / n, mm = s[4] - s[2] * s[2] / n, fm = s[5] - s[1] * s[2] / n;
    for (int j = 0; j < 12; j++) {
        double dfm = s[18 + j] - s[1] * s[6 + j] / n, dmm = 2 * (s[30 + j] - s[2] * s[6 + j] / n);
        derivatives[j] = 2 * fm * dfm / (ff * mm) - fm * fm * dmm / (ff * mm * mm);
    }
}
