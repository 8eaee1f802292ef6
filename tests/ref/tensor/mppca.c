/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/tensor/mppca.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* a (n x n) becomes diagonal, v's columns its eigenvectors. */
static void jacobi(double *a, double *v, int n)
{
    for (int i = 0; i < n * n; i++)
        v[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < 60; sweep++) {
        double off = 0, on = 0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                *(i == j ? &on : &off) += a[i * n + j] * a[i * n + j];
        if (off <= 1e-26 * on)
            return;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) {
                double apq = a[p * n + q];
                if (apq == 0)
                    continue;
                double theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
                double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < n; k++) {
                    double x = a[k * n + p], y = a[k * n + q];
                    a[k * n + p] = c * x - s * y;
                    a[k * n + q] = s * x + c * y;
                }
                for (int k = 0; k < n; k++) {
                    double x = a[p * n + k], y = a[q * n + k], xv = v[k * n + p], yv = v[k * n + q];
                    a[p * n + k] = c * x - s * y;
                    a[q * n + k] = s * x + c * y;
                    v[k * n + p] = c * xv - s * yv;
                    v[k * n + q] = s * xv + c * yv;
                }
            }
    }
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The noise's variance from the eigenvalues in rising order. */
static double noise_of(const double *l, int n, int samples, double larger)
{
    if (n > samples - 1) {
        l += n - (samples - 1);
        n = samples - 1;
    }
    for (;; n--) {
        double mean = 0;
        for (int i = 0; i < n; i++)
            mean += l[i] / n;
        if (n == 1 || l[n - 1] - l[0] <= 4 * sqrt(n / larger) * mean)
            return mean;
    }
}

typedef struct work {
    int voxels, volumes, samples;
    const int *at; /* the window's voxels */
    double *x, *mean, *c, *v, *l, *y, *sums, *sum_weight, *sum_var;
} work;

static void window(work *w)
{
    int n = w->volumes, kept = 0;
    const bool wide = n > w->samples - 1;
    const double larger = wide ? n : w->samples;
    double step = 1 + sqrt((wide ? w->samples - 1 : n) / larger), trace = 0;
    for (int k = 0; k < n; k++) {
        w->mean[k] = 0;
        for (int s = 0; s < w->samples; s++)
            w->mean[k] += w->x[s * n + k] / w->samples;
        for (int s = 0; s < w->samples; s++)
            w->x[s * n + k] -= w->mean[k];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int s = 0; s < w->samples; s++)
                sum += w->x[s * n + i] * w->x[s * n + j];
            w->c[i * n + j] = sum / larger;
        }
    jacobi(w->c, w->v, n);
    for (int i = 0; i < n; i++)
        trace += w->l[i] = w->c[i * n + i];
    qsort(w->l, (size_t)n, sizeof *w->l, rising);
    double var = noise_of(w->l, n, w->samples, larger);
    memset(w->y, 0, (size_t)(n * w->samples) * sizeof *w->y);
    for (int i = 0; i < n; i++) {
        if (w->c[i * n + i] < step * step * var)
            continue;
        kept++;
        for (int s = 0; s < w->samples; s++) {
            double along = 0;
            for (int k = 0; k < n; k++)
                along += w->x[s * n + k] * w->v[k * n + i];
            for (int k = 0; k < n; k++)
                w->y[s * n + k] += along * w->v[k * n + i];
        }
    }
    double weight = 1. / (1 + (trace > 0 ? kept : n));
    for (int s = 0; s < w->samples; s++) {
        w->sum_weight[w->at[s]] += weight;
        w->sum_var[w->at[s]] += weight * var;
        for (int k = 0; k < n; k++)
            w->sums[k * w->voxels + w->at[s]] += weight * (w->y[s * n + k] + w->mean[k]);
    }
}

void ref_mppca(const clv_mppca_args *args, const float *dwi, const float *mask, double *out, double *sigma)
{
    const int *size = args->dwi.size, volumes = args->dwi.components;
    int r[3], voxels = size[0] * size[1] * size[2], samples = 1;
    for (int i = 0; i < 3; i++) {
        for (r[i] = args->radius; 2 * r[i] + 1 > size[i]; r[i]--)
            ;
        samples *= 2 * r[i] + 1;
    }
    size_t n = (size_t)volumes, square = n * n, many = n * (size_t)samples;
    double *room = calloc(2 * many + 2 * square + 2 * n + (size_t)voxels * (n + 2), sizeof *room);
    int *at = malloc((size_t)samples * sizeof *at);
    work w = {.voxels = voxels, .volumes = volumes, .samples = samples, .at = at, .x = room};
    w.y = w.x + many;
    w.c = w.y + many;
    w.v = w.c + square;
    w.mean = w.v + square;
    w.l = w.mean + n;
    w.sums = w.l + n;
    w.sum_weight = w.sums + n * (size_t)voxels;
    w.sum_var = w.sum_weight + voxels;
    for (int z = r[2]; z < size[2] - r[2]; z++)
        for (int y = r[1]; y < size[1] - r[1]; y++)
            for (int x = r[0]; x < size[0] - r[0]; x++) {
                if (mask && !(mask[(z * size[1] + y) * size[0] + x] > 0))
                    continue;
                int s = 0;
                for (int k = z - r[2]; k <= z + r[2]; k++)
                    for (int j = y - r[1]; j <= y + r[1]; j++)
                        for (int i = x - r[0]; i <= x + r[0]; i++, s++) {
                            at[s] = (k * size[1] + j) * size[0] + i;
                            for (int v = 0; v < volumes; v++) {
                                double value = (double)dwi[v * voxels + at[s]];
                                w.x[s * volumes + v] = isfinite(value) ? value : 0;
                            }
                        }
                window(&w);
            }
    for (int i = 0; i < voxels; i++) {
        int in = !mask || mask[i] > 0;
        for (int v = 0; v < volumes; v++) {
            double was = (double)dwi[v * voxels + i], sum = w.sums[v * voxels + i];
            bool made = w.sum_weight[i] > 0 && isfinite(was);
            out[v * voxels + i] = !in    ? 0
                                  : made ? fmax(sum / w.sum_weight[i], args->is_signed ? -INFINITY : 0)
                                         : was;
        }
        sigma[i] = in && w.sum_weight[i] > 0 ? sqrt(fmax(w.sum_var[i], 0) / w.sum_weight[i]) : 0;
    }
    free(at);
    free(room);
}
