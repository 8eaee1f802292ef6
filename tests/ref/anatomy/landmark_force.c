/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/anatomy/landmark_force.h"

#include <math.h>
#include <string.h>

/* Share of voxel i of an axis of n in what is interpolated at p, and its derivative by p. */
static double hat(double p, int i, int n, double *slope)
{
    double q = fmin(fmax(p, 0), n - 1), t = fabs(q - i);
    *slope = n > 1 && p >= 0 && p <= n - 1 && t < 1 ? (q > i ? -1 : 1) : 0;
    return fmax(0, 1 - t);
}

/* p + u(p) in voxels and its derivative. */
static void map(const double *u, const int size[3], const double spacing[3], const double p[3], double to[3],
                double d[3][3])
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    int first[3];
    for (int c = 0; c < 3; c++) {
        to[c] = p[c];
        first[c] = (int)floor(fmin(fmax(p[c], 0), size[c] - 1));
        for (int a = 0; a < 3; a++)
            d[c][a] = a == c;
    }
    for (int z = first[2]; z < size[2] && z < first[2] + 2; z++)
        for (int y = first[1]; y < size[1] && y < first[1] + 2; y++)
            for (int x = first[0]; x < size[0] && x < first[0] + 2; x++) {
                size_t i = ((size_t)z * (size_t)size[1] + (size_t)y) * (size_t)size[0] + (size_t)x;
                double s[3], w[3] = {hat(p[0], x, size[0], &s[0]), hat(p[1], y, size[1], &s[1]),
                                     hat(p[2], z, size[2], &s[2])};
                for (int c = 0; c < 3; c++) {
                    double v = u[(size_t)c * n + i] / spacing[c];
                    to[c] += w[0] * w[1] * w[2] * v;
                    d[c][0] += s[0] * w[1] * w[2] * v;
                    d[c][1] += w[0] * s[1] * w[2] * v;
                    d[c][2] += w[0] * w[1] * s[2] * v;
                }
            }
}

/* x with m x = b, by Cramer's rule. */
static void solve(const double m[3][3], const double b[3], double x[3])
{
    double det[4];
    for (int k = 0; k < 4; k++) {
        double a[3][3];
        for (int i = 0; i < 9; i++)
            a[i / 3][i % 3] = i % 3 == k ? b[i / 3] : m[i / 3][i % 3];
        det[k] = a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) - a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
                 a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
    }
    for (int k = 0; k < 3; k++)
        x[k] = det[k] / det[3];
}

/* Short steps first, which cannot miss a map that is not far from the identity, then Newton's. */
static void find(const double *u, const int size[3], const double spacing[3], const double goal[3], double p[3],
                 double d[3][3])
{
    double to[3], left[3], way[3];
    memcpy(p, goal, 3 * sizeof *p);
    for (int i = 0; i < 80; i++) {
        map(u, size, spacing, p, to, d);
        for (int c = 0; c < 3; c++)
            left[c] = goal[c] - to[c];
        solve((const double(*)[3])d, left, way);
        for (int c = 0; c < 3; c++)
            p[c] += i < 60 ? .5 * left[c] : way[c];
    }
    map(u, size, spacing, p, to, d);
}

double ref_landmark_track(const double *points, int count, const double *u, const double *second, const int size[3],
                          const double spacing[3], double weight, double *place, double *vector)
{
    double sum = 0;
    for (int k = 0; k < count; k++) {
        double *p[2] = {place + 3 * k, place + 3 * (count + k)}, d[2][3][3], apart[3];
        find(u, size, spacing, points + 3 * k, p[0], d[0]);
        memcpy(p[1], points + 3 * (count + k), 3 * sizeof(double));
        if (second)
            find(second, size, spacing, points + 3 * (count + k), p[1], d[1]);
        for (int c = 0; c < 3; c++) {
            apart[c] = (p[0][c] - p[1][c]) * spacing[c];
            sum += apart[c] * apart[c] / count;
        }
        for (int side = 0; side < 2; side++) {
            double turned[3][3], *v = vector + 3 * (side * count + k);
            memset(v, 0, 3 * sizeof *v);
            if (side && !second)
                continue;
            /* In mm, transposed. */
            for (int i = 0; i < 9; i++)
                turned[i / 3][i % 3] = d[side][i % 3][i / 3] * spacing[i % 3] / spacing[i / 3];
            solve((const double(*)[3])turned, apart, v);
            for (int c = 0; c < 3; c++)
                v[c] *= (side ? -2 : 2) * weight / count;
        }
    }
    return sum;
}

void ref_landmark_force(const double *place, const double *vector, int count, const float *sigma, double *force,
                        const int size[3])
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2], i = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++)
                for (int k = 0; k < count; k++) {
                    const int at[3] = {x, y, z};
                    double share = 1, not_asked;
                    for (int a = 0; a < 3; a++) {
                        double p = place[3 * k + a], s = sigma ? fmax(1, (double)sigma[a]) : 0, t = (at[a] - p) / s;
                        if (!sigma)
                            share *= hat(p, at[a], size[a], &not_asked);
                        else if (size[a] > 1)
                            share *= fabs(t) <= 4 ? exp(-.5 * t * t) / (s * sqrt(2 * acos(-1))) : 0;
                    }
                    for (int c = 0; c < 3; c++)
                        force[(size_t)c * n + i] += share * vector[3 * k + c];
                }
}
