/* SPDX-License-Identifier: Apache-2.0 */
/* Denoising: where the level set lies. A volume to be kept is only as good as the
 * input's: the mesh of a level set cuts off what bends out between its vertices
 * (1% of a hippocampus at 1 mm), and noise turns more voxels into inside ones
 * where a surface is convex than it takes away (3%). What the input says about
 * the place itself has neither bias: vertices lie on both sides alike, and at the
 * surface a noisy mask is inside as often as outside. */
#include <math.h>
#include <stdlib.h>

#include "base/matrix.h"
#include "surface/denoise.h"

/* A mask with noise of .25 voxel has this width: with less, its count of voxels is nearer to the truth. */
static const double BLURRED = 0.12;

/* Weights of samples -1, 0, 1, 2 of the cubic through them, at t from 0 to 1. */
static void cubic_weights(double t, double w[4])
{
    w[0] = -t * (1 - t) * (2 - t) / 6;
    w[1] = (1 + t) * (1 - t) * (2 - t) / 2;
    w[2] = (1 + t) * t * (2 - t) / 2;
    w[3] = -(1 + t) * t * (1 - t) / 6;
}

/* phi between voxels, by cubics: what is linear there cuts off as meshes do. NaN
 * where the samples around are not all there. */
static double sample(const clv_denoise_box *b, const float *phi, const double at[3])
{
    double w[3][4], sum = 0;
    int first[3];
    for (int a = 0; a < 3; a++) {
        double low = floor(at[a]);
        if (!(low >= 1 && low + 2 < b->size[a]))
            return NAN;
        cubic_weights(at[a] - low, w[a]);
        first[a] = (int)low - 1;
    }
    for (int z = 0; z < 4; z++)
        for (int y = 0; y < 4; y++) {
            const float *row = phi + ((first[2] + z) * b->size[1] + first[1] + y) * b->size[0] + first[0];
            double line = 0;
            for (int x = 0; x < 4; x++)
                line += w[0][x] * (double)row[x];
            sum += w[2][z] * w[1][y] * line;
        }
    return sum;
}

int clv_denoise_place_by_points(const clv_denoise_box *b, const clvox_grid *grid, const float *phi,
                                const clvox_surface *mesh, double *level)
{
    /* Vertices farther away are of parts that lie within others. */
    static const double most = 1.5;
    enum { TURNS = 4 };
    int status = CLVOX_OK;
    double to_voxel[4][4];
    size_t count = 0;
    double *at = malloc((mesh->vertices + 1) * sizeof *at);
    *level = 0;
    if (!at) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    CLV_TRY(clv_matrix_invert(CLV_MATRIX(grid->to_ras), to_voxel));
    for (size_t i = 0; i < mesh->vertices; i++) {
        double p[3];
        clv_matrix_apply(CLV_MATRIX(to_voxel), mesh->points + 3 * i, p);
        for (int a = 0; a < 3; a++)
            p[a] -= b->first[a];
        double v = sample(b, phi, p);
        if (isfinite(v))
            at[count++] = v;
    }
    for (int turn = 0; turn < TURNS && count; turn++) {
        double sum = 0, near = 0;
        for (size_t i = 0; i < count; i++)
            if (fabs(at[i] - *level) < most) {
                sum += at[i] - *level;
                near++;
            }
        *level += sum / fmax(near, 1);
    }
end:
    free(at);
    return status;
}

int clv_denoise_place_by_mask(const clv_denoise_box *b, const float *phi, const float *start, double *level,
                              double *width)
{
    static const double near = 2, steepest = 10, flattest = 0.1, enough = 1e-6;
    enum { TURNS = 30 };
    /* Logistic regression of inside on phi, P = 1 / (1 + exp(steep phi - offset)), by Newton's steps. */
    double offset = 0, steep = 1;
    int count = 0;
    int *at = malloc((size_t)b->n * sizeof *at);
    if (!at)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < b->n; i++)
        if (fabs((double)phi[i]) < near)
            at[count++] = i;
    for (int turn = 0; turn < TURNS; turn++) {
        double g[2] = {0, 0}, h[3] = {1e-9, 0, 1e-9}, was[2] = {offset, steep};
        for (int i = 0; i < count; i++) {
            double x = (double)phi[at[i]];
            double p = 1 / (1 + exp(steep * x - offset)), w = p * (1 - p);
            double rest = (start[at[i]] < 0 ? 1 : 0) - p;
            g[0] += rest;
            g[1] -= rest * x;
            h[0] += w;
            h[1] -= w * x;
            h[2] += w * x * x;
        }
        double det = h[0] * h[2] - h[1] * h[1];
        offset += (h[2] * g[0] - h[1] * g[1]) / det;
        steep = fmin(fmax(steep + (h[0] * g[1] - h[1] * g[0]) / det, flattest), steepest);
        if (fabs(offset - was[0]) < enough && fabs(steep - was[1]) < enough)
            break;
    }
    free(at);
    *width = 1 / steep;
    *level = offset / steep;
    if (!(fabs(*level) < 1))
        *level = 0;
    return CLVOX_OK;
}

int clv_denoise_is_blurred(clv_denoise *run, bool *blurred)
{
    int status = CLVOX_OK;
    const size_t bytes = (size_t)run->box.n * sizeof(float);
    double level, width;
    float *phi = malloc(bytes);
    if (!phi)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(clv_buffer_read(run->ctx, run->phi, 0, phi, bytes));
    CLV_TRY(clv_denoise_place_by_mask(&run->box, phi, run->start, &level, &width));
    *blurred = width > BLURRED;
end:
    free(phi);
    return status;
}

int clv_denoise_place(clv_denoise *run, float *phi)
{
    int status = CLVOX_OK;
    const clvox_level_set *s = run->level_set;
    const clv_denoise_box *b = &run->box;
    double level = 0, width;
    /* Vertices of large facets lie on one side of the surface between them. */
    if (run->options->free_volume || s->coarse)
        return CLVOX_OK;
    if (s->surface) {
        CLV_TRY(clv_denoise_place_by_points(b, &s->distance->grid, phi, s->surface, &level));
    } else {
        CLV_TRY(clv_denoise_place_by_mask(b, phi, run->start, &level, &width));
        if (!(width > BLURRED))
            return CLVOX_OK;
    }
    run->result->placed = 1;
    run->shift += level;
    for (int i = 0; i < b->n; i++)
        phi[i] -= (float)level;
    CLV_TRY(clv_buffer_write(run->ctx, run->phi, 0, phi, (size_t)b->n * sizeof(float)));
end:
    return status;
}
