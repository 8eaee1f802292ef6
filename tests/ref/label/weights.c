/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/label/weights.h"

#include <math.h>
#include <stddef.h>

enum { REACH = 2, SIDE = 2 * REACH + 1, VOXELS = SIDE * SIDE * SIDE };

static int offset(const ref_label_stack *s, int x, int y, int z)
{
    return (z * s->size[1] + y) * s->size[0] + x;
}

static const float *volume_of(const ref_label_stack *s, int volume)
{
    return s->images + (size_t)volume * (size_t)offset(s, 0, 0, s->size[2]);
}

/* The patch at x with mean 0 and variance 1; returns whether it varies. */
static bool patch(const ref_label_stack *s, int volume, int x, double *to)
{
    double m[2];
    int i = 0;
    ref_label_moments(s, volume, x, m);
    for (int c = -REACH; c <= REACH; c++)
        for (int b = -REACH; b <= REACH; b++)
            for (int a = -REACH; a <= REACH; a++)
                to[i++] = ((double)volume_of(s, volume)[x + offset(s, a, b, c)] - m[0]) * m[1];
    return m[1] > 0;
}

void ref_label_moments(const ref_label_stack *s, int volume, int x, double moments[2])
{
    double sum = 0, square = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int c = -REACH; c <= REACH; c++)
            for (int b = -REACH; b <= REACH; b++)
                for (int a = -REACH; a <= REACH; a++) {
                    const double v = (double)volume_of(s, volume)[x + offset(s, a, b, c)],
                                 d = v - sum / VOXELS;
                    if (pass)
                        square += d * d / VOXELS;
                    else
                        sum += v;
                }
    moments[0] = sum / VOXELS;
    moments[1] = square > 1e-10 * moments[0] * moments[0] ? 1 / sqrt(square) : 0;
}

double ref_label_unlike(const ref_label_stack *s, int x, int atlas, int shift)
{
    double own[VOXELS], other[VOXELS], sum = 0;
    patch(s, 0, x, own);
    patch(s, atlas + 1, x + shift, other);
    for (int i = 0; i < VOXELS; i++)
        sum += (own[i] - other[i]) * (own[i] - other[i]) / VOXELS;
    return sum;
}

int ref_label_shift(const ref_label_stack *s, int at)
{
    const int r = s->search, side = 2 * r + 1;
    return offset(s, at % side - r, at / side % side - r, at / (side * side) - r);
}

double ref_label_least(const ref_label_stack *s, int x, int atlas)
{
    const int side = 2 * s->search + 1;
    const int *labels = s->labels + (size_t)atlas * (size_t)offset(s, 0, 0, s->size[2]);
    double least = -1;
    for (int at = 0; at < side * side * side; at++) {
        const int shift = ref_label_shift(s, at);
        const double d = labels[x + shift] < 0 ? -1 : ref_label_unlike(s, x, atlas, shift);
        if (d >= 0 && (least < 0 || d < least))
            least = d;
    }
    return least;
}

/* Solves a w = 1 by Gauss's elimination with pivots; a is overwritten. */
static void solve(double a[REF_LABEL_MOST][REF_LABEL_MOST], int n, double *w)
{
    int order[REF_LABEL_MOST];
    for (int i = 0; i < n; i++) {
        order[i] = i;
        w[i] = 1;
    }
    for (int i = 0; i < n; i++) {
        int best = i;
        for (int k = i; k < n; k++)
            best = fabs(a[order[k]][i]) > fabs(a[order[best]][i]) ? k : best;
        const int swap = order[i];
        order[i] = order[best];
        order[best] = swap;
        for (int k = i + 1; k < n; k++) {
            const double f = a[order[k]][i] / a[order[i]][i];
            for (int j = i; j < n; j++)
                a[order[k]][j] -= f * a[order[i]][j];
            w[order[k]] -= f * w[order[i]];
        }
    }
    double x[REF_LABEL_MOST];
    for (int i = n - 1; i >= 0; i--) {
        x[i] = w[order[i]];
        for (int j = i + 1; j < n; j++)
            x[i] -= a[order[i]][j] * x[j];
        x[i] /= a[order[i]][i];
    }
    for (int i = 0; i < n; i++)
        w[i] = x[i];
}

static double joint_entry(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < VOXELS; i++)
        sum += a[i] * b[i] / VOXELS;
    return sum * sum;
}

/* Atlases who[0] and on, `count` of them. */
static void joint_weights(const ref_label_stack *s, int x, const int *shifts, const int *who, int count,
                          double ridge, double *w)
{
    static double d[REF_LABEL_MOST][VOXELS], m[REF_LABEL_MOST][REF_LABEL_MOST];
    double own[VOXELS], more[REF_LABEL_MOST];
    patch(s, 0, x, own);
    for (int i = 0; i < count; i++) {
        patch(s, who[i] + 1, x + shifts[who[i]], d[i]);
        for (int k = 0; k < VOXELS; k++)
            d[i][k] = fabs(d[i][k] - own[k]);
    }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            m[i][j] = joint_entry(d[i], d[j]);
    for (int i = 0; i < count; i++) {
        more[i] = 0;
        for (int j = 0; j < count; j++) {
            bool same = true;
            for (int k = 0; k < VOXELS; k++)
                same = same && fabs(d[i][k] - d[j][k]) <= 1e-12;
            more[i] += same ? ridge : 0;
        }
    }
    for (int i = 0; i < count; i++)
        m[i][i] += more[i];
    solve(m, count, w);
}

void ref_label_weights(const ref_label_stack *s, int x, const int *shifts, bool joint, double ridge,
                       double *weights)
{
    int who[REF_LABEL_MOST], count = 0;
    double w[REF_LABEL_MOST], all = 0;
    for (int k = 0; k < s->atlases; k++) {
        weights[k] = 0;
        if (ref_label_least(s, x, k) >= 0)
            who[count++] = k;
    }
    if (joint)
        joint_weights(s, x, shifts, who, count, ridge, w);
    for (int i = 0; i < count; i++) {
        const double d = joint ? 0 : ref_label_unlike(s, x, who[i], shifts[who[i]]);
        w[i] = joint ? fmax(w[i], 0) : 1 / (d * d + ridge);
        all += w[i];
    }
    for (int i = 0; i < count; i++)
        weights[who[i]] = w[i] / all;
}
