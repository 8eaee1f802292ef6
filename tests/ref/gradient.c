/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/gradient.h"

static double difference(const float *a, const int size[3], const float spacing[3], int x, int y, int z,
                         int axis)
{
    int at[3] = {x, y, z}, before[3] = {x, y, z}, after[3] = {x, y, z};
    if (at[axis] > 0)
        before[axis]--;
    if (at[axis] < size[axis] - 1)
        after[axis]++;
    if (after[axis] == before[axis])
        return 0;
    double high = a[(after[2] * size[1] + after[1]) * size[0] + after[0]];
    double low = a[(before[2] * size[1] + before[1]) * size[0] + before[0]];
    return (high - low) / ((after[axis] - before[axis]) * (double)spacing[axis]);
}

void ref_gradient(const float *a, const int size[3], const float spacing[3], double *out)
{
    for (int axis = 0; axis < 3; axis++)
        for (int z = 0; z < size[2]; z++)
            for (int y = 0; y < size[1]; y++)
                for (int x = 0; x < size[0]; x++)
                    *out++ = difference(a, size, spacing, x, y, z, axis);
}
