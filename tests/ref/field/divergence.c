/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/field/divergence.h"

#include <stddef.h>

static size_t stride_of(const int size[3], int a)
{
    return a == 0 ? 1 : a == 1 ? (size_t)size[0] : (size_t)size[0] * (size_t)size[1];
}

void ref_divergence(const double *v, const int size[3], const double spacing[3], double *out)
{
    size_t n = stride_of(size, 2) * (size_t)size[2];
    for (size_t i = 0; i < n; i++) {
        out[i] = 0;
        for (int a = 0; a < 3; a++) {
            size_t stride = stride_of(size, a);
            int at = (int)(i / stride % (size_t)size[a]);
            const double *component = v + (size_t)a * n;
            double above = at < size[a] - 1 ? component[i + stride] : 0,
                   below = at > 0 ? component[i - stride] : 0;
            out[i] += (above - below) / (2 * spacing[a]);
        }
    }
}

void ref_add_gradient(const double *s, const double weight[3], const int size[3], const double spacing[3],
                      double *v)
{
    size_t n = stride_of(size, 2) * (size_t)size[2];
    for (size_t i = 0; i < n; i++)
        for (int a = 0; a < 3; a++) {
            size_t stride = stride_of(size, a);
            int at = (int)(i / stride % (size_t)size[a]);
            double share = weight[a] * s[i] / (2 * spacing[a]);
            if (at > 0)
                v[(size_t)a * n + i - stride] += share;
            if (at < size[a] - 1)
                v[(size_t)a * n + i + stride] -= share;
        }
}
