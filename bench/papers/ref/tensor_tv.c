/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/ref/tensor_tv.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Row and column of each of the six. */
static const int ROW[6] = {0, 0, 0, 1, 1, 2}, COLUMN[6] = {0, 1, 2, 1, 2, 2};

static size_t count(const ref_tensor_tv *m)
{
    return (size_t)m->size[0] * (size_t)m->size[1] * (size_t)m->size[2];
}

static bool inside(const ref_tensor_tv *m, size_t i)
{
    return !m->mask || m->mask[i] > 0;
}

/* Whether i is one of those that step. */
static bool chosen(const ref_tensor_tv *m, size_t i)
{
    size_t nx = (size_t)m->size[0], ny = (size_t)m->size[1];
    int at[3] = {(int)(i % nx), (int)(i / nx % ny), (int)(i / (nx * ny))};
    for (int a = 0; a < 3 && m->high[0]; a++)
        if (at[a] < m->low[a] || at[a] >= m->high[a])
            return false;
    return inside(m, i);
}

/* The forward slope of entry c at i along an axis; 0 where there is no link. */
static double slope(const ref_tensor_tv *m, const double *d, int c, size_t i, int axis)
{
    size_t nx = (size_t)m->size[0], ny = (size_t)m->size[1], n = count(m);
    size_t at[3] = {i % nx, i / nx % ny, i / (nx * ny)}, step[3] = {1, nx, nx * ny};
    size_t j = i + step[axis], base = (size_t)c * n;
    if (at[axis] + 1 >= (size_t)m->size[axis] || !inside(m, i) || !inside(m, j))
        return 0;
    if (m->alone && chosen(m, i) != chosen(m, j))
        return 0;
    return m->w[axis] * (d[base + j] - d[base + i]);
}

/* |grad d_c|^2 of one entry. */
static double square(const ref_tensor_tv *m, const double *d, int c, size_t i)
{
    double sum = 0;
    for (int a = 0; a < 3; a++)
        sum += slope(m, d, c, i, a) * slope(m, d, c, i, a);
    return sum;
}

static double shared(const ref_tensor_tv *m, const double *d, size_t i)
{
    double sum = m->eps;
    for (int c = 0; c < 6; c++)
        sum += (ROW[c] == COLUMN[c] ? 1 : 2) * square(m, d, c, i);
    return sqrt(sum);
}

double ref_tensor_energy(const ref_tensor_tv *m, const double *d, double tv[6])
{
    size_t n = count(m);
    double local = 0, data = 0, sum[6] = {0}, paper = 0;
    for (size_t i = 0; i < n; i++) {
        if (!chosen(m, i))
            continue;
        local += shared(m, d, i);
        for (int c = 0; c < 6; c++) {
            double e = d[(size_t)c * n + i] - (double)m->data[(size_t)c * n + i];
            sum[c] += sqrt(square(m, d, c, i) + m->eps);
            data += (ROW[c] == COLUMN[c] ? 1 : 2) * e * e;
        }
    }
    for (int c = 0; c < 6; c++)
        paper += (ROW[c] == COLUMN[c] ? 1 : 2) * sum[c] * sum[c];
    if (tv)
        memcpy(tv, sum, sizeof sum);
    return (m->coupling == CLV_TENSOR_PAPER ? sqrt(paper) : local) + m->lambda / 2 * data;
}

void ref_tensor_factor(const double d[6], double l[6])
{
    l[0] = sqrt(d[0]);
    l[1] = d[1] / l[0];
    l[2] = d[2] / l[0];
    l[3] = sqrt(d[3] - l[1] * l[1]);
    l[4] = (d[4] - l[1] * l[2]) / l[3];
    l[5] = sqrt(d[5] - l[2] * l[2] - l[4] * l[4]);
}

void ref_tensor_product(const double l[6], double d[6])
{
    double full[3][3] = {{l[0], 0, 0}, {l[1], l[3], 0}, {l[2], l[4], l[5]}};
    for (int c = 0; c < 6; c++) {
        d[c] = 0;
        for (int k = 0; k < 3; k++)
            d[c] += full[ROW[c]][k] * full[COLUMN[c]][k];
    }
}

/* G of every voxel and entry. */
static double *entries(const ref_tensor_tv *m, const double *d)
{
    size_t n = count(m), step[3] = {1, (size_t)m->size[0], (size_t)m->size[0] * (size_t)m->size[1]};
    double *g = calloc(6 * n, sizeof *g), tv[6], total = 0;
    ref_tensor_energy(m, d, tv);
    for (int c = 0; c < 6; c++)
        total += (ROW[c] == COLUMN[c] ? 1 : 2) * tv[c] * tv[c];
    for (int c = 0; c < 6; c++)
        for (size_t i = 0; i < n; i++) {
            if (!inside(m, i))
                continue;
            /* Scattered: what each slope of this voxel gives its two ends. */
            bool paper = m->coupling == CLV_TENSOR_PAPER;
            double norm = paper ? sqrt(square(m, d, c, i) + m->eps) : shared(m, d, i);
            double weight = paper ? tv[c] / sqrt(total) : 1;
            size_t here = (size_t)c * n + i;
            g[here] += m->lambda * (d[here] - (double)m->data[here]);
            for (int a = 0; a < 3; a++) {
                double s = slope(m, d, c, i, a);
                if (s == 0)
                    continue;
                g[here] -= weight * m->w[a] * s / norm;
                g[here + step[a]] += weight * m->w[a] * s / norm;
            }
        }
    return g;
}

/* The lower triangle of 2 G L of one voxel. */
static void gradient_of(const double g[6], const double l[6], double out[6])
{
    static const int at[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    double full[3][3] = {{l[0], 0, 0}, {l[1], l[3], 0}, {l[2], l[4], l[5]}};
    for (int c = 0; c < 6; c++) {
        int row = COLUMN[c], column = ROW[c]; /* the lower triangle, column by column */
        out[c] = 0;
        for (int k = 0; k < 3; k++)
            out[c] += 2 * g[at[row][k]] * full[k][column];
    }
}

void ref_tensor_gradient(const ref_tensor_tv *m, const double *d, const double *l, double *gradient)
{
    size_t n = count(m);
    double *g = entries(m, d);
    for (size_t i = 0; i < n; i++) {
        double gi[6], li[6], out[6];
        for (size_t c = 0; c < 6; c++) {
            gi[c] = g[c * n + i];
            li[c] = l[c * n + i];
        }
        gradient_of(gi, li, out);
        for (size_t c = 0; c < 6; c++)
            gradient[c * n + i] = out[c];
    }
    free(g);
}

void ref_tensor_step(const ref_tensor_tv *m, double *d)
{
    size_t n = count(m);
    double *g = entries(m, d);
    for (size_t i = 0; i < n; i++) {
        double di[6], gi[6], li[6], out[6];
        if (!chosen(m, i))
            continue;
        for (size_t c = 0; c < 6; c++) {
            di[c] = d[c * n + i];
            gi[c] = g[c * n + i];
        }
        ref_tensor_factor(di, li);
        gradient_of(gi, li, out);
        for (size_t c = 0; c < 6; c++) {
            double least = ROW[c] == COLUMN[c] ? fmax(li[c] / 2, sqrt(m->floor)) : -INFINITY;
            li[c] = fmax(li[c] - m->dt * out[c], least);
        }
        ref_tensor_product(li, di);
        for (size_t c = 0; c < 6; c++)
            d[c * n + i] = di[c];
    }
    free(g);
}
