/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/tv.h"

#include <math.h>
#include <stdbool.h>

static int count(const ref_tv *tv)
{
    return tv->size[0] * tv->size[1] * tv->size[2];
}

static bool inside(const ref_tv *tv, int i)
{
    return !tv->mask || tv->mask[i] > 0;
}

/* The next voxel along the axis; -1: none, or one of the two is outside. */
static int next(const ref_tv *tv, int i, int axis)
{
    const int *n = tv->size, stride[3] = {1, n[0], n[0] * n[1]};
    int place = i / stride[axis] % n[axis];
    return place + 1 < n[axis] && inside(tv, i) && inside(tv, i + stride[axis]) ? i + stride[axis] : -1;
}

static double difference(const ref_tv *tv, const double *u, int i, int axis)
{
    int j = next(tv, i, axis);
    return j < 0 ? 0 : tv->weight[axis] * (u[j] - u[i]);
}

/* Minus the adjoint of the differences, of one channel. */
static double divergence(const ref_tv *tv, const double *dual, int i)
{
    const int *n = tv->size, stride[3] = {1, n[0], n[0] * n[1]};
    double sum = 0;
    for (int a = 0; a < 3; a++) {
        if (next(tv, i, a) >= 0)
            sum += tv->weight[a] * dual[3 * i + a];
        if (i / stride[a] % n[a] > 0 && next(tv, i - stride[a], a) >= 0)
            sum -= tv->weight[a] * dual[3 * (i - stride[a]) + a];
    }
    return sum;
}

void ref_tv_step(const ref_tv *tv, double tau, double sigma, double theta, double *u, double *ahead,
                 double *dual)
{
    const int n = count(tv);
    for (int i = 0; i < n; i++) {
        double square = 0;
        for (int c = 0; c < tv->channels; c++)
            for (int a = 0; a < 3; a++) {
                double *p = dual + 3 * (c * n + i) + a;
                *p += sigma * difference(tv, ahead + c * n, i, a);
                square += *p * *p;
            }
        if (square <= tv->radius * tv->radius)
            continue;
        for (int k = 0; k < 3 * tv->channels; k++)
            dual[3 * (k / 3 * n + i) + k % 3] *= tv->radius / sqrt(square);
    }
    for (int k = 0; k < tv->channels * n; k++) {
        if (!inside(tv, k % n))
            continue;
        double old = u[k];
        u[k] =
            (old + tau * ((double)tv->data[k] + divergence(tv, dual + 3 * (k / n) * n, k % n))) / (1 + tau);
        ahead[k] = u[k] + theta * (u[k] - old);
    }
}

void ref_tv_energy(const ref_tv *tv, const double *u, const double *dual, double *variation, double *fit,
                   double *gap)
{
    const int n = count(tv);
    double bound = 0;
    *variation = *fit = 0;
    for (int i = 0; i < n; i++) {
        double square = 0;
        for (int c = 0; c < tv->channels; c++)
            for (int a = 0; a < 3; a++)
                square += pow(difference(tv, u + c * n, i, a), 2);
        *variation += sqrt(square);
    }
    for (int k = 0; k < tv->channels * n; k++) {
        if (!inside(tv, k % n))
            continue;
        double f = (double)tv->data[k], best = f + divergence(tv, dual + 3 * (k / n) * n, k % n);
        *fit += 0.5 * pow(u[k] - f, 2);
        bound += 0.5 * (f * f - best * best);
    }
    *gap = tv->radius * *variation + *fit - bound;
}
