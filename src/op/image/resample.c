/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/resample.h"

#include <math.h>
#include <string.h>

#include "base/matrix.h"

static double spacing_of(const clvox_grid *grid, int axis)
{
    double x = grid->to_ras[0][axis], y = grid->to_ras[1][axis], z = grid->to_ras[2][axis];
    return sqrt(x * x + y * y + z * z);
}

void clv_pyramid_grid(const clvox_grid *grid, const double factor[3], clvox_grid *level)
{
    clvox_grid made = *grid;
    for (int a = 0; a < 3; a++) {
        double n = floor(grid->size[a] / fmax(factor[a], 1) + 0.5);
        made.size[a] = n < 1 ? 1 : (int)n;
        double ratio = (double)grid->size[a] / made.size[a];
        for (int r = 0; r < 3; r++) {
            made.to_ras[r][a] = grid->to_ras[r][a] * ratio;
            /* The first centre moves inwards by half of what the voxel grew. */
            made.to_ras[r][3] += grid->to_ras[r][a] * 0.5 * (ratio - 1);
        }
    }
    *level = made;
}

void clv_map_between(const clvox_grid *to, const clvox_grid *from, const double world[4][4],
                     float field_sign, clv_map *map)
{
    double m[4][4], inverse[4][4];
    memcpy(m, to->to_ras, sizeof m);
    if (world)
        clv_matrix_multiply(world, CLV_MATRIX(m), m);
    /* Columns and rows of a grid's matrix are never singular. */
    if (clv_matrix_invert(CLV_MATRIX(from->to_ras), inverse) < 0)
        clv_matrix_identity(inverse);
    clv_matrix_multiply(CLV_MATRIX(inverse), CLV_MATRIX(m), m);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) {
            /* Grids that agree but for rounding give whole positions. */
            double nearest = rint(m[i][j]);
            if (fabs(m[i][j] - nearest) < 1e-9)
                m[i][j] = nearest;
            map->linear[i][j] = (float)m[i][j];
            if (j < 3)
                map->shift[i][j] = (float)(field_sign * m[i][j] / spacing_of(to, j));
        }
}

int clv_sample(clvox_context *ctx, const clv_buffer *in, const clvox_grid *from, clv_buffer *out,
               const clvox_grid *to)
{
    clv_map map;
    clv_map_between(to, from, NULL, 0, &map);
    return clv_warp(ctx, CLV_VOLUME(in, from->size), &map, NULL, CLV_LINEAR, 0, CLV_VOLUME(out, to->size));
}

int clv_downsample(clvox_context *ctx, const clv_buffer *in, const clvox_grid *from,
                   clv_buffer *const scratch[2], clv_buffer *out, const clvox_grid *to)
{
    int status = CLVOX_OK;
    float sigma[3];
    for (int a = 0; a < 3; a++) {
        double f = spacing_of(to, a) / spacing_of(from, a);
        sigma[a] = f > 1 ? (float)(0.5 * sqrt(f * f - 1)) : 0;
        /* A ratio of 1 but for rounding. */
        if (sigma[a] < 0.01f)
            sigma[a] = 0;
    }
    if (sigma[0] > 0 || sigma[1] > 0 || sigma[2] > 0) {
        CLV_TRY(clv_gaussian(ctx, CLV_VOLUME(in, from->size), sigma, CLV_GAUSSIAN_AUTO, scratch[0],
                             scratch[1]));
        in = scratch[1];
    }
    status = clv_sample(ctx, in, from, out, to);
end:
    return status;
}
