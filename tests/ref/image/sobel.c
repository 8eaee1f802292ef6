/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/sobel.h"

#include <math.h>

static int clamp(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* All 27 neighbours with their weights, one axis at a time. */
static double component(const float *in, const int size[3], const float spacing[3], const int at[3],
                        int axis)
{
    double sum = 0;
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                const int d[3] = {dx, dy, dz};
                double weight = 1;
                for (int i = 0; i < 3; i++)
                    weight *= i == axis ? d[i] : d[i] == 0 ? 0.5 : 0.25;
                int x = clamp(at[0] + dx, size[0]), y = clamp(at[1] + dy, size[1]);
                int z = clamp(at[2] + dz, size[2]);
                sum += d[axis] ? weight * in[(z * size[1] + y) * size[0] + x] : 0;
            }
    return sum / (2 * (double)spacing[axis]);
}

void ref_sobel(const float *in, const int size[3], const float spacing[3], double *out)
{
    int at[3];
    for (at[2] = 0; at[2] < size[2]; at[2]++)
        for (at[1] = 0; at[1] < size[1]; at[1]++)
            for (at[0] = 0; at[0] < size[0]; at[0]++) {
                double square = 0;
                for (int axis = 0; axis < 3; axis++) {
                    double d = component(in, size, spacing, at, axis);
                    square += d * d;
                }
                *out++ = sqrt(square);
            }
}
