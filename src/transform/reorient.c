/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/reorient.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/eigen.h"
#include "base/matrix.h"
#include "clvox/threads.h"
#include "base/status.h"

typedef struct work {
    clvox_volume *image;
    const clvox_volume *u;
    const double (*matrix)[4];
    double to_index[3][3]; /* RAS mm -> voxels */
    bool principal;
    double by_matrix[3][3]; /* rotation or F, as principal says, of matrix alone */
} work;

/* The rotation of J^-1, or J^-1 itself. */
static int local_map(const double j[4][4], bool principal, double out[3][3])
{
    double q[3][3];
    if (!clv_matrix_regular(j))
        return clvox_fail(CLVOX_ERROR_DATA, "the transform is singular, so nothing can be turned by it");
    if (principal) {
        for (int a = 0; a < 3; a++)
            memcpy(q[a], j[a], sizeof q[a]);
        return clv_matrix3_invert(CLV_MATRIX3(q), out);
    }
    int status = clv_matrix_rotation(j, q);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            out[a][b] = q[b][a];
    return status;
}

/* The same of matrix (1 + Du) at a voxel. */
static void map_at(const work *w, const size_t at[3], double out[3][3])
{
    const int *n = w->u->grid.size;
    size_t voxels = clvox_grid_voxels(&w->u->grid);
    size_t stride[3] = {1, (size_t)n[0], (size_t)n[0] * (size_t)n[1]};
    size_t i = at[2] * stride[2] + at[1] * stride[1] + at[0];
    double by_index[3][3] = {{0}}, du[3][3], local[3][3], j4[4][4] = {{0}};
    for (int a = 0; a < 3; a++) {
        size_t low = at[a] > 0 ? i - stride[a] : i;
        size_t high = at[a] + 1 < (size_t)n[a] ? i + stride[a] : i;
        double width = (double)((high - low) / stride[a]);
        for (size_t c = 0; width > 0 && c < 3; c++)
            by_index[c][a] =
                ((double)w->u->data[c * voxels + high] - (double)w->u->data[c * voxels + low]) / width;
    }
    clv_matrix3_multiply(CLV_MATRIX3(by_index), CLV_MATRIX3(w->to_index), du);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            local[a][b] = (a == b) + du[a][b];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            for (int k = 0; k < 3; k++)
                j4[a][b] += w->matrix[a][k] * local[k][b];
    j4[3][3] = 1;
    if (local_map(CLV_MATRIX(j4), w->principal, out) < 0)
        memcpy(out, w->by_matrix, sizeof w->by_matrix);
}

static void times(const double m[3][3], const double v[3], double out[3])
{
    for (int a = 0; a < 3; a++)
        out[a] = m[a][0] * v[0] + m[a][1] * v[1] + m[a][2] * v[2];
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* f v with the length of v. */
static void along(const double f[3][3], const double v[3], double out[3])
{
    times(f, v, out);
    double length = sqrt(dot(out, out)), wanted = sqrt(dot(v, v));
    for (int a = 0; a < 3; a++)
        out[a] = length > 0 ? out[a] * wanted / length : v[a];
}

/* R that preserves the principal direction of d under f; false where d has none
 * that is finite. */
static bool principal_rotation(const double f[3][3], const double d[3][3], double r[3][3])
{
    double values[3], vectors[3][3], e[3][3], n[3][3], size = 0;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            size += fabs(d[a][b]);
    if (!isfinite(size) || !(size > 0))
        return false;
    clv_eigen_symmetric(d, values, vectors);
    for (int a = 0; a < 3; a++) {
        e[0][a] = vectors[a][2];
        e[1][a] = vectors[a][1];
    }
    for (int a = 0; a < 3; a++)
        e[2][a] = e[0][(a + 1) % 3] * e[1][(a + 2) % 3] - e[0][(a + 2) % 3] * e[1][(a + 1) % 3];
    along(f, e[0], n[0]);
    times(f, e[1], n[1]);
    double parallel = dot(n[1], n[0]);
    for (int a = 0; a < 3; a++)
        n[1][a] -= parallel * n[0][a];
    double length = sqrt(dot(n[1], n[1]));
    if (!(length > 0))
        return false;
    for (int a = 0; a < 3; a++)
        n[1][a] /= length;
    for (int a = 0; a < 3; a++)
        n[2][a] = n[0][(a + 1) % 3] * n[1][(a + 2) % 3] - n[0][(a + 2) % 3] * n[1][(a + 1) % 3];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            r[a][b] = n[0][a] * e[0][b] + n[1][a] * e[1][b] + n[2][a] * e[2][b];
    return true;
}

/* map: as local_map gives it. */
static void reorient_voxel(float *v, size_t voxels, int frames, const double map[3][3], bool principal)
{
    if (frames == 3) {
        double in[3] = {(double)v[0], (double)v[voxels], (double)v[2 * voxels]}, out[3];
        if (principal)
            along(map, in, out);
        else
            times(map, in, out);
        for (size_t a = 0; a < 3; a++)
            v[a * voxels] = (float)out[a];
        return;
    }
    static const size_t place[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    double d[3][3], half[3][3], r[3][3];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            d[a][b] = (double)v[place[a][b] * voxels];
    memcpy(r, map, sizeof r);
    if (principal && !principal_rotation(map, CLV_MATRIX3(d), r))
        return;
    clv_matrix3_multiply(CLV_MATRIX3(r), CLV_MATRIX3(d), half);
    for (int a = 0; a < 3; a++)
        for (int b = a; b < 3; b++)
            v[place[a][b] * voxels] =
                (float)(half[a][0] * r[b][0] + half[a][1] * r[b][1] + half[a][2] * r[b][2]);
}

static int reorient_plane(void *user, size_t z, int worker)
{
    const work *w = user;
    const int *n = w->image->grid.size;
    size_t voxels = clvox_grid_voxels(&w->image->grid), i = z * (size_t)n[0] * (size_t)n[1];
    double map[3][3];
    (void)worker;
    memcpy(map, w->by_matrix, sizeof map);
    for (size_t y = 0; y < (size_t)n[1]; y++)
        for (size_t x = 0; x < (size_t)n[0]; x++, i++) {
            if (w->u)
                map_at(w, (const size_t[3]){x, y, z}, map);
            reorient_voxel(w->image->data + i, voxels, w->image->frames, CLV_MATRIX3(map), w->principal);
        }
    return CLVOX_OK;
}

int clv_reorient(clvox_volume *image, const clvox_volume *u, const double matrix[4][4],
                 clvox_reorientation how)
{
    int status = CLVOX_OK;
    work w = {.image = image, .u = u, .matrix = matrix};
    double axes[3][3];
    if (how == CLVOX_REORIENT_NONE)
        return CLVOX_OK;
    w.principal = how == CLVOX_REORIENT_PRINCIPAL || (how == CLVOX_REORIENT_AUTO && image->frames == 6);
    for (int a = 0; a < 3; a++)
        memcpy(axes[a], image->grid.to_ras[a], sizeof axes[a]);
    CLV_TRY(clv_matrix3_invert(CLV_MATRIX3(axes), w.to_index));
    CLV_TRY(local_map(matrix, w.principal, w.by_matrix));
    CLV_TRY(clvox_parallel((size_t)image->grid.size[2], reorient_plane, &w));
end:
    return status;
}
