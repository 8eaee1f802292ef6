/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/field/inverse.h"

#include <math.h>

static double left_at(const float *u, const int size[3], const float spacing[3], int i, const double d[3],
                      double left[3])
{
    const int at[3] = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]};
    int low[3], n = size[0] * size[1] * size[2];
    double f[3], square = 0;
    for (int a = 0; a < 3; a++) {
        double p = fmin(fmax(at[a] + d[a] / (double)spacing[a], 0), size[a] - 1);
        low[a] = (int)floor(p);
        f[a] = p - low[a];
    }
    for (int c = 0; c < 3; c++) {
        left[c] = d[c];
        for (int k = 0; k < 8; k++) {
            double w = 1;
            int index[3];
            for (int a = 0; a < 3; a++) {
                int high = k >> a & 1;
                w *= high ? f[a] : 1 - f[a];
                index[a] = low[a] + high < size[a] ? low[a] + high : size[a] - 1;
            }
            left[c] += w * (double)u[c * n + (index[2] * size[1] + index[1]) * size[0] + index[0]];
        }
        square += left[c] * left[c] / ((double)spacing[c] * (double)spacing[c]);
    }
    return sqrt(square);
}

double ref_inverse_left(const float *u, const float *v, const int size[3], const float spacing[3], int i)
{
    int n = size[0] * size[1] * size[2];
    const double d[3] = {(double)v[i], (double)v[n + i], (double)v[2 * n + i]};
    double left[3];
    return left_at(u, size, spacing, i, d, left);
}

double ref_inverse_at(const float *u, const int size[3], const float spacing[3], int i, double d[3])
{
    double left[3], now;
    d[0] = d[1] = d[2] = 0;
    now = left_at(u, size, spacing, i, d, left);
    for (int step = 0; step < 4000 && now > 1e-9; step++) {
        double part = 1;
        for (int halves = 0; halves < 12; halves++, part /= 2) {
            double next[3], rest[3];
            for (int a = 0; a < 3; a++)
                next[a] = d[a] - part * left[a];
            double then = left_at(u, size, spacing, i, next, rest);
            if (then < now || halves == 11) {
                for (int a = 0; a < 3; a++) {
                    d[a] = next[a];
                    left[a] = rest[a];
                }
                now = then;
                break;
            }
        }
    }
    return now;
}
