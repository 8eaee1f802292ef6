/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/surface/nlm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int ref_nlm_band(const float *phi, const int size[3], double delta, int *band, int *index)
{
    int count = 0;
    for (int i = 0; i < size[0] * size[1] * size[2]; i++) {
        index[i] = -1;
        if (fabs((double)phi[i]) <= delta) {
            index[i] = count;
            band[count++] = i;
        }
    }
    return count;
}

static double sample(const float *phi, const int n[3], const int p[3])
{
    const int step[3] = {1, n[0], n[0] * n[1]};
    int at = 0;
    double out = 0;
    for (int a = 0; a < 3; a++)
        at += (p[a] < 0 ? 0 : p[a] >= n[a] ? n[a] - 1 : p[a]) * step[a];
    out = (double)phi[at];
    for (int a = 0; a < 3; a++) {
        if (n[a] > 1 && p[a] < 0)
            out += p[a] * (double)(phi[at + step[a]] - phi[at]);
        if (n[a] > 1 && p[a] >= n[a])
            out += (p[a] - n[a] + 1) * (double)(phi[at] - phi[at - step[a]]);
    }
    return out;
}

void ref_nlm_patch(const float *phi, const int size[3], int at, int radius, double *patch)
{
    const int x = at % size[0], y = at / size[0] % size[1], z = at / size[0] / size[1];
    for (int dz = -radius; dz <= radius; dz++)
        for (int dy = -radius; dy <= radius; dy++)
            for (int dx = -radius; dx <= radius; dx++)
                *patch++ = sample(phi, size, (const int[3]){x + dx, y + dy, z + dz});
}

void ref_nlm_nearest(const float *phi, const int size[3], const int *band, int count, int radius, int most,
                    int *neighbours, float *distances)
{
    int edge = 2 * radius + 1, samples = edge * edge * edge;
    double *patches = malloc(sizeof(double) * (size_t)samples * (size_t)(count + 1));
    for (int j = 0; j < count; j++)
        ref_nlm_patch(phi, size, band[j], radius, patches + j * samples);
    for (int j = 0; j < count; j++) {
        int *list = neighbours + j * most, have = 0;
        float *d = distances + j * most;
        for (int l = 0; l < count; l++) {
            double sum = 0;
            for (int s = 0; s < samples; s++)
                sum += pow(patches[j * samples + s] - patches[l * samples + s], 2);
            if (l == j || (have == most && (float)sum >= d[most - 1]))
                continue;
            int k = have < most ? have++ : most - 1;
            for (; k > 0 && d[k - 1] > (float)sum; k--) {
                d[k] = d[k - 1];
                list[k] = list[k - 1];
            }
            d[k] = (float)sum;
            list[k] = l;
        }
        for (; have < most; have++) {
            d[have] = INFINITY;
            list[have] = -1;
        }
    }
    free(patches);
}

double ref_nlm_residual(const double *patch, int radius, double *quadratic)
{
    int edge = 2 * radius + 1, samples = edge * edge * edge;
    double m[10][11] = {{0}}, sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int s = 0; s < samples; s++) {
            double x = s % edge - radius, y = s / edge % edge - radius, z = s / (edge * edge) - radius;
            const double b[10] = {1, x, y, z, x * x, y * y, z * z, x * y, y * z, z * x};
            double fit = 0;
            for (int i = 0; i < 10; i++) {
                fit += b[i] * m[i][10];
                for (int k = 0; pass == 0 && k < 10; k++)
                    m[i][k] += b[i] * b[k];
            }
            for (int i = 0; pass == 0 && i < 10; i++)
                m[i][10] += b[i] * patch[s];
            if (pass == 1 && quadratic)
                quadratic[s] = fit;
            if (pass == 1)
                sum += (patch[s] - fit) * (patch[s] - fit);
        }
        for (int c = 0; pass == 0 && c < 10; c++) {
            double pivot = m[c][c];
            for (int k = c; k < 11; k++)
                m[c][k] /= pivot;
            for (int r = 0; r < 10; r++) {
                double f = m[r][c];
                for (int k = c; r != c && k < 11; k++)
                    m[r][k] -= f * m[c][k];
            }
        }
    }
    return sum;
}

double ref_nlm_weight(const int size[3], const float spacing[3], int a, int b, double distance, double c1,
                      double c2)
{
    double dx = (a % size[0] - b % size[0]) * (double)spacing[0];
    double dy = (a / size[0] % size[1] - b / size[0] % size[1]) * (double)spacing[1];
    double dz = (a / size[0] / size[1] - b / size[0] / size[1]) * (double)spacing[2];
    return exp(-(dx * dx + dy * dy + dz * dz) / c1) * exp(-distance / c2);
}

