/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/nlm.h"

#include <math.h>

static int clamp(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static double at(const float *v, const int *n, const int x[3])
{
    return (double)v[(clamp(x[2], n[2]) * n[1] + clamp(x[1], n[1])) * n[0] + clamp(x[0], n[0])];
}

/* Sum over a patch of the squared differences, or of the differences themselves of the boxes around two voxels. */
static double box(const float *v, const int *n, const int x[3], const int y[3], int radius, bool squared)
{
    double sum = 0;
    for (int c = -radius; c <= radius; c++)
        for (int b = -radius; b <= radius; b++)
            for (int a = -radius; a <= radius; a++) {
                const int p[3] = {x[0] + a, x[1] + b, x[2] + c}, q[3] = {y[0] + a, y[1] + b, y[2] + c};
                double d = at(v, n, p) - at(v, n, q);
                sum += squared ? d * d : d;
            }
    return sum;
}

/* The difference of the means of the boxes, each clamped to the volume at the voxel's own place first. */
static double means(const float *v, const int *n, const int x[3], const int y[3])
{
    return box(v, n, x, y, 1, false) / 27;
}

static double weight(const ref_nlm *r, const int x[3], const int y[3], double sigma)
{
    double q, side = 2 * r->patch + 1;
    if (r->guide) {
        double d = at(r->guide, r->size, x) - at(r->guide, r->size, y), m = means(r->guide, r->size, x, y);
        q = (d * d + 3 * m * m) / (r->strength * sigma * sigma);
    } else {
        q = (box(r->value, r->size, x, y, r->patch, true) / (side * side * side) - 2 * sigma * sigma) /
            (r->strength * sigma * sigma);
    }
    return q >= 8 ? 0 : pow(1 - fmax(q, 0) / 8, 8);
}

static double voxel(const ref_nlm *r, const int x[3], double sigma)
{
    const int *n = r->size, s = r->search;
    double own = at(r->value, n, x), num = r->rician ? own * own : own, den = 1;
    if (!(sigma > 0))
        return own;
    for (int z = clamp(x[2] - s, n[2]); z <= clamp(x[2] + s, n[2]); z++)
        for (int y = clamp(x[1] - s, n[1]); y <= clamp(x[1] + s, n[1]); y++)
            for (int k = clamp(x[0] - s, n[0]); k <= clamp(x[0] + s, n[0]); k++) {
                const int to[3] = {k, y, z};
                if (k == x[0] && y == x[1] && z == x[2])
                    continue;
                double w = weight(r, x, to, sigma), v = at(r->value, n, to);
                num += w * (r->rician ? v * v : v);
                den += w;
            }
    return r->rician ? sqrt(fmax(num / den - 2 * sigma * sigma, 0)) : num / den;
}

void ref_nlm_means(const ref_nlm *r, double *out)
{
    int x[3];
    for (x[2] = 0; x[2] < r->size[2]; x[2]++)
        for (x[1] = 0; x[1] < r->size[1]; x[1]++)
            for (x[0] = 0; x[0] < r->size[0]; x[0]++) {
                double sigma = at(r->sigma, r->size, x);
                *out++ = voxel(r, x, sigma);
            }
}
