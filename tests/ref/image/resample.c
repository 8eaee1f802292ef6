/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/resample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Along one axis: smoothed values at the positions of the coarse axis. */
static void along(const double *in, int n, int stride, double *out, int m, int out_stride)
{
    double f = (double)n / m, sigma = 0.5 * sqrt(fmax(f * f - 1, 0));
    int radius = sigma > 0 ? (int)fmax(ceil(3 * sigma), 1) : 0;
    for (int i = 0; i < m; i++) {
        double p = fmin(fmax((i + 0.5) * f - 0.5, 0), n - 1), value[2] = {0, 0};
        int base = (int)p;
        for (int side = 0; side < 2; side++) {
            double weights = 0;
            for (int k = -radius; k <= radius; k++) {
                double w = sigma > 0 ? exp(-0.5 * k * k / (sigma * sigma)) : 1;
                int at = base + side + k;
                at = at < 0 ? 0 : at >= n ? n - 1 : at;
                value[side] += w * in[at * stride];
                weights += w;
            }
            value[side] /= weights;
        }
        out[i * out_stride] = value[0] + (p - base) * (value[1] - value[0]);
    }
}

void ref_downsample(const float *in, const int in_size[3], double *out, const int out_size[3])
{
    int size[3] = {in_size[0], in_size[1], in_size[2]};
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
    for (size_t i = 0; i < n; i++)
        a[i] = (double)in[i];
    for (int axis = 0; axis < 3; axis++) {
        int next[3] = {size[0], size[1], size[2]};
        next[axis] = out_size[axis];
        int stride = axis == 0 ? 1 : axis == 1 ? size[0] : size[0] * size[1];
        int next_stride = axis == 0 ? 1 : axis == 1 ? next[0] : next[0] * next[1];
        for (int z = 0; z < (axis == 2 ? 1 : size[2]); z++)
            for (int y = 0; y < (axis == 1 ? 1 : size[1]); y++)
                for (int x = 0; x < (axis == 0 ? 1 : size[0]); x++)
                    along(a + (z * size[1] + y) * size[0] + x, size[axis], stride,
                          b + (z * next[1] + y) * next[0] + x, next[axis], next_stride);
        double *swap = a;
        a = b;
        b = swap;
        memcpy(size, next, sizeof size);
    }
    memcpy(out, a, (size_t)size[0] * (size_t)size[1] * (size_t)size[2] * sizeof *out);
    free(a);
    free(b);
}
