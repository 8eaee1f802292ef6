/* SPDX-License-Identifier: Apache-2.0 */
#include "image/spline.h"

#include <math.h>
#include <stdlib.h>

#include "base/status.h"

void clv_lattice_make(const clvox_grid *grid, double span_mm, clv_lattice *out)
{
    double edge[3];
    clvox_grid_spacing(grid, edge);
    out->span_mm = span_mm;
    for (int a = 0; a < 3; a++) {
        double spans = ceil(grid->size[a] * edge[a] / span_mm - 1e-6);
        out->spans[a] = spans < 1 ? 1 : (int)spans;
    }
}

clv_lattice clv_lattice_half(const clv_lattice *lattice)
{
    clv_lattice half = {.span_mm = 0.5 * lattice->span_mm};
    for (int a = 0; a < 3; a++)
        half.spans[a] = 2 * lattice->spans[a];
    return half;
}

void clv_lattice_size(const clv_lattice *lattice, int size[3])
{
    for (int a = 0; a < 3; a++)
        size[a] = lattice->spans[a] + 3;
}

/* The first of the four control points at a place counted in spans, and their weights. */
static int basis(double t, int spans, double w[4])
{
    int at = (int)floor(t);
    at = at < 0 ? 0 : at > spans - 1 ? spans - 1 : at;
    double f = t - at, g = 1 - f;
    w[0] = g * g * g / 6;
    w[1] = (3 * f * f * f - 6 * f * f + 4) / 6;
    w[2] = (3 * g * g * g - 6 * g * g + 4) / 6;
    w[3] = f * f * f / 6;
    return at;
}

static int along(clvox_context *ctx, const clv_lattice *lattice, int axis, int voxels, double edge,
                 clv_spline_kind kind, clv_bands *out)
{
    int spans = lattice->spans[axis], points = spans + 3;
    int rows = kind == CLV_SPLINE_VALUES ? voxels : points, columns = kind == CLV_SPLINE_VALUES ? points : voxels;
    double *matrix = calloc((size_t)rows * (size_t)columns, sizeof *matrix), w[4];
    if (!matrix)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < voxels; i++) {
        int at = basis(0.5 * spans + (i + 0.5 - 0.5 * voxels) * edge / lattice->span_mm, spans, w);
        double squares = w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + w[3] * w[3];
        for (int k = 0; k < 4; k++) {
            double value = kind == CLV_SPLINE_VALUES ? w[k]
                           : kind == CLV_SPLINE_NUMERATOR ? w[k] * w[k] * w[k] / squares : w[k] * w[k];
            int row = kind == CLV_SPLINE_VALUES ? i : at + k, column = kind == CLV_SPLINE_VALUES ? at + k : i;
            matrix[(size_t)row * (size_t)columns + (size_t)column] = value;
        }
    }
    int status = clv_bands_make(ctx, rows, columns, matrix, out);
    free(matrix);
    return status;
}

int clv_spline_make(clvox_context *ctx, const clv_lattice *lattice, const clvox_grid *grid, clv_spline_kind kind,
                    clv_spline *out)
{
    int status = CLVOX_OK;
    double edge[3];
    clvox_grid_spacing(grid, edge);
    *out = (clv_spline){.along = {{.rows = 0}}};
    for (int a = 0; a < 3; a++)
        CLV_TRY(along(ctx, lattice, a, grid->size[a], edge[a], kind, &out->along[a]));
end:
    if (status < 0)
        clv_spline_free(out);
    return status;
}

