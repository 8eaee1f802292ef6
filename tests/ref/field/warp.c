/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/field/warp.h"

#include <math.h>
#include <stdlib.h>

void ref_position(const clv_map *map, const float *field, const int size[3], int x, int y, int z,
                  double p[3])
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    size_t i = ((size_t)z * (size_t)size[1] + (size_t)y) * (size_t)size[0] + (size_t)x;
    for (int a = 0; a < 3; a++) {
        const float *row = map->linear[a];
        p[a] = (double)row[0] * x + (double)row[1] * y + (double)row[2] * z + row[3];
        for (int b = 0; field && b < 3; b++)
            p[a] += (double)map->shift[a][b] * field[(size_t)b * n + i];
    }
}

static double at(const float *in, const int n[3], int kind, int x, int y, int z)
{
    int i[3] = {x, y, z};
    for (int a = 0; a < 3; a++)
        if (kind == REF_BSPLINE && n[a] > 1)
            i[a] = (n[a] - 1) - abs((n[a] - 1) - abs(i[a]));
    for (int a = 0; a < 3; a++)
        i[a] = i[a] < 0 ? 0 : i[a] >= n[a] ? n[a] - 1 : i[a];
    return in[((size_t)i[2] * (size_t)n[1] + (size_t)i[1]) * (size_t)n[0] + (size_t)i[0]];
}

static bool holds(const int n[3], int x, int y, int z)
{
    return x >= 0 && x < n[0] && y >= 0 && y < n[1] && z >= 0 && z < n[2];
}

/* Weight of the voxel at distance d: the textbook kernels, of Keys (a = -1/2) where cubic. */
static double weight(int kind, double d)
{
    d = fabs(d);
    if (kind == REF_GAUSSIAN) /* what the voxel covers */
        return d < 1.5 ? (erf((d + .5) * M_SQRT1_2) - erf((d - .5) * M_SQRT1_2)) / 2 : 0;
    if (kind == REF_BSPLINE)
        return d < 1 ? 2. / 3 - d * d + d * d * d / 2 : d < 2 ? (2 - d) * (2 - d) * (2 - d) / 6 : 0;
    if (kind == REF_LANCZOS)
        return !(d > 0) ? 1 : d >= 3 || fabs(d - rint(d)) < 1e-12 ? 0
               : 3 * sin(M_PI * d) * sin(M_PI * d / 3) / (M_PI * M_PI * d * d);
    if (kind != REF_CUBIC)
        return d < 1 ? 1 - d : 0;
    return d < 1 ? 1.5 * d * d * d - 2.5 * d * d + 1 : d < 2 ? -0.5 * d * d * d + 2.5 * d * d - 4 * d + 2 : 0;
}

double ref_sample(const float *in, const int n[3], const double p[3], int kind, double outside,
                  double slack, int *unsure)
{
    double q[3], label[8], votes[8];
    int base[3], labels = 0;
    bool inside = true;
    for (int a = 0; a < 3; a++) {
        if (!(p[a] >= -0.5 && p[a] <= n[a] - 0.5))
            inside = false;
        if (fabs(p[a] + 0.5) < slack || fabs(p[a] - (n[a] - 0.5)) < slack)
            *unsure = 1;
        q[a] = fmin(fmax(p[a], 0), n[a] - 1);
        if ((kind == REF_NEAREST || kind == REF_GAUSSIAN) && fabs(q[a] - floor(q[a]) - 0.5) < slack)
            *unsure = 1;
        /* A weight of nearly 0 times NaN is NaN or nothing. */
        if (kind != REF_NEAREST && fabs(q[a] - rint(q[a])) < slack && fabs(q[a] - rint(q[a])) > 0)
            *unsure = 1;
        base[a] = inside ? (int)floor(q[a]) : 0;
    }
    if (!inside)
        return outside;
    if (kind == REF_NEAREST)
        return at(in, n, kind, (int)floor(q[0] + 0.5), (int)floor(q[1] + 0.5), (int)floor(q[2] + 0.5));
    double sum = 0, weights = 0;
    const int first = kind == REF_LANCZOS ? -2 : -1, last = kind == REF_LANCZOS ? 3 : 2;
    for (int dz = first; dz <= last; dz++)
        for (int dy = first; dy <= last; dy++)
            for (int dx = first; dx <= last; dx++) {
                double w = weight(kind, base[0] + dx - q[0]) * weight(kind, base[1] + dy - q[1]) *
                           weight(kind, base[2] + dz - q[2]);
                double v = at(in, n, kind, base[0] + dx, base[1] + dy, base[2] + dz);
                if (kind == REF_GAUSSIAN && !holds(n, base[0] + dx, base[1] + dy, base[2] + dz))
                    continue;
                if (w == 0)
                    continue;
                sum += w * v;
                weights += w;
                int k = 0;
                while (k < labels && label[k] != v)
                    k++;
                if (kind != REF_LABEL || isnan(v))
                    continue;
                if (k == labels) {
                    label[labels] = v;
                    votes[labels++] = 0;
                }
                votes[k] += w;
            }
    if (kind != REF_LABEL)
        return kind == REF_LANCZOS || kind == REF_GAUSSIAN ? sum / weights : sum;
    int best = 0;
    for (int k = 1; k < labels; k++)
        if (votes[k] > votes[best] || (votes[k] == votes[best] && label[k] < label[best]))
            best = k;
    for (int k = 0; k < labels; k++)
        if (k != best && votes[best] - votes[k] < slack)
            *unsure = 1;
    return labels ? label[best] : (double)NAN;
}

void ref_warp(const float *in, const int in_size[3], const clv_map *map, const float *field,
              int kind, double outside, double slack, double *out, int *unsure,
              const int out_size[3])
{
    size_t i = 0;
    for (int z = 0; z < out_size[2]; z++)
        for (int y = 0; y < out_size[1]; y++)
            for (int x = 0; x < out_size[0]; x++, i++) {
                double p[3];
                unsure[i] = 0;
                ref_position(map, field, out_size, x, y, z, p);
                out[i] = ref_sample(in, in_size, p, kind, outside, slack, &unsure[i]);
            }
}