void ref_nlm_step(float *phi, const int *band, const int *neighbours, const double *weights, int count,
                  int most)
{
    double largest = 0, *next = malloc(sizeof(double) * (size_t)(count + 1));
    for (int j = 0; j < count; j++) {
        double sum = 0;
        for (int k = 0; k < most; k++)
            sum += weights[j * most + k];
        largest = fmax(largest, sum);
    }
    for (int j = 0; j < count; j++) {
        next[j] = (double)phi[band[j]];
        for (int k = 0; k < most && largest > 0; k++) {
            int l = neighbours[j * most + k];
            if (l >= 0)
                next[j] += weights[j * most + k] / largest * (double)(phi[band[l]] - phi[band[j]]);
        }
    }
    for (int j = 0; j < count; j++)
        phi[band[j]] = (float)next[j];
    free(next);
}

void ref_nlm_average(const float *phi, const int size[3], const int *band, const int *neighbours,
                     const double *weights, int count, int most, int radius, double own, double *out)
{
    int edge = 2 * radius + 1, samples = edge * edge * edge;
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    double *patch = malloc(sizeof(double) * (size_t)samples);
    double *mean = malloc(sizeof(double) * (size_t)samples);
    double *sum = calloc(2 * n, sizeof(double));
    for (int j = 0; j < count; j++) {
        const double *w = weights + j * most;
        double total = own > 0 ? own : w[0] > 1e-30 ? w[0] : 1;
        ref_nlm_patch(phi, size, band[j], radius, patch);
        for (int s = 0; s < samples; s++)
            mean[s] = total * patch[s];
        for (int k = 0; k < most; k++) {
            int l = neighbours[j * most + k];
            if (l < 0)
                continue;
            ref_nlm_patch(phi, size, band[l], radius, patch);
            total += w[k];
            for (int s = 0; s < samples; s++)
                mean[s] += w[k] * patch[s];
        }
        for (int s = 0; s < samples; s++) {
            int x = band[j] % size[0] + s % edge - radius;
            int y = band[j] / size[0] % size[1] + s / edge % edge - radius;
            int z = band[j] / size[0] / size[1] + s / edge / edge - radius;
            if (x < 0 || y < 0 || z < 0 || x >= size[0] || y >= size[1] || z >= size[2])
                continue;
            size_t at = ((size_t)z * (size_t)size[1] + (size_t)y) * (size_t)size[0] + (size_t)x;
            sum[2 * at] += mean[s] / total;
            sum[2 * at + 1] += 1;
        }
    }
    for (int j = 0; j < count; j++)
        out[j] = sum[2 * band[j]] / sum[2 * band[j] + 1];
    free(patch);
    free(mean);
    free(sum);
}

/* Divided differences of max(-v, 0)^3; equal values are told apart by a nudge. */
static double share_below(const double v[4])
{
    double share = 0, u[4];
    for (int i = 0; i < 4; i++)
        u[i] = v[i] + 1e-5 * (i - 1.4);
    for (int i = 0; i < 4; i++) {
        double term = u[i] * u[i] * u[i];
        for (int j = 0; j < 4; j++)
            if (j != i)
                term /= u[i] - u[j];
        if (u[i] < 0)
            share += term;
    }
    return share;
}

double ref_nlm_volume(const float *phi, const int size[3], double level)
{
    static const int orders[6][2] = {{1, 3}, {1, 5}, {2, 3}, {2, 6}, {4, 5}, {4, 6}};
    double sum = 0;
    for (int z = 0; z + 1 < size[2]; z++)
        for (int y = 0; y + 1 < size[1]; y++)
            for (int x = 0; x + 1 < size[0]; x++)
                for (int t = 0; t < 6; t++) {
                    const int corner[4] = {0, orders[t][0], orders[t][1], 7};
                    double v[4];
                    int below = 0;
                    for (int c = 0; c < 4; c++) {
                        int i = ((z + (corner[c] >> 2)) * size[1] + y + (corner[c] >> 1 & 1)) * size[0] + x +
                                (corner[c] & 1);
                        v[c] = (double)phi[i] - level;
                        below += v[c] < 0;
                    }
                    sum += (below == 0 ? 0 : below == 4 ? 1 : share_below(v)) / 6;
                }
    return sum;
}
