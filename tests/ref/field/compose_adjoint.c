/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/field/compose_adjoint.h"

#include <math.h>

typedef struct corners {
    size_t at[8];
    double weight[8], slope[8][3]; /* slope: of the weight, by mm */
} corners;

/* Positions in single precision are the kernel's: the cell is found from d as it is. */
static corners find(const double *d, size_t i, size_t n, const int size[3], const double spacing[3])
{
    corners c;
    const int x[3] = {(int)(i % (size_t)size[0]), (int)(i / (size_t)size[0] % (size_t)size[1]),
                      (int)(i / ((size_t)size[0] * (size_t)size[1]))};
    int base[3];
    double f[3], live[3];
    for (int a = 0; a < 3; a++) {
        double p = x[a] + d[(size_t)a * n + i] / spacing[a], top = size[a] - 1, q = fmin(fmax(p, 0), top);
        base[a] = (int)q < size[a] - 2 ? (int)q : size[a] - 2;
        base[a] = base[a] > 0 ? base[a] : 0;
        f[a] = q - base[a];
        live[a] = size[a] > 1 && p >= 0 && p <= top ? 1 / spacing[a] : 0;
    }
    for (int k = 0; k < 8; k++) {
        const int up[3] = {k & 1, k >> 1 & 1, k >> 2};
        double w[3], s[3];
        size_t at = 0;
        for (int a = 2; a >= 0; a--) {
            int j = base[a] + (size[a] > 1 ? up[a] : 0);
            w[a] = up[a] ? f[a] : 1 - f[a];
            s[a] = up[a] ? live[a] : -live[a];
            at = at * (size_t)size[a] + (size_t)j;
        }
        c.at[k] = at;
        c.weight[k] = w[0] * w[1] * w[2];
        c.slope[k][0] = s[0] * w[1] * w[2];
        c.slope[k][1] = w[0] * s[1] * w[2];
        c.slope[k][2] = w[0] * w[1] * s[2];
    }
    return c;
}

void ref_flow_step(const double *d, const double *w, const int size[3], const double spacing[3], double s,
                   double *next)
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    for (size_t i = 0; i < n; i++) {
        corners c = find(d, i, n, size, spacing);
        for (size_t a = 0; a < 3; a++) {
            double sum = 0;
            for (int k = 0; k < 8; k++)
                sum += c.weight[k] * w[a * n + c.at[k]];
            next[a * n + i] = d[a * n + i] + s * sum;
        }
    }
}

void ref_compose_adjoint(const double *d, const double *w, const int size[3], const double spacing[3], double s,
                         double *g, double *out)
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    for (size_t i = 0; i < n; i++) {
        corners c = find(d, i, n, size, spacing);
        double back[3] = {0};
        for (size_t a = 0; a < 3; a++)
            for (int k = 0; k < 8; k++) {
                out[a * n + c.at[k]] += s * c.weight[k] * g[a * n + i];
                for (int b = 0; b < 3; b++)
                    back[b] += s * c.slope[k][b] * w[a * n + c.at[k]] * g[a * n + i];
            }
        for (size_t a = 0; a < 3; a++)
            g[a * n + i] += back[a];
    }
}
