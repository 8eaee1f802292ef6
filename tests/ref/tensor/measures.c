/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/tensor/measures.h"

#include <math.h>

static const int entry[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};

static double norm(const double d[6])
{
    return sqrt(d[0] * d[0] + d[3] * d[3] + d[5] * d[5] + 2 * (d[1] * d[1] + d[2] * d[2] + d[4] * d[4]));
}

static double determinant(const double d[6])
{
    return d[0] * (d[3] * d[5] - d[4] * d[4]) - d[1] * (d[1] * d[5] - d[4] * d[2]) +
           d[2] * (d[1] * d[4] - d[3] * d[2]);
}

/* The deviator and its norm. */
static double deviate(const double d[6], double mean, double a[6])
{
    for (int c = 0; c < 6; c++)
        a[c] = d[c] - (c == 0 || c == 3 || c == 5 ? mean : 0);
    return norm(a);
}

void ref_tensor_measures(const double d[6], double out[11])
{
    double mean = (d[0] + d[3] + d[5]) / 3, a[6], size = norm(d), spread = deviate(d, mean, a), l[3];
    for (int c = 0; c < 6; c++)
        a[c] = spread > 0 ? a[c] / spread : 0;
    /* For |A| = 1 the roots are sqrt(2/3) cos of thirds of an angle. */
    double mode = 3 * sqrt(6.0) * determinant(a), angle;
    mode = fmin(fmax(mode, -1), 1);
    angle = acos(mode) / 3;
    l[0] = mean + spread * sqrt(2.0 / 3) * cos(angle);
    l[2] = mean + spread * sqrt(2.0 / 3) * cos(angle + 2 * acos(-1) / 3);
    l[1] = 3 * mean - l[0] - l[2];
    out[0] = size > 0 ? sqrt(1.5) * spread / size : 0;
    out[1] = mean;
    out[2] = l[0];
    out[3] = (l[1] + l[2]) / 2;
    out[4] = spread > 0 ? mode : 0;
    out[5] = l[0] > 0 ? (l[0] - l[1]) / l[0] : 0;
    out[6] = l[0] > 0 ? (l[1] - l[2]) / l[0] : 0;
    out[7] = l[0] > 0 ? l[2] / l[0] : 0;
    for (int k = 0; k < 3; k++)
        out[8 + k] = l[k];
}

double ref_tensor_residual(const double d[6], double l, const double v[3])
{
    double sum = 0, size = norm(d);
    for (int i = 0; i < 3; i++) {
        double r = -l * v[i];
        for (int j = 0; j < 3; j++)
            r += d[entry[i][j]] * v[j];
        sum += r * r;
    }
    return size > 0 ? sqrt(sum) / size : 0;
}

double ref_tensor_spread(const double d[6])
{
    double a[6], size = norm(d);
    return size > 0 ? deviate(d, (d[0] + d[3] + d[5]) / 3, a) / size : 0;
}
