/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/match/mind.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { PAIRS = 12 };

typedef struct images {
    const double *value[2];
    const int *size;
    int radius;
    double epsilon;
} images;

/* The pairs of neighbours of a voxel that are no opposites. */
static void pairs_of(int a[PAIRS][3], int b[PAIRS][3])
{
    int made = 0;
    for (int p = 0; p < 6; p++)
        for (int q = p + 1; q < 6; q++) {
            if (p / 2 == q / 2)
                continue;
            for (int i = 0; i < 3; i++) {
                a[made][i] = i == p / 2 ? 1 - p % 2 * 2 : 0;
                b[made][i] = i == q / 2 ? 1 - q % 2 * 2 : 0;
            }
            made++;
        }
}

/* Place of a voxel, -1 where it is outside or not valid. */
static long place(const images *m, int x, int y, int z)
{
    const int at[3] = {x, y, z};
    for (int i = 0; i < 3; i++)
        if (at[i] < 0 || at[i] >= m->size[i])
            return -1;
    long v = ((long)z * m->size[1] + y) * m->size[0] + x;
    return isfinite(m->value[0][v]) && isfinite(m->value[1][v]) ? v : -1;
}

/* The squared differences of a pair's patches around a voxel, of one image, or, where derivative is given, adds to
 * it those by the image's values times weight. */
static double patch(const images *m, int side, const int at[3], const int *a, const int *b, double weight,
                    double *derivative)
{
    int r = m->radius;
    double sum = 0, volume = pow(2 * r + 1, 3);
    for (int k = -r; k <= r; k++)
        for (int j = -r; j <= r; j++)
            for (int i = -r; i <= r; i++) {
                long p = place(m, at[0] + a[0] + i, at[1] + a[1] + j, at[2] + a[2] + k);
                long q = place(m, at[0] + b[0] + i, at[1] + b[1] + j, at[2] + b[2] + k);
                if (p < 0 || q < 0)
                    continue;
                double d = m->value[side][p] - m->value[side][q];
                sum += d * d / volume;
                if (derivative) {
                    derivative[p] += weight * 2 * d / volume;
                    derivative[q] -= weight * 2 * d / volume;
                }
            }
    return sum;
}

void ref_mind(const double *fixed, const double *moving, const int size[3], int radius, double epsilon,
              double *derivative_moving, double *derivative_fixed, double *s, double *count)
{
    const images m = {{fixed, moving}, size, radius, epsilon};
    double *derivative[2] = {derivative_fixed, derivative_moving};
    int a[PAIRS][3], b[PAIRS][3];
    pairs_of(a, b);
    *s = *count = 0;
    for (long v = 0; v < (long)size[0] * size[1] * size[2]; v++)
        derivative_fixed[v] = derivative_moving[v] = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++) {
                const int at[3] = {x, y, z};
                double d[2][PAIRS], value[2][PAIRS], v[2] = {epsilon, epsilon};
                if (place(&m, x, y, z) < 0)
                    continue;
                for (int side = 0; side < 2; side++) {
                    for (int k = 0; k < PAIRS; k++) {
                        d[side][k] = patch(&m, side, at, a[k], b[k], 0, NULL) + epsilon;
                        v[side] += (d[side][k] - epsilon) / PAIRS;
                    }
                    for (int k = 0; k < PAIRS; k++)
                        value[side][k] = exp(-d[side][k] / v[side]);
                }
                *count += 1;
                for (int k = 0; k < PAIRS; k++)
                    *s -= pow(value[1][k] - value[0][k], 2) / (2 * PAIRS);
                for (int side = 0; side < 2; side++) {
                    double by_mean = 0; /* dS/dV */
                    for (int k = 0; k < PAIRS; k++)
                        by_mean -= (value[side][k] - value[!side][k]) / PAIRS * value[side][k] * d[side][k] /
                                   (v[side] * v[side]);
                    for (int k = 0; k < PAIRS; k++) {
                        double by_distance = (value[side][k] - value[!side][k]) / PAIRS * value[side][k] / v[side];
                        patch(&m, side, at, a[k], b[k], by_distance + by_mean / PAIRS, derivative[side]);
                    }
                }
            }
}
