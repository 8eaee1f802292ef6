/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/ref/tensor_tv_listing.h"

#include <math.h>
#include <stdlib.h>

/* The forward slope of a plane along an axis; beyond the volume, 0. */
static double slope(const ref_tensor_tv *m, const double *u, const int at[3], int axis)
{
    const size_t step[3] = {1, (size_t)m->size[0], (size_t)m->size[0] * (size_t)m->size[1]};
    size_t i = 0;
    for (int a = 0; a < 3; a++) {
        if (at[a] < 0 || at[a] >= m->size[a])
            return 0;
        i += (size_t)at[a] * step[a];
    }
    return at[axis] + 1 < m->size[axis] ? m->w[axis] * (u[i + step[axis]] - u[i]) : 0;
}

/* The flow across the face of `at` and the next voxel along an axis: the slope over its length, the other
 * axes' slopes being means of the four beside the face. */
static double flow(const ref_tensor_tv *m, const double *u, const int at[3], int axis)
{
    double own = slope(m, u, at, axis), square = own * own + m->eps;
    for (int b = 0; b < 3; b++) {
        double sum = 0;
        for (int k = 0; k < 4 && b != axis; k++) {
            int there[3] = {at[0], at[1], at[2]};
            there[axis] += k & 1;
            there[b] -= k >> 1;
            /* A voxel beside the volume repeats the edge one. */
            for (int a = 0; a < 3; a++)
                if (a != b && there[a] >= m->size[a])
                    there[a] = m->size[a] - 1;
            sum += slope(m, u, there, b) / 4;
        }
        square += sum * sum;
    }
    return own / sqrt(square);
}

void ref_tensor_listing(const ref_tensor_tv *m, double *l)
{
    static const int full[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}}, row[6] = {0, 1, 2, 1, 2, 2},
                     column[6] = {0, 0, 0, 1, 1, 2};
    const size_t n = (size_t)m->size[0] * (size_t)m->size[1] * (size_t)m->size[2];
    double *d = malloc(6 * n * sizeof *d), *g = malloc(6 * n * sizeof *g), tv[6] = {0}, total = 0;
    for (size_t i = 0; i < n; i++) {
        double li[6], di[6];
        for (size_t c = 0; c < 6; c++)
            li[c] = l[c * n + i];
        ref_tensor_product(li, di);
        for (size_t c = 0; c < 6; c++)
            d[c * n + i] = di[c];
    }
    int at[3];
    for (int c = 0; c < 6; c++) {
        for (at[2] = 0; at[2] < m->size[2]; at[2]++)
            for (at[1] = 0; at[1] < m->size[1]; at[1]++)
                for (at[0] = 0; at[0] < m->size[0]; at[0]++) {
                    double square = m->eps;
                    for (int a = 0; a < 3; a++)
                        square += pow(slope(m, d + (size_t)c * n, at, a), 2);
                    tv[c] += sqrt(square);
                }
        total += (row[c] == column[c] ? 1 : 2) * tv[c] * tv[c];
    }
    for (int c = 0; c < 6; c++) {
        size_t i = (size_t)c * n;
        for (at[2] = 0; at[2] < m->size[2]; at[2]++)
            for (at[1] = 0; at[1] < m->size[1]; at[1]++)
                for (at[0] = 0; at[0] < m->size[0]; at[0]++, i++) {
                    double curvature = 0;
                    for (int a = 0; a < 3; a++) {
                        int before[3] = {at[0], at[1], at[2]};
                        before[a]--;
                        const double *u = d + (size_t)c * n;
                        curvature += m->w[a] * (flow(m, u, at, a) - (at[a] ? flow(m, u, before, a) : 0));
                    }
                    g[i] = m->lambda * (d[i] - (double)m->data[i]) - tv[c] / sqrt(total) * curvature;
                }
    }
    for (size_t i = 0; i < n; i++) {
        double li[6];
        for (size_t c = 0; c < 6; c++)
            li[c] = l[c * n + i];
        for (int c = 0; c < 6; c++)
            for (int k = column[c]; k < 3; k++)
                l[(size_t)c * n + i] -=
                    2 * m->dt * g[(size_t)full[row[c]][k] * n + i] * li[full[column[c]][k]];
    }
    free(d);
    free(g);
}
