/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/rates.h"

#include <math.h>
#include <stddef.h>

static double derivative(const double *f, const int i[3], const int size[3], const double spacing[3], int axis)
{
    int low[3] = {i[0], i[1], i[2]}, high[3] = {i[0], i[1], i[2]};
    if (low[axis] > 0)
        low[axis]--;
    if (high[axis] < size[axis] - 1)
        high[axis]++;
    if (high[axis] == low[axis])
        return 0;
    size_t a = ((size_t)low[2] * size[1] + low[1]) * size[0] + low[0];
    size_t b = ((size_t)high[2] * size[1] + high[1]) * size[0] + high[0];
    return (f[b] - f[a]) / ((high[axis] - low[axis]) * spacing[axis]);
}

void ref_rates(const double *u, const int size[3], const double spacing[3], double lambda, double *rate)
{
    size_t n = (size_t)size[0] * size[1] * size[2], at = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, at++) {
                const int i[3] = {x, y, z};
                double m[3][3];
                for (int c = 0; c < 3; c++)
                    for (int axis = 0; axis < 3; axis++)
                        m[c][axis] = (c == axis) - derivative(u + c * n, i, size, spacing, axis);
                double j = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                           m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
                double c = fmax(j, 1e-3);
                rate[at] = lambda * (log(c) + 1 - 1 / c + (1 / c + 1 / (c * c)) * (j - c));
            }
}
