/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/fluid/fluid_step.h"

#include <math.h>
#include <stddef.h>

/* d[c][axis] = d f_c / d x_axis at voxel (x, y, z). */
static void differences(const double *f, const int size[3], const double spacing[3], int x, int y,
                        int z, double d[3][3])
{
    int at[3] = {x, y, z};
    size_t stride = 1, n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    size_t i = ((size_t)z * (size_t)size[1] + (size_t)y) * (size_t)size[0] + (size_t)x;
    for (int axis = 0; axis < 3; axis++) {
        size_t low = at[axis] > 0 ? i - stride : i;
        size_t high = at[axis] < size[axis] - 1 ? i + stride : i;
        for (int c = 0; c < 3; c++)
            d[c][axis] = low == high ? 0
                                     : (f[high + (size_t)c * n] - f[low + (size_t)c * n]) /
                                           ((double)(high - low) / (double)stride * spacing[axis]);
        stride *= (size_t)size[axis];
    }
}

static double determinant(double a[3][3])
{
    return a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) -
           a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
           a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
}

/* a = I + Du */
static void matrix(const double *u, const int size[3], const double spacing[3], int x, int y, int z,
                   double a[3][3])
{
    differences(u, size, spacing, x, y, z, a);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            a[r][c] = (r == c) + a[r][c];
}

void ref_fluid_rate(const double *u, const double *v, const int size[3], const double spacing[3],
                    double *p, double bounds[2])
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2], i = 0;
    bounds[0] = bounds[1] = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++) {
                double a[3][3], length = 0;
                matrix(u, size, spacing, x, y, z, a);
                for (size_t c = 0; c < 3; c++) {
                    p[i + c * n] = a[c][0] * v[i] + a[c][1] * v[i + n] + a[c][2] * v[i + 2 * n];
                    length += pow(p[i + c * n] / spacing[c], 2);
                }
                bounds[0] = fmax(bounds[0], sqrt(length));
            }
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++) {
                double a[3][3], d[3][3], sum = 0;
                matrix(u, size, spacing, x, y, z, a);
                differences(p, size, spacing, x, y, z, d);
                double det = determinant(a);
                if (det <= 1e-6) {
                    bounds[1] = 1e19;
                    continue;
                }
                /* Cramer's rule for each column of d. */
                for (int column = 0; column < 3; column++)
                    for (int k = 0; k < 3; k++) {
                        double b[3][3];
                        for (int r = 0; r < 3; r++)
                            for (int c = 0; c < 3; c++)
                                b[r][c] = c == k ? d[r][column] : a[r][c];
                        sum += pow(determinant(b) / det, 2);
                    }
                bounds[1] = fmax(bounds[1], sqrt(sum));
            }
}

double ref_fluid_least(const double *u, const int size[3], const double spacing[3])
{
    double least = INFINITY;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++) {
                double a[3][3];
                matrix(u, size, spacing, x, y, z, a);
                least = fmin(least, determinant(a));
            }
    return least;
}
