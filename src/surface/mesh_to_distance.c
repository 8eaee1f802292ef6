/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "mesh/mesh.h"
#include "runtime/device/host.h"
#include "runtime/device/watch.h"
#include "surface/band.h"
#include "mesh/winding.h"

/* Six times the volume of the cones from a point to the triangles. */
static double cones(const clvox_surface *s, const double from[3])
{
    double sum = 0;
    for (size_t t = 0; t < s->triangles; t++) {
        double q[3][3];
        for (size_t k = 0; k < 3; k++)
            for (size_t a = 0; a < 3; a++)
                q[k][a] = s->points[3 * (size_t)s->corners[3 * t + k] + a] - from[a];
        sum += q[0][0] * (q[1][1] * q[2][2] - q[1][2] * q[2][1]) +
               q[0][1] * (q[1][2] * q[2][0] - q[1][0] * q[2][2]) +
               q[0][2] * (q[1][0] * q[2][1] - q[1][1] * q[2][0]);
    }
    return sum;
}

/* A copy whose triangles run alike, and what closes it. */
static int prepare(const clvox_surface *surface, clvox_surface **oriented, clvox_surface **caps,
                   clvox_surface_notes *notes)
{
    int status = CLVOX_OK;
    clv_side *sides = NULL;
    size_t count;
    double middle[3];
    CLV_TRY(clvox_surface_create(surface->vertices, surface->triangles, oriented));
    memcpy((*oriented)->points, surface->points, 3 * surface->vertices * sizeof *surface->points);
    memcpy((*oriented)->corners, surface->corners, 3 * surface->triangles * sizeof *surface->corners);
    /* Files that give each triangle its own vertices look open everywhere. */
    if (notes->facts.open_edges) {
        CLV_TRY(clv_surface_weld(*oriented, &notes->vertices_welded));
        CLV_TRY(clvox_surface_inspect(*oriented, &notes->facts));
    }
    CLV_TRY(clv_sides(*oriented, &sides, &count));
    if (notes->facts.flipped_edges)
        CLV_TRY(clv_surface_orient(*oriented, sides, count, &notes->triangles_turned));
    if (notes->triangles_turned) {
        free(sides);
        sides = NULL;
        CLV_TRY(clv_sides(*oriented, &sides, &count));
    }
    CLV_TRY(clv_surface_caps(*oriented, sides, count, caps));
    for (int a = 0; a < 3; a++)
        middle[a] = (notes->facts.bounds[0][a] + notes->facts.bounds[1][a]) / 2;
    notes->turned = cones(*oriented, middle) + cones(*caps, middle) < 0;
    /* Closed parts, which have no caps. */
    if (notes->facts.components > 1)
        CLV_TRY(clv_surface_flip_parts(*oriented, sides, count, notes->turned ? -1 : 1,
                                       &notes->triangles_turned));
end:
    free(sides);
    return status;
}

/* Whether a corner of a used triangle lies beyond the outermost voxel centres. */
static int leaves(const clvox_surface *surface, const clvox_grid *grid, int *out)
{
    double to_voxel[4][4], v[3];
    int status = clv_matrix_invert(grid->to_ras, to_voxel);
    *out = 0;
    for (size_t i = 0; status >= 0 && i < 3 * surface->triangles && !*out; i++) {
        clv_matrix_apply(CLV_MATRIX(to_voxel), surface->points + 3 * (size_t)surface->corners[i], v);
        for (int a = 0; a < 3; a++)
            *out |= v[a] < 0 || v[a] > grid->size[a] - 1;
    }
    return status;
}

/* Forgets a nearest triangle with inside, or outside, on both of its sides, which bounds nothing: the voxel learns
 * of others from its neighbours. The winding number across a triangle differs by one. */
