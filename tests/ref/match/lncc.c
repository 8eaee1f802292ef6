/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/match/lncc.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* The window around a voxel: means first, then deviations from them. */
typedef struct stats {
    double n, mf, mm, vf, vm, c;
} stats;

static size_t at(const int n[3], int x, int y, int z)
{
    return ((size_t)z * (size_t)n[1] + (size_t)y) * (size_t)n[0] + (size_t)x;
}

typedef struct box {
    int low[3], high[3];
} box;

static box box_around(const int n[3], int r, int x, int y, int z)
{
    int c[3] = {x, y, z};
    box b;
    for (int a = 0; a < 3; a++) {
        b.low[a] = c[a] < r ? 0 : c[a] - r;
        b.high[a] = c[a] + r >= n[a] ? n[a] - 1 : c[a] + r;
    }
    return b;
}

#define FOR_BOX(b)                                     \
    for (int k = (b).low[2]; k <= (b).high[2]; k++)    \
        for (int j = (b).low[1]; j <= (b).high[1]; j++) \
            for (int i = (b).low[0]; i <= (b).high[0]; i++)

static bool is_valid(const double *fixed, const double *moving, size_t i)
{
    return isfinite(fixed[i]) && isfinite(moving[i]);
}

static stats stats_of(const double *fixed, const double *moving, const int size[3], int r, int x, int y,
                      int z)
{
    stats s = {0};
    box b = box_around(size, r, x, y, z);
    FOR_BOX(b) {
        size_t v = at(size, i, j, k);
        if (!is_valid(fixed, moving, v))
            continue;
        s.n++;
        s.mf += fixed[v];
        s.mm += moving[v];
    }
    s.mf /= s.n;
    s.mm /= s.n;
    FOR_BOX(b) {
        size_t v = at(size, i, j, k);
        if (!is_valid(fixed, moving, v))
            continue;
        s.vf += (fixed[v] - s.mf) * (fixed[v] - s.mf);
        s.vm += (moving[v] - s.mm) * (moving[v] - s.mm);
        s.c += (fixed[v] - s.mf) * (moving[v] - s.mm);
    }
    s.vf /= s.n;
    s.vm /= s.n;
    s.c /= s.n;
    return s;
}

double ref_lncc_at(const double *fixed, const double *moving, const int size[3], int radius, double epsilon,
                   int x, int y, int z, bool *valid)
{
    *valid = is_valid(fixed, moving, at(size, x, y, z));
    if (!*valid)
        return 0;
    stats s = stats_of(fixed, moving, size, radius, x, y, z);
    return (s.c + epsilon) * (s.c + epsilon) / ((s.vf + epsilon) * (s.vm + epsilon));
}

/* Derivative of window s by its voxel with values f and m. */
static double derivative(const stats *s, double f, double m, double epsilon)
{
    double df = s->vf + epsilon, dm = s->vm + epsilon;
    return 2 * (s->c + epsilon) / (s->n * df * dm) * (f - s->mf) -
           2 * (s->c + epsilon) * (s->c + epsilon) / (s->n * df * dm * dm) * (m - s->mm);
}

void ref_lncc(const double *fixed, const double *moving, const int size[3], int radius, double epsilon,
              bool local, double *derivative_moving, double *derivative_fixed, double *sum, double *count)
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    *sum = *count = 0;
    for (size_t v = 0; v < n; v++)
        derivative_moving[v] = derivative_fixed[v] = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++) {
                size_t here = at(size, x, y, z);
                if (!is_valid(fixed, moving, here))
                    continue;
                stats s = stats_of(fixed, moving, size, radius, x, y, z);
                stats t = {s.n, s.mm, s.mf, s.vm, s.vf, s.c}; /* images exchanged */
                *sum += (s.c + epsilon) * (s.c + epsilon) / ((s.vf + epsilon) * (s.vm + epsilon));
                *count += 1;
                box b = box_around(size, radius, x, y, z);
                FOR_BOX(b) {
                    size_t v = at(size, i, j, k);
                    if (!is_valid(fixed, moving, v) || (local && v != here))
                        continue;
                    double scale = local ? s.n : 1;
                    derivative_moving[v] += scale * derivative(&s, fixed[v], moving[v], epsilon);
                    derivative_fixed[v] += scale * derivative(&t, moving[v], fixed[v], epsilon);
                }
            }
}
