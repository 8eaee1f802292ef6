/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/reorient.h"

#include <math.h>
#include <string.h>

#include "base/matrix.h"
#include "base/parallel.h"
#include "base/status.h"

typedef struct work {
    clvox_volume *image;
    const clvox_volume *u;
    const double (*matrix)[4];
    double to_index[3][3]; /* RAS mm -> voxels */
    double rotation[3][3]; /* of matrix alone */
} work;

/* The transposed rotation of matrix (1 + Du) at a voxel. */
static void rotation_at(const work *w, const size_t at[3], double r[3][3])
{
    const int *n = w->u->grid.size;
    size_t voxels = clvox_grid_voxels(&w->u->grid);
    size_t stride[3] = {1, (size_t)n[0], (size_t)n[0] * (size_t)n[1]};
    size_t i = at[2] * stride[2] + at[1] * stride[1] + at[0];
    double by_index[3][3] = {{0}}, du[3][3], local[3][3], q[3][3], j4[4][4] = {{0}};
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
    if (!clv_matrix_regular(CLV_MATRIX(j4)) || clv_matrix_rotation(CLV_MATRIX(j4), q) < 0) {
        memcpy(r, w->rotation, sizeof w->rotation);
        return;
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            r[a][b] = q[b][a];
}

static void turn_voxel(float *v, size_t voxels, int frames, const double r[3][3])
{
    if (frames == 3) {
        double in[3] = {(double)v[0], (double)v[voxels], (double)v[2 * voxels]};
        for (size_t a = 0; a < 3; a++)
            v[a * voxels] = (float)(r[a][0] * in[0] + r[a][1] * in[1] + r[a][2] * in[2]);
        return;
    }
    static const size_t place[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    double d[3][3], half[3][3];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            d[a][b] = (double)v[place[a][b] * voxels];
    clv_matrix3_multiply(r, CLV_MATRIX3(d), half);
    for (int a = 0; a < 3; a++)
        for (int b = a; b < 3; b++)
            v[place[a][b] * voxels] =
                (float)(half[a][0] * r[b][0] + half[a][1] * r[b][1] + half[a][2] * r[b][2]);
}

static int turn_plane(void *user, size_t z, int worker)
{
    const work *w = user;
    const int *n = w->image->grid.size;
    size_t voxels = clvox_grid_voxels(&w->image->grid), i = z * (size_t)n[0] * (size_t)n[1];
    double r[3][3];
    (void)worker;
    memcpy(r, w->rotation, sizeof r);
    for (size_t y = 0; y < (size_t)n[1]; y++)
        for (size_t x = 0; x < (size_t)n[0]; x++, i++) {
            if (w->u)
                rotation_at(w, (const size_t[3]){x, y, z}, r);
            turn_voxel(w->image->data + i, voxels, w->image->frames, CLV_MATRIX3(r));
        }
    return CLVOX_OK;
}

int clv_reorient(clvox_volume *image, const clvox_volume *u, const double matrix[4][4])
{
    int status = CLVOX_OK;
    work w = {.image = image, .u = u, .matrix = matrix};
    double q[3][3], axes[3][3];
    for (int a = 0; a < 3; a++)
        memcpy(axes[a], image->grid.to_ras[a], sizeof axes[a]);
    CLV_TRY(clv_matrix3_invert(CLV_MATRIX3(axes), w.to_index));
    CLV_TRY(clv_matrix_rotation(matrix, q));
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            w.rotation[a][b] = q[b][a];
    CLV_TRY(clv_parallel((size_t)image->grid.size[2], turn_plane, &w));
end:
    return status;
}
