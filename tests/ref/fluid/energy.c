/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/fluid/energy.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* (J - 1) log J and its derivative, continued by its quadratic Taylor
 * polynomial below J = 1e-3. */
static double penalty(double j, double *slope)
{
    double j0 = 1e-3;
    if (j >= j0) {
        *slope = log(j) + 1 - 1 / j;
        return (j - 1) * log(j);
    }
    double value = (j0 - 1) * log(j0), first = log(j0) + 1 - 1 / j0, second = 1 / j0 + 1 / (j0 * j0);
    *slope = first + second * (j - j0);
    return value + first * (j - j0) + 0.5 * second * (j - j0) * (j - j0);
}

/* d[i][j] = d u_i / d x_j at one voxel; ends and weights of each difference. */
static void differences(const ref_energy_problem *p, const double *u, const int at[3], double d[3][3],
                        size_t low[3], size_t high[3], double weight[3])
{
    const int *n = p->size;
    size_t voxels = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
    for (int axis = 0; axis < 3; axis++) {
        int a[3] = {at[0], at[1], at[2]}, b[3] = {at[0], at[1], at[2]};
        if (a[axis] > 0)
            a[axis]--;
        if (b[axis] < n[axis] - 1)
            b[axis]++;
        int steps = b[axis] - a[axis];
        low[axis] = ((size_t)a[2] * (size_t)n[1] + (size_t)a[1]) * (size_t)n[0] + (size_t)a[0];
        high[axis] = ((size_t)b[2] * (size_t)n[1] + (size_t)b[1]) * (size_t)n[0] + (size_t)b[0];
        weight[axis] = steps ? 1 / (steps * p->spacing[axis]) : 0;
        for (int c = 0; c < 3; c++) {
            const double *f = u + (size_t)c * voxels;
            d[c][axis] = (f[high[axis]] - f[low[axis]]) * weight[axis];
        }
    }
}

/* Cofactors of I + d; returns the determinant. */
static double cofactors(double d[3][3], double c[3][3])
{
    double a[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            a[i][j] = (i == j) + d[i][j];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            c[i][j] = a[i1][j1] * a[i2][j2] - a[i1][j2] * a[i2][j1];
        }
    return a[0][0] * c[0][0] + a[0][1] * c[0][1] + a[0][2] * c[0][2];
}

/* Returns T(p) - R and the
 * derivative of T at p by voxel; 0 outside and where either is not finite. */
static double residual(const ref_energy_problem *p, const int at[3], const double u[3], double fixed,
                       double slope[3])
{
    const int *n = p->moving_size;
    int base[3];
    double frac[3], free_axis[3];
    slope[0] = slope[1] = slope[2] = 0;
    for (int k = 0; k < 3; k++) {
        double x = p->linear[k][0] * at[0] + p->linear[k][1] * at[1] + p->linear[k][2] * at[2] +
                   p->linear[k][3];
        for (int c = 0; c < 3; c++)
            x += p->shift[k][c] * u[c];
        if (!(x >= -0.5 && x <= n[k] - 0.5))
            return 0;
        free_axis[k] = x >= 0 && x <= n[k] - 1 && n[k] > 1;
        x = x < 0 ? 0 : x > n[k] - 1 ? n[k] - 1 : x;
        base[k] = (int)x;
        if (base[k] > n[k] - 2)
            base[k] = n[k] > 1 ? n[k] - 2 : 0;
        frac[k] = x - base[k];
    }
    double value = 0, g[3] = {0, 0, 0};
    for (int corner = 0; corner < 8; corner++) {
        double w[3], s[3];
        size_t index = 0;
        for (int k = 2; k >= 0; k--) {
            int up = corner >> k & 1;
            int i = base[k] + up < n[k] ? base[k] + up : n[k] - 1;
            w[k] = up ? frac[k] : 1 - frac[k];
            s[k] = (up ? 1 : -1) * free_axis[k];
            index = index * (size_t)n[k] + (size_t)i;
        }
        double t = p->moving[index];
        value += t * w[0] * w[1] * w[2];
        g[0] += t * s[0] * w[1] * w[2];
        g[1] += t * w[0] * s[1] * w[2];
        g[2] += t * w[0] * w[1] * s[2];
    }
    if (!isfinite(value - fixed))
        return 0;
    memcpy(slope, g, sizeof g);
    return value - fixed;
}

void ref_energy_walk(const ref_energy_problem *p, const double *u, double result[4], double *gradient)
{
    const int *n = p->size;
    size_t voxels = (size_t)n[0] * (size_t)n[1] * (size_t)n[2], i = 0;
    result[0] = result[1] = result[3] = 0;
    result[2] = INFINITY;
    int at[3];
    for (at[2] = 0; at[2] < n[2]; at[2]++)
        for (at[1] = 0; at[1] < n[1]; at[1]++)
            for (at[0] = 0; at[0] < n[0]; at[0]++, i++) {
                double here[3] = {u[i], u[i + voxels], u[i + 2 * voxels]}, slope[3];
                double r = residual(p, at, here, p->fixed[i], slope);
                double m = p->mask ? p->mask[i] : 1;
                result[0] += 0.5 * m * r * r;

                double d[3][3], c[3][3], weight[3], rate;
                size_t low[3], high[3];
                differences(p, u, at, d, low, high, weight);
                double j = cofactors(d, c);
                result[1] += penalty(j, &rate);
                if (j < result[2])
                    result[2] = j;
                result[3] += !(j > 0);
                if (!gradient)
                    continue;
                for (int k = 0; k < 3; k++) {
                    size_t plane = (size_t)k * voxels;
                    for (int a = 0; a < 3; a++) {
                        gradient[i + plane] += m * r * slope[a] * p->shift[a][k];
                        /* dJ/d(Du)_ka = c_ka */
                        double q = p->lambda * rate * c[k][a] * weight[a];
                        gradient[high[a] + plane] += q;
                        gradient[low[a] + plane] -= q;
                    }
                }
            }
}

double ref_energy(const ref_energy_problem *problem, const double *u, double result[4])
{
    ref_energy_walk(problem, u, result, NULL);
    return result[0] + problem->lambda * result[1];
}