static void forget_buried(const clvox_surface *s, const clvox_grid *grid, const int16_t *winding, int sign,
                          const unsigned char *inside, int32_t *nearest)
{
    size_t n = clvox_grid_voxels(grid), nx = (size_t)grid->size[0], ny = (size_t)grid->size[1];
    for (size_t i = 0; i < n; i++) {
        const double voxel[3] = {(double)(i % nx), (double)(i / nx % ny), (double)(i / nx / ny)};
        int w = sign * winding[i];
        double p[3], height = 0;
        /* Beside a cap the integer is not the mesh's own. */
        if (nearest[i] < 0 || inside[i] != (w > 0))
            continue;
        const double *c[3];
        for (size_t k = 0; k < 3; k++)
            c[k] = s->points + 3 * (size_t)s->corners[3 * (size_t)nearest[i] + k];
        clv_matrix_apply(grid->to_ras, voxel, p);
        for (int k = 0; k < 3; k++) {
            int l = (k + 1) % 3, m = (k + 2) % 3;
            height += (p[k] - c[0][k]) * ((c[1][l] - c[0][l]) * (c[2][m] - c[0][m]) -
                                          (c[1][m] - c[0][m]) * (c[2][l] - c[0][l]));
        }
        int across = sign * height > 0 ? w + 1 : w - 1;
        if ((w > 0) == (across > 0))
            nearest[i] = -1;
    }
}

int clv_surface_inside(const clvox_surface *surface, const clvox_grid *grid, unsigned char *inside)
{
    int status = CLVOX_OK;
    clvox_surface_notes found = {0};
    clvox_surface *oriented = NULL, *caps = NULL;
    int16_t *winding = malloc(clvox_grid_voxels(grid) * sizeof *winding);
    if (!winding)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the inside of a surface");
    CLV_TRY(clvox_surface_inspect(surface, &found.facts));
    CLV_TRY(prepare(surface, &oriented, &caps, &found));
    CLV_TRY(clv_winding_rows(oriented, caps, grid, winding));
    CLV_TRY(clv_winding_inside(caps, grid, winding, found.turned ? -1 : 1, inside));
end:
    clvox_surface_destroy(&oriented);
    clvox_surface_destroy(&caps);
    free(winding);
    return status;
}

int clvox_distance_from_surface(clvox_context *ctx, const clvox_surface *surface, const clvox_grid *grid,
                                double band, clvox_surface_notes *notes, clvox_volume **out)
{
    CLV_GIVEN(ctx, surface, grid, out);
    CLV_HOST_THREADS(ctx);
    CLV_WATCH(ctx, "distance");
    int status = CLVOX_OK;
    size_t n = clvox_grid_voxels(grid);
    clvox_surface_notes found = {0};
    clvox_surface *oriented = NULL, *caps = NULL;
    clv_tree *tree = NULL;
    clvox_volume *volume = NULL;
    int32_t *nearest = malloc(n * sizeof *nearest);
    int16_t *winding = malloc(n * sizeof *winding);
    unsigned char *inside = malloc(n);
    *out = NULL;
    if (!nearest || !winding || !inside) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the distance to a surface");
        goto end;
    }
    if (!(band > 0)) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT,
                            "the band about the surface is %g mm wide; more than 0 is needed", band);
        goto end;
    }
    CLV_TRY(clvox_surface_inspect(surface, &found.facts));
    if (!surface->triangles) {
        status = clvox_fail(CLVOX_ERROR_DATA, "the surface has no triangle");
        goto end;
    }
    CLV_TRY(leaves(surface, grid, &found.leaves_grid));
    CLV_TRY(prepare(surface, &oriented, &caps, &found));
    CLV_TRY(clv_winding_rows(oriented, caps, grid, winding));
    CLV_TRY(clv_winding_inside(caps, grid, winding, found.turned ? -1 : 1, inside));
    CLV_TRY(clv_tree_create(oriented, &tree));
    CLV_TRY(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &volume));
    for (size_t i = 0; i < n; i++)
        nearest[i] = -1;
    int64_t written = clv_surface_band(ctx, oriented, tree, grid, band, volume->data, nearest);
    CLV_TRY((int)(written < 0 ? written : 0));
    int sign = found.turned ? -1 : 1;
    for (size_t i = 0; i < n; i++) {
        found.crossing |= sign * winding[i] < 0 || sign * winding[i] > 1;
        found.voxels_inside += inside[i];
    }
    if (found.crossing)
        forget_buried(oriented, grid, winding, sign, inside, nearest);
    CLV_TRY(clv_surface_beyond(oriented, tree, grid, found.leaves_grid, volume->data, nearest));
    for (size_t i = 0; i < n; i++)
        if (inside[i])
            volume->data[i] = -volume->data[i];
    if (notes)
        *notes = found;
    *out = volume;
    volume = NULL;
end:
    clvox_volume_destroy(&volume);
    clvox_surface_destroy(&oriented);
    clvox_surface_destroy(&caps);
    clv_tree_destroy(&tree);
    free(nearest);
    free(winding);
    free(inside);
    return status;
}
