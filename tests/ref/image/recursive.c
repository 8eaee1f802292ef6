/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/recursive.h"

#include <math.h>
#include <stdlib.h>

/* Deriche 1993, "Recursively implementing the Gaussian and its derivatives",
 * order 4: numerator n, anticausal numerator m, denominator d. */
static void coefficients(double s, double n[4], double m[5], double d[5])
{
    const double a0 = 1.680, a1 = 3.735, b0 = 1.783, w0 = 0.6318;
    const double c0 = -0.6803, c1 = -0.2598, b1 = 1.723, w1 = 1.997;
    n[0] = a0 + c0;
    n[1] = exp(-b1 / s) * (c1 * sin(w1 / s) - (c0 + 2 * a0) * cos(w1 / s)) +
           exp(-b0 / s) * (a1 * sin(w0 / s) - (2 * c0 + a0) * cos(w0 / s));
    n[2] = 2 * exp(-(b0 + b1) / s) *
               ((a0 + c0) * cos(w1 / s) * cos(w0 / s) - a1 * cos(w1 / s) * sin(w0 / s) -
                c1 * cos(w0 / s) * sin(w1 / s)) +
           c0 * exp(-2 * b0 / s) + a0 * exp(-2 * b1 / s);
    n[3] = exp(-(b1 + 2 * b0) / s) * (c1 * sin(w1 / s) - c0 * cos(w1 / s)) +
           exp(-(b0 + 2 * b1) / s) * (a1 * sin(w0 / s) - a0 * cos(w0 / s));
    d[0] = 1;
    d[1] = -2 * exp(-b1 / s) * cos(w1 / s) - 2 * exp(-b0 / s) * cos(w0 / s);
    d[2] = 4 * exp(-(b0 + b1) / s) * cos(w1 / s) * cos(w0 / s) + exp(-2 * b1 / s) + exp(-2 * b0 / s);
    d[3] = -2 * cos(w0 / s) * exp(-(b0 + 2 * b1) / s) - 2 * cos(w1 / s) * exp(-(b1 + 2 * b0) / s);
    d[4] = exp(-2 * (b0 + b1) / s);
    m[0] = 0;
    for (int k = 1; k < 4; k++)
        m[k] = n[k] - d[k] * n[0];
    m[4] = -d[4] * n[0];
    double up = 0, back = 0, below = 0;
    for (int k = 0; k < 4; k++)
        up += n[k];
    for (int k = 0; k < 5; k++) {
        back += m[k];
        below += d[k];
    }
    for (int k = 0; k < 4; k++)
        n[k] *= below / (up + back);
    for (int k = 0; k < 5; k++)
        m[k] *= below / (up + back);
}

static double at(const double *in, int n, int i)
{
    return in[i < 0 ? 0 : i >= n ? n - 1 : i];
}

void ref_recursive_line(const double *in, int n, double sigma, double *out)
{
    int pad = (int)ceil(40 * sigma) + 8, total = n + 2 * pad;
    double num[4], anti[5], den[5];
    double *y = calloc((size_t)total, sizeof *y), *z = calloc((size_t)total, sizeof *z);
    coefficients(sigma, num, anti, den);
    for (int i = 0; i < total; i++) {
        for (int k = 0; k < 4; k++)
            y[i] += num[k] * at(in, n, i - k - pad);
        for (int k = 1; k < 5 && k <= i; k++)
            y[i] -= den[k] * y[i - k];
    }
    for (int i = total - 1; i >= 0; i--) {
        for (int k = 1; k < 5; k++)
            z[i] += anti[k] * at(in, n, i + k - pad);
        for (int k = 1; k < 5 && i + k < total; k++)
            z[i] -= den[k] * z[i + k];
    }
    for (int i = 0; i < n; i++)
        out[i] = y[i + pad] + z[i + pad];
    free(y);
    free(z);
}

void ref_gaussian_line(const double *in, int n, double sigma, double *out)
{
    int radius = (int)ceil(9 * sigma) + 1;
    for (int i = 0; i < n; i++) {
        double sum = 0, total = 0;
        for (int k = -radius; k <= radius; k++) {
            double w = exp(-k * k / (2 * sigma * sigma));
            sum += w * at(in, n, i + k);
            total += w;
        }
        out[i] = sum / total;
    }
}
