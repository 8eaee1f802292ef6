/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/dct.h"

#include <math.h>
#include <stddef.h>

enum { SIDE = 4 };

static int clamp(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static size_t place(const int *n, int x, int y, int z)
{
    return ((size_t)clamp(z, n[2]) * (size_t)n[1] + (size_t)clamp(y, n[1])) * (size_t)n[0] +
           (size_t)clamp(x, n[0]);
}

/* Orthonormal transform: frequency k at place i. */
static double cosine(int k, int i)
{
    return (k ? sqrt(2. / SIDE) : sqrt(1. / SIDE)) * cos(M_PI * k * (2 * i + 1) / (2 * SIDE));
}

double ref_dct_denoise(const float *in, const int size[3], const float *sigma, double threshold, double *out)
{
    const size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    double nearest = INFINITY, wave[SIDE][SIDE];
    for (int k = 0; k < SIDE * SIDE; k++)
        wave[k / SIDE][k % SIDE] = cosine(k / SIDE, k % SIDE);
    for (size_t i = 0; i < n; i++)
        out[i] = 0;
    for (int a = 0; a < 3; a++)
        threshold *= size[a] == 1 ? 2 : 1;
    for (int z = 1 - SIDE; z < size[2]; z++)
        for (int y = 1 - SIDE; y < size[1]; y++)
            for (int x = 1 - SIDE; x < size[0]; x++) {
                const double least = threshold * (double)sigma[place(size, x + 1, y + 1, z + 1)];
                for (int k = 0; k < SIDE * SIDE * SIDE; k++) {
                    const int f[3] = {k % SIDE, k / SIDE % SIDE, k / SIDE / SIDE};
                    double c = 0;
                    for (int i = 0; i < SIDE * SIDE * SIDE; i++) {
                        const int p[3] = {i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE};
                        c += wave[f[0]][p[0]] * wave[f[1]][p[1]] * wave[f[2]][p[2]] *
                             (double)in[place(size, x + p[0], y + p[1], z + p[2])];
                    }
                    if (k && least > 0)
                        nearest = fmin(nearest, fabs(fabs(c) / least - 1));
                    if (k && fabs(c) <= least)
                        continue;
                    for (int i = 0; i < SIDE * SIDE * SIDE; i++) {
                        const int p[3] = {x + i % SIDE, y + i / SIDE % SIDE, z + i / SIDE / SIDE};
                        if (p[0] < 0 || p[1] < 0 || p[2] < 0 || p[0] >= size[0] || p[1] >= size[1] ||
                            p[2] >= size[2])
                            continue;
                        out[place(size, p[0], p[1], p[2])] +=
                            c * wave[f[0]][i % SIDE] * wave[f[1]][i / SIDE % SIDE] *
                            wave[f[2]][i / SIDE / SIDE] / (SIDE * SIDE * SIDE);
                    }
                }
            }
    return nearest;
}
