/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/statistics.h"

#include <math.h>

static void take(double value, double summed, clv_statistics *out)
{
    out->smallest = fmin(out->smallest, value);
    out->largest = fmax(out->largest, value);
    out->sum += summed;
    out->sum_squares += summed * summed;
    out->not_above += value <= 0;
    out->voxels++;
}

void ref_statistics_determinants(const float *values, const float *weight, int n, clv_statistics *out)
{
    *out = (clv_statistics){.smallest = INFINITY, .largest = -INFINITY};
    for (int i = 0; i < n; i++)
        if (isfinite(values[i]) && (!weight || weight[i] > 0))
            take((double)values[i], log(fmax((double)values[i], 1e-6)), out);
}

void ref_statistics_lengths(const float *field, const float reorient[3][3], const float *through,
                            const float *weight, const int size[3], const float spacing[3],
                            clv_statistics *out)
{
    int n = size[0] * size[1] * size[2];
    *out = (clv_statistics){.smallest = INFINITY, .largest = -INFINITY};
    for (int i = 0; i < n; i++) {
        const int at[3] = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]};
        double square = 0;
        int inside = 1;
        for (int r = 0; r < 3; r++) {
            double v = 0;
            for (int c = 0; c < 3; c++)
                v += (double)reorient[r][c] * (double)field[c * n + i];
            square += v * v;
            if (through) {
                double p = at[r] + (double)through[r * n + i] / (double)spacing[r];
                inside = inside && p >= -.5 && p <= size[r] - .5;
            }
        }
        if (inside && isfinite(square) && (!weight || weight[i] > 0))
            take(sqrt(square), sqrt(square), out);
    }
}
