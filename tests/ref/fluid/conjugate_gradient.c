/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/fluid/conjugate_gradient.h"

#include <stdlib.h>

#include "ref/fluid/fluid_operator.h"

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

void ref_conjugate_gradient(const clv_fluid_operator *op, const double *f, int iterations, double *v)
{
    size_t n = 3 * (size_t)op->size[0] * (size_t)op->size[1] * (size_t)op->size[2];
    double *r = malloc(3 * n * sizeof *r), *d = r + n, *q = r + 2 * n;
    ref_fluid_operator(op, v, q);
    for (size_t i = 0; i < n; i++)
        r[i] = d[i] = f[i] - q[i];
    double square = dot(r, r, n);
    for (int k = 0; k < iterations && square > 0; k++) {
        ref_fluid_operator(op, d, q);
        double step = square / dot(d, q, n), before = square;
        for (size_t i = 0; i < n; i++) {
            v[i] += step * d[i];
            r[i] -= step * q[i];
        }
        square = dot(r, r, n);
        for (size_t i = 0; i < n; i++)
            d[i] = r[i] + square / before * d[i];
    }
    free(r);
}
