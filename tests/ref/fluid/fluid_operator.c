/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/fluid/fluid_operator.h"

#include <math.h>
#include <stdlib.h>

/* Component c at a voxel that may lie outside. */
static double value(const clv_fluid_operator *op, const double *v, int c, const int at[3])
{
    size_t i = 0;
    for (int a = 2; a >= 0; a--) {
        int k = at[a], n = op->size[a];
        if (k < 0 || k >= n) {
            if (!op->periodic)
                return 0;
            k = ((k % n) + n) % n;
        }
        i = i * (size_t)n + (size_t)k;
    }
    return v[(size_t)c * (size_t)op->size[0] * (size_t)op->size[1] * (size_t)op->size[2] + i];
}

static double beside(const clv_fluid_operator *op, const double *v, int c, const int at[3], int a, int da, int b,
                     int db)
{
    int p[3] = {at[0], at[1], at[2]};
    p[a] += da;
    p[b] += db;
    return value(op, v, c, p);
}

/* d^2 v_c / da db. */
static double second(const clv_fluid_operator *op, const double *v, int c, const int at[3], int a, int b)
{
    double ha = (double)op->spacing[a], hb = (double)op->spacing[b];
    if (op->size[a] == 1 || op->size[b] == 1)
        return 0;
    if (a == b)
        return (beside(op, v, c, at, a, 1, b, 0) + beside(op, v, c, at, a, -1, b, 0) -
                2 * value(op, v, c, at)) /
               (ha * ha);
    return (beside(op, v, c, at, a, 1, b, 1) - beside(op, v, c, at, a, 1, b, -1) -
            beside(op, v, c, at, a, -1, b, 1) + beside(op, v, c, at, a, -1, b, -1)) /
           (4 * ha * hb);
}

void ref_fluid_operator(const clv_fluid_operator *op, const double *v, double *out)
{
    int at[3];
    for (int c = 0; c < 3; c++)
        for (at[2] = 0; at[2] < op->size[2]; at[2]++)
            for (at[1] = 0; at[1] < op->size[1]; at[1]++)
                for (at[0] = 0; at[0] < op->size[0]; at[0]++) {
                    double sum = (double)op->gamma * value(op, v, c, at);
                    for (int a = 0; a < 3; a++) {
                        sum -= (double)op->alpha * second(op, v, c, at, a, a);
                        if (op->beta > 0) /* else components do not meet, whatever they are */
                            sum -= (double)op->beta * second(op, v, a, at, c, a);
                    }
                    *out++ = sum;
                }
}

double ref_fluid_operator_residual(const clv_fluid_operator *op, const double *v, const double *f)
{
    size_t count = 3 * (size_t)op->size[0] * (size_t)op->size[1] * (size_t)op->size[2];
    double *product = malloc(count * sizeof *product), left = 0, all = 0;
    ref_fluid_operator(op, v, product);
    for (size_t i = 0; i < count; i++) {
        left += (f[i] - product[i]) * (f[i] - product[i]);
        all += f[i] * f[i];
    }
    free(product);
    return all > 0 ? sqrt(left / all) : sqrt(left);
}
