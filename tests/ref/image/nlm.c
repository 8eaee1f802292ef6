/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/nlm.h"

#include <math.h>
#include <stddef.h>

static int clamp(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static double at(const float *v, const int *n, const int x[3])
{
    return (double)v[(clamp(x[2], n[2]) * n[1] + clamp(x[1], n[1])) * n[0] + clamp(x[0], n[0])];
}

/* Sum over a patch of the squared differences, or of the differences themselves of the boxes around two
 * voxels. */
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

/* q of one frame. */
static double unlike(const ref_nlm *r, const int x[3], const int y[3])
{
    double side = 2 * r->patch + 1, sigma = at(r->sigma, r->size, x);
    if (r->guide) {
        double d = at(r->guide, r->size, x) - at(r->guide, r->size, y), m = means(r->guide, r->size, x, y);
        return (d * d + 3 * m * m) / (r->strength * sigma * sigma);
    }
    return (box(r->value, r->size, x, y, r->patch, true) / (side * side * side) - 2 * sigma * sigma) /
           (r->strength * sigma * sigma);
}

/* By the mean of all frames of q, guided: by the sum. */
static double weight(const ref_nlm *r, int frames, const int x[3], const int y[3])
{
    double q = 0;
    for (int f = 0; f < frames; f++)
        q += unlike(&r[f], x, y) / (r->guide ? 1 : frames);
    if (r->guide)
        return q >= 1 ? 0 : (1 - q) * (1 - q);
    return q >= 8 ? 0 : pow(1 - fmax(q, 0) / 8, 8);
}

/* Each frame, n values apart. */
static void voxel(const ref_nlm *r, int frames, const int x[3], double *out, size_t n)
{
    const int *size = r->size, s = r->search;
    double den = 1;
    if (!(at(r->sigma, size, x) > 0)) {
        for (int f = 0; f < frames; f++)
            out[(size_t)f * n] = at(r[f].value, size, x);
        return;
    }
    for (int f = 0; f < frames; f++)
        out[(size_t)f * n] = pow(at(r[f].value, size, x), r->rician ? 2 : 1);
    for (int z = clamp(x[2] - s, size[2]); z <= clamp(x[2] + s, size[2]); z++)
        for (int y = clamp(x[1] - s, size[1]); y <= clamp(x[1] + s, size[1]); y++)
            for (int k = clamp(x[0] - s, size[0]); k <= clamp(x[0] + s, size[0]); k++) {
                const int to[3] = {k, y, z};
                const int a = k - x[0], b = y - x[1], c = z - x[2], far = a * a + b * b + c * c;
                if (far == 0 || far > s * (s + 1))
                    continue;
                double w = weight(r, frames, x, to);
                for (int f = 0; f < frames; f++)
                    out[(size_t)f * n] += w * pow(at(r[f].value, size, to), r->rician ? 2 : 1);
                den += w;
            }
    for (int f = 0; f < frames; f++) {
        double *mean = &out[(size_t)f * n];
        *mean = r->rician ? sqrt(*mean / den) : *mean / den;
    }
}

void ref_nlm_joint(const ref_nlm *frame, int frames, double *out)
{
    const int *size = frame->size;
    const size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    int x[3];
    for (x[2] = 0; x[2] < size[2]; x[2]++)
        for (x[1] = 0; x[1] < size[1]; x[1]++)
            for (x[0] = 0; x[0] < size[0]; x[0]++)
                voxel(frame, frames, x, out++, n);
}

void ref_nlm_means(const ref_nlm *r, double *out)
{
    ref_nlm_joint(r, 1, out);
}
