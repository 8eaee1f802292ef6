/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of B-splines and cosines, sampled. */
#include <math.h>
#include <stdlib.h>

#include "clvox/threads.h"
#include "base/array.h"
#include "base/status.h"
#include "io/transform/format.h"

typedef struct sampling {
    const clv_basis_field *field;
    clvox_volume *out;
    double *cosines[3]; /* of each sample along the axis, by order */
} sampling;

/* ---- splines ------------------------------------------------------------ */

/* The coefficients at an index, the first of them, and their weights; of quadratic splines the last weight is 0. */
static int weights(clv_basis basis, double index, double w[4])
{
    if (basis == CLV_BASIS_QUADRATIC) {
        double base = floor(index + 0.5), t = index - base;
        w[0] = (0.5 - t) * (0.5 - t) / 2;
        w[1] = 0.75 - t * t;
        w[2] = (0.5 + t) * (0.5 + t) / 2;
        w[3] = 0;
        return (int)base - 1;
    }
    double base = floor(index), t = index - base;
    w[0] = (1 - t) * (1 - t) * (1 - t) / 6;
    w[1] = (3 * t * t * t - 6 * t * t + 4) / 6;
    w[2] = (-3 * t * t * t + 3 * t * t + 3 * t + 1) / 6;
    w[3] = t * t * t / 6;
    return (int)base - 1;
}

/* A row of coefficients is summed over y and z first. */
static int sample_splines(void *user, size_t k, int worker)
{
    (void)worker;
    const sampling *s = user;
    const clv_basis_field *f = s->field;
    const int *n = s->out->grid.size;
    size_t voxels = clvox_grid_voxels(&s->out->grid);
    double wx[4], wy[4], wz[4], *row = clv_array((size_t)f->size[0], sizeof *row);
    if (!row)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of memory for a spline");
    int z = weights(f->basis, f->start[2] + f->step[2] * (double)k, wz);
    for (int c = 0; c < 3; c++)
        for (int j = 0; j < n[1]; j++) {
            int y = weights(f->basis, f->start[1] + f->step[1] * j, wy);
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
                int x = weights(f->basis, f->start[0] + f->step[0] * i, wx);
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

/* ---- cosines ------------------------------------------------------------ */

static int tabulate(sampling *s, int axis)
{
    const clv_basis_field *f = s->field;
    const int orders = f->size[axis], samples = s->out->grid.size[axis];
    const double length = f->length[axis], pi = 3.14159265358979323846;
    double *to = clv_array(clv_times((size_t)orders, (size_t)samples), sizeof *to);
    s->cosines[axis] = to;
    if (!to)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of memory for cosines");
    for (int i = 0; i < samples; i++)
        for (int j = 0; j < orders; j++) {
            double turn = (2 * (f->start[axis] + f->step[axis] * i) + 1) * j / (2 * length);
            *to++ = j ? sqrt(2 / length) * cos(pi * turn) : sqrt(1 / length);
        }
    return CLVOX_OK;
}

/* Summed over z first, then over y, then over x. */
static int sample_cosines(void *user, size_t k, int worker)
{
    (void)worker;
    const sampling *s = user;
    const int *m = s->field->size, *n = s->out->grid.size;
    const size_t orders = (size_t)m[0] * (size_t)m[1], voxels = clvox_grid_voxels(&s->out->grid);
    double *plane = clv_array(orders + (size_t)m[0], sizeof *plane), *row = plane + orders;
    if (!plane)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of memory for cosines");
    for (size_t c = 0; c < 3; c++) {
        const double *from = s->field->component[c], *along = s->cosines[2] + k * (size_t)m[2];
        for (size_t i = 0; i < orders; i++) {
            plane[i] = 0;
            for (int z = 0; z < m[2]; z++)
                plane[i] += along[z] * from[(size_t)z * orders + i];
        }
        for (int j = 0; j < n[1]; j++) {
            float *to = s->out->data + c * voxels + (k * (size_t)n[1] + (size_t)j) * (size_t)n[0];
            along = s->cosines[1] + (size_t)j * (size_t)m[1];
            for (int x = 0; x < m[0]; x++) {
                row[x] = 0;
                for (int y = 0; y < m[1]; y++)
                    row[x] += along[y] * plane[y * m[0] + x];
            }
            along = s->cosines[0];
            for (int i = 0; i < n[0]; i++, along += m[0]) {
                double sum = 0;
                for (int x = 0; x < m[0]; x++)
                    sum += along[x] * row[x];
                to[i] = (float)sum;
            }
        }
    }
    free(plane);
    return CLVOX_OK;
}

/* ------------------------------------------------------------------------- */

int clv_basis_sample(const clv_basis_field *field, clvox_volume *out)
{
    int status = CLVOX_OK;
    const bool cosines = field->basis == CLV_BASIS_COSINES;
    sampling s = {.field = field, .out = out};
    for (int axis = 0; axis < 3 && cosines; axis++)
        CLV_TRY(tabulate(&s, axis));
    status = clvox_parallel((size_t)out->grid.size[2], cosines ? sample_cosines : sample_splines, &s);
end:
    for (int axis = 0; axis < 3; axis++)
        free(s.cosines[axis]);
    return status;
}

/* The second derivative along an axis is a weighted mean of second differences of the coefficients; linear
 * interpolation over h errs by h^2 / 8 of it at most, for each axis. */
double clv_basis_cuts(const clv_basis_field *f, double mm)
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
