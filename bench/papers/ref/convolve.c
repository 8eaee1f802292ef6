/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/ref/convolve.h"

static int clamp(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

void ref_convolve(const float *in, const int size[3], int radius, const float *mask, double *out)
{
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++) {
                const float *weight = mask;
                double sum = 0;
                for (int dy = -radius; dy <= radius; dy++)
                    for (int dx = -radius; dx <= radius; dx++) {
                        int at = (z * size[1] + clamp(y + dy, size[1])) * size[0] + clamp(x + dx, size[0]);
                        sum += (double)*weight++ * (double)in[at];
                    }
                *out++ = sum;
            }
}
