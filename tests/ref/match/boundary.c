/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/match/boundary.h"

#include <math.h>

/* Trilinear, with its derivative, on [0, n - 1], where the border goes on; NaN from half a voxel outside
 * on. */
static double look(const double *image, const int size[3], const double at[3], double gradient[3])
{
    int base[3];
    double part[3], flat[3], value = 0;
    for (int a = 0; a < 3; a++) {
        const double last = size[a] - 1, p = fmin(fmax(at[a], 0), last);
        if (!(at[a] >= -.5 && at[a] <= last + .5))
            return NAN;
        base[a] = (int)p < size[a] - 1 ? (int)p : size[a] > 1 ? size[a] - 2 : 0;
        part[a] = p - base[a];
        flat[a] = p == at[a] && size[a] > 1;
        gradient[a] = 0;
    }
    for (int c = 0; c < 8; c++) {
        const int up[3] = {c & 1, c >> 1 & 1, c >> 2};
        double weight[3];
        long index = 0;
        for (int a = 2; a >= 0; a--) {
            weight[a] = up[a] ? part[a] : 1 - part[a];
            index = index * size[a] + base[a] + (size[a] > 1 ? up[a] : 0);
        }
        value += weight[0] * weight[1] * weight[2] * image[index];
        for (int a = 0; a < 3; a++)
            gradient[a] +=
                flat[a] * (up[a] ? 1 : -1) * weight[(a + 1) % 3] * weight[(a + 2) % 3] * image[index];
    }
    return value;
}

void ref_boundary(const double *image, const int size[3], const double map[3][4], const double *points,
                  int count, double slope, double sums[14])
{
    for (int s = 0; s < 14; s++)
        sums[s] = 0;
    for (int k = 0; k < count; k++) {
        double value[2], gradient[2][3];
        for (int e = 0; e < 2; e++) {
            const double *p = points + 6 * k + 3 * e;
            double at[3];
            for (int a = 0; a < 3; a++)
                at[a] = map[a][0] * p[0] + map[a][1] * p[1] + map[a][2] * p[2] + map[a][3];
            value[e] = look(image, size, at, gradient[e]);
        }
        const double w = value[0], g = value[1];
        if (!(g + w > 0))
            continue;
        const double h = tanh(slope * 200 * (g - w) / (g + w));
        const double steep = (1 - h * h) * slope * 400 / ((g + w) * (g + w)), by[2] = {-steep * g, steep * w};
        sums[0] += 1 + h;
        sums[1] += 1;
        for (int i = 0; i < 24; i++) {
            const int e = i / 12, a = i % 12 / 4, c = i % 4;
            sums[2 + i % 12] += by[e] * gradient[e][a] * (c < 3 ? points[6 * k + 3 * e + c] : 1);
        }
    }
}