int clv_spline_refine(clvox_context *ctx, const clv_lattice *lattice, clv_spline *out)
{
    int status = CLVOX_OK;
    double *matrix = NULL;
    *out = (clv_spline){.along = {{.rows = 0}}};
    for (int a = 0; a < 3; a++) {
        int columns = lattice->spans[a] + 3, rows = 2 * lattice->spans[a] + 3;
        matrix = calloc((size_t)rows * (size_t)columns, sizeof *matrix);
        if (!matrix) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
            goto end;
        }
        for (int i = 0; i < rows; i++) {
            double *row = matrix + (size_t)i * (size_t)columns + (size_t)(i / 2);
            if (i % 2) { /* over a control point: it and both neighbours */
                row[0] = row[2] = 0.125;
                row[1] = 0.75;
            } else {
                row[0] = row[1] = 0.5;
            }
        }
        CLV_TRY(clv_bands_make(ctx, rows, columns, matrix, &out->along[a]));
        free(matrix);
        matrix = NULL;
    }
end:
    free(matrix);
    if (status < 0)
        clv_spline_free(out);
    return status;
}

/* Row i of the inverse of (1 4 1) / 6, whose ends are (4 2) / 6: column i of its
 * transpose's, by elimination. n is above 1. */
static void invert_row(int n, int i, double *work, double *x)
{
    /* Transposed, the entries below the diagonal are those above it before. */
    for (int k = 0; k < n; k++)
        x[k] = k == i ? 6 : 0;
    double pivot = 4;
    for (int k = 0; k < n; k++) {
        double below = k == 1 ? 2 : 1, above = k == n - 2 ? 2 : 1;
        if (k > 0) {
            pivot = 4 - below * work[k - 1];
            x[k] -= below * x[k - 1];
        }
        x[k] /= pivot;
        work[k] = above / pivot;
    }
    for (int k = n - 2; k >= 0; k--)
        x[k] -= work[k] * x[k + 1];
    for (int k = 0; k < n; k++)
        x[k] = fabs(x[k]) < 1e-8 ? 0 : x[k];
}

int clv_spline_samples(clvox_context *ctx, const int size[3], clv_spline *out)
{
    int status = CLVOX_OK;
    double *matrix = NULL, *work = NULL;
    *out = (clv_spline){.along = {{.rows = 0}}};
    for (int a = 0; a < 3; a++) {
        int n = size[a];
        matrix = calloc((size_t)n * (size_t)n, sizeof *matrix);
        work = calloc((size_t)n, sizeof *work);
        if (!matrix || !work) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
            goto end;
        }
        matrix[0] = 1;
        for (int i = 0; i < n && n > 1; i++)
            invert_row(n, i, work, matrix + (size_t)i * (size_t)n);
        CLV_TRY(clv_bands_make(ctx, n, n, matrix, &out->along[a]));
        free(matrix);
        free(work);
        matrix = work = NULL;
    }
end:
    free(matrix);
    free(work);
    if (status < 0)
        clv_spline_free(out);
    return status;
}

void clv_spline_free(clv_spline *spline)
{
    for (int a = 0; a < 3; a++)
        clv_bands_free(&spline->along[a]);
}

size_t clv_spline_room(const int in[3], const int out[3])
{
    size_t x = (size_t)out[0] * (size_t)in[1] * (size_t)in[2], y = (size_t)out[0] * (size_t)out[1] * (size_t)in[2];
    return x > y ? x : y;
}

int clv_spline_apply(clvox_context *ctx, const clv_spline *spline, clv_buffer *in, const int in_size[3],
                     clv_buffer *const tmp[2], clv_buffer *out, const int out_size[3])
{
    int status = CLVOX_OK;
    const int x[3] = {out_size[0], in_size[1], in_size[2]}, y[3] = {out_size[0], out_size[1], in_size[2]};
    CLV_TRY(clv_bands_apply(ctx, CLV_VOLUME(in, in_size), 0, &spline->along[0], CLV_VOLUME(tmp[0], x)));
    CLV_TRY(clv_bands_apply(ctx, CLV_VOLUME(tmp[0], x), 1, &spline->along[1], CLV_VOLUME(tmp[1], y)));
    CLV_TRY(clv_bands_apply(ctx, CLV_VOLUME(tmp[1], y), 2, &spline->along[2], CLV_VOLUME(out, out_size)));
end:
    return status;
}
