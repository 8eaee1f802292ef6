/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/match/metric_force.h"

#include <math.h>

#include "ref/field/warp.h"

/* Whether the corners of the cell that holds q, and so does its own value, are all finite. */
static bool all_finite(const float *in, const int n[3], const int base[3])
{
    for (int k = 0; k < 8; k++) {
        size_t at[3];
        for (int a = 0; a < 3; a++) {
            int i = base[a] + (k >> a & 1);
            at[a] = (size_t)(i < n[a] ? i : n[a] - 1);
        }
        if (!isfinite(in[(at[2] * (size_t)n[1] + at[1]) * (size_t)n[0] + at[0]]))
            return false;
    }
    return true;
}

/* The gradient of T at p: T is linear along an axis from one voxel to the
 * next, so that the difference of its values there is its derivative. False where
 * there is none. */
static bool gradient(const float *in, const int n[3], const double p[3], double slack, double d[3],
                       int *unsure)
{
    double q[3];
    int base[3], not_asked;
    for (int a = 0; a < 3; a++) {
        double whole = rint(p[a]);
        if (fabs(p[a] + 0.5) < slack || fabs(p[a] - (n[a] - 0.5)) < slack ||
            (fabs(p[a] - whole) < slack && fabs(p[a] - whole) > 0))
            *unsure = 1;
    }
    for (int a = 0; a < 3; a++) {
        if (!(p[a] >= -0.5 && p[a] <= n[a] - 0.5))
            return false;
        q[a] = fmin(fmax(p[a], 0), n[a] - 1);
        base[a] = (int)floor(q[a]);
        if (base[a] == n[a] - 1 && n[a] > 1)
            base[a]--;
    }
    if (!all_finite(in, n, base))
        return false;
    for (int a = 0; a < 3; a++) {
        double low[3] = {q[0], q[1], q[2]}, high[3] = {q[0], q[1], q[2]};
        low[a] = base[a];
        high[a] = base[a] + 1;
        bool flat = p[a] < 0 || p[a] > n[a] - 1 || n[a] == 1;
        d[a] = flat ? 0
                    : ref_sample(in, n, high, REF_LINEAR, 0, 0, &not_asked) -
                          ref_sample(in, n, low, REF_LINEAR, 0, 0, &not_asked);
    }
    return true;
}

void ref_metric_force(const float *moving, const int moving_size[3], const clv_map *map, const float *u,
              const float *derivative, double weight, double keep, const float *axes, double slack, double *force,
              int *unsure, const int size[3])
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2], i = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++) {
                double p[3], d[3];
                unsure[i] = 0;
                ref_position(map, u, size, x, y, z, p);
                bool counts = gradient(moving, moving_size, p, slack, d, &unsure[i]);
                for (int a = 0; a < 3; a++) {
                    double *f = &force[(size_t)a * n + i], sum = 0;
                    for (int b = 0; counts && derivative[i] != 0 && b < 3; b++)
                        sum += (axes ? (double)axes[a] : 1) * weight * derivative[i] * map->shift[b][a] * d[b];
                    *f = (keep != 0 ? keep * *f : 0) + sum;
                }
            }
}

double ref_metric_force_sum(const float *moving, const int moving_size[3], const clv_map *map,
                    const float *u, const float *derivative, const int size[3])
{
    double sum = 0, p[3];
    int not_asked;
    size_t i = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++) {
                ref_position(map, u, size, x, y, z, p);
                sum += derivative[i] * ref_sample(moving, moving_size, p, REF_LINEAR, 0, 0, &not_asked);
            }
    return sum;
}
