/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/ref/texture_filter.h"

#include <math.h>

static int clamp(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

void ref_texture_sobel(const float *in, const int size[3], double *out)
{
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++) {
                double gx = 0, gy = 0;
                for (int j = -1; j <= 1; j++)
                    for (int i = -1; i <= 1; i++) {
                        double v = (double)
                            in[(z * size[1] + clamp(y + j, size[1])) * size[0] + clamp(x + i, size[0])];
                        gx += i * (2 - j * j) * v;
                        gy += j * (2 - i * i) * v;
                    }
                *out++ = sqrt(gx * gx + gy * gy);
            }
}

void ref_texture_unsharp(const float *in, int n, double alpha, double *out)
{
    for (int i = 0; i < n; i++)
        out[i] += (1 + alpha) * ((double)in[i] - out[i]);
}
