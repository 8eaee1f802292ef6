/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/fluid/fourier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/fluid/conjugate_gradient.h"
#include "ref/fluid/fluid_operator.h"

/* One line of n complex numbers, `stride` apart. */
static void line(double *data, int n, size_t stride, double *room)
{
    const double turn = -2 * acos(-1) / n;
    for (int k = 0; k < n; k++) {
        double re = 0, im = 0;
        for (int j = 0; j < n; j++) {
            double angle = turn * (double)((long)j * k % n), c = cos(angle), s = sin(angle);
            const double *x = data + 2 * (size_t)j * stride;
            re += x[0] * c - x[1] * s;
            im += x[0] * s + x[1] * c;
        }
        room[2 * k] = re;
        room[2 * k + 1] = im;
    }
    for (int k = 0; k < n; k++)
        memcpy(data + 2 * (size_t)k * stride, room + 2 * k, 2 * sizeof *room);
}

void ref_fft(const double *field, const int size[3], double *spectrum)
{
    const size_t nx = (size_t)size[0], ny = (size_t)size[1], nz = (size_t)size[2], n = nx * ny * nz;
    const size_t stride[3] = {1, nx, nx * ny}, half = nx / 2 + 1;
    double *all = malloc(2 * n * sizeof *all), *room = malloc(2 * (nx + ny + nz) * sizeof *room);
    for (size_t c = 0; c < 3; c++) {
        for (size_t i = 0; i < n; i++) {
            all[2 * i] = field[c * n + i];
            all[2 * i + 1] = 0;
        }
        for (int a = 0; a < 3; a++)
            for (size_t i = 0; i < n; i++)
                if (i / stride[a] % (size_t)size[a] == 0)
                    line(all + 2 * i, size[a], stride[a], room);
        for (size_t row = 0; row < ny * nz; row++)
            memcpy(spectrum + 2 * (c * ny * nz + row) * half, all + 2 * row * nx, 2 * half * sizeof *all);
    }
    free(all);
    free(room);
}

void ref_fft_solve(const clv_fluid_operator *op, const double *f, double *v)
{
    size_t count = 3 * (size_t)op->size[0] * (size_t)op->size[1] * (size_t)op->size[2];
    memset(v, 0, count * sizeof *v);
    for (int i = 0; i < 100 && ref_fluid_operator_residual(op, v, f) > 1e-13; i++)
        ref_conjugate_gradient(op, f, 20, v);
}
