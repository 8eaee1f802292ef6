/* SPDX-License-Identifier: Apache-2.0 */
/* Cubic B-splines, sampled. */
#include <math.h>
#include <stdlib.h>

#include "base/parallel.h"
#include "base/status.h"
#include "io/transform_format.h"

/* The four coefficients at an index, the first of them, and their weights. */
static int weights(double index, double w[4])
{
    double base = floor(index), t = index - base;
    w[0] = (1 - t) * (1 - t) * (1 - t) / 6;
    w[1] = (3 * t * t * t - 6 * t * t + 4) / 6;
    w[2] = (-3 * t * t * t + 3 * t * t + 3 * t + 1) / 6;
    w[3] = t * t * t / 6;
    return (int)base - 1;
}

typedef struct sampling {
    const clv_spline *spline;
    clvox_volume *out;
} sampling;

/* A row of coefficients is summed over y and z first. */
static int sample_plane(void *user, size_t k, int worker)
{
    (void)worker;
    const sampling *s = user;
    const clv_spline *f = s->spline;
    const int *n = s->out->grid.size;
    size_t voxels = clvox_grid_voxels(&s->out->grid);
    double wx[4], wy[4], wz[4], *row = malloc((size_t)f->size[0] * sizeof *row);
    if (!row)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of memory for a spline");
    int z = weights(f->start[2] + f->step[2] * (double)k, wz);
    for (int c = 0; c < 3; c++)
        for (int j = 0; j < n[1]; j++) {
            int y = weights(f->start[1] + f->step[1] * j, wy);
            for (int i = 0; i < f->size[0]; i++)
                row[i] = 0;
            for (int b = 0; b < 16; b++) {
                int yy = y + b % 4, zz = z + b / 4;
                if (yy < 0 || zz < 0 || yy >= f->size[1] || zz >= f->size[2])
                    continue;
                const double *from = f->component[c] + ((size_t)zz * (size_t)f->size[1] + (size_t)yy) * (size_t)f->size[0];
                for (int i = 0; i < f->size[0]; i++)
                    row[i] += wy[b % 4] * wz[b / 4] * from[i];
            }
            float *to = s->out->data + (size_t)c * voxels + (k * (size_t)n[1] + (size_t)j) * (size_t)n[0];
            for (int i = 0; i < n[0]; i++) {
                int x = weights(f->start[0] + f->step[0] * i, wx);
                double sum = 0;
                for (int a = 0; a < 4; a++)
                    if (x + a >= 0 && x + a < f->size[0])
                        sum += wx[a] * row[x + a];
                to[i] = (float)sum;
            }
        }
    free(row);
    return CLVOX_OK;
}

int clv_spline_sample(const clv_spline *spline, clvox_volume *out)
{
    sampling s = {spline, out};
    return clv_parallel((size_t)out->grid.size[2], sample_plane, &s);
}

/* The second derivative along an axis is a weighted mean of second differences of the coefficients; linear
 * interpolation over h errs by h^2 / 8 of it at most, for each axis. */
double clv_spline_cuts(const clv_spline *f, double mm)
{
    size_t stride = 1, count = (size_t)f->size[0] * (size_t)f->size[1] * (size_t)f->size[2];
    double sum = 0;
    for (int a = 0; a < 3; a++) {
        double largest = 0;
        for (size_t i = 0; i < count; i++) {
            size_t at = i / stride % (size_t)f->size[a];
            double square = 0;
            if (at == 0 || at + 1 >= (size_t)f->size[a])
                continue;
            for (int c = 0; c < 3; c++) {
                double d = f->component[c][i - stride] - 2 * f->component[c][i] + f->component[c][i + stride];
                square += d * d;
            }
            largest = fmax(largest, square);
        }
        sum += sqrt(largest);
        stride *= (size_t)f->size[a];
    }
    return fmax(1, ceil(sqrt(sum / (8 * mm))));
}
