/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/ref/sor.h"

#include <stddef.h>

static void relax(const clv_fluid_operator *op, const double *f, double omega, const int at[3], double *v)
{
    const size_t step[3] = {1, (size_t)op->size[0], (size_t)op->size[0] * (size_t)op->size[1]};
    double centre = (double)op->gamma, sum;
    size_t i = 0;
    for (int a = 0; a < 3; a++)
        i += (size_t)at[a] * step[a];
    sum = f[i];
    for (int a = 0; a < 3; a++) {
        int n = op->size[a];
        double h = (double)op->spacing[a], w = (double)op->alpha / (h * h);
        if (n == 1)
            continue;
        centre += 2 * w;
        for (int side = -1; side <= 1; side += 2) {
            int k = at[a] + side;
            if (op->periodic)
                k = (k + n) % n;
            if (k >= 0 && k < n)
                sum += w * v[i - (size_t)at[a] * step[a] + (size_t)k * step[a]];
        }
    }
    v[i] += omega * (sum / centre - v[i]);
}

void ref_sor(const clv_fluid_operator *op, const double *f, double omega, int sweeps, double *v)
{
    size_t n = (size_t)op->size[0] * (size_t)op->size[1] * (size_t)op->size[2];
    int at[3];
    for (int s = 0; s < 2 * sweeps; s++)
        for (size_t c = 0; c < 3; c++)
            for (at[2] = 0; at[2] < op->size[2]; at[2]++)
                for (at[1] = 0; at[1] < op->size[1]; at[1]++)
                    for (at[0] = 0; at[0] < op->size[0]; at[0]++)
                        if ((at[0] + at[1] + at[2]) % 2 == s % 2)
                            relax(op, f + c * n, omega, at, v + c * n);
}
