/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/parallel.h"
#include "base/status.h"
#include "pipeline/surface_band.h"

typedef struct beyond {
    const clv_tree *tree;
    const clvox_grid *grid;
    bool border; /* ask the tree for the outermost voxels only */
    float *distance;
    int32_t *place; /* of the nearest triangle in the tree's order, once all are asked */
    unsigned char *fixed;
} beyond;

static size_t index_of(const clvox_grid *grid, int x, int y, int z)
{
    return ((size_t)z * (size_t)grid->size[1] + (size_t)y) * (size_t)grid->size[0] + (size_t)x;
}

static void position(const clvox_grid *grid, int x, int y, int z, double p[3])
{
    for (int a = 0; a < 3; a++) {
        const double *m = grid->to_ras[a];
        p[a] = m[0] * x + m[1] * y + m[2] * z + m[3];
    }
}

/* Asks the tree for the voxels of a plane that nothing is known of, each
 * beginning with what is certain from the one before. */
static int ask_plane(void *user, size_t plane, int worker)
{
    beyond *b = user;
    const int *size = b->grid->size;
    int z = (int)plane;
    double step = 0;
    (void)worker;
    for (int a = 0; a < 3; a++)
        step += b->grid->to_ras[a][0] * b->grid->to_ras[a][0];
    step = sqrt(step);
    for (int y = 0; y < size[1]; y++) {
        double certain = INFINITY;
        bool whole = !b->border || z == 0 || z == size[2] - 1 || y == 0 || y == size[1] - 1;
        for (int x = 0; x < size[0]; x++, certain += step) {
            size_t i = index_of(b->grid, x, y, z);
            double p[3];
            clv_nearest nearest;
            if (b->place[i] >= 0 || (!whole && x > 0 && x < size[0] - 1))
                continue;
            position(b->grid, x, y, z, p);
            if (!clv_tree_nearest(b->tree, p, certain * certain * (1 + 1e-9), &nearest))
                continue;
            certain = sqrt(nearest.squared);
            b->distance[i] = (float)certain;
            b->place[i] = nearest.triangle; /* made a place by the caller */
            b->fixed[i] = 1;
        }
    }
    return CLVOX_OK;
}

/* One voxel learns from a neighbour. */
static inline void learn(beyond *b, size_t i, size_t from, const double p[3])
{
    int32_t place = b->place[from];
    double point[3];
    if (place < 0 || place == b->place[i])
        return;
    double d = sqrt(clv_triangle_nearest(b->tree->corners + 9 * (size_t)place, p, point));
    if (b->place[i] < 0 || (float)d < b->distance[i]) {
        b->distance[i] = (float)d;
        b->place[i] = place;
    }
}

/* Over the grid from one of its eight corners. */
static void sweep(beyond *b, int way)
{
    const int *n = b->grid->size;
    const int step[3] = {way & 1 ? -1 : 1, way & 2 ? -1 : 1, way & 4 ? -1 : 1};
    int first[3], end[3];
    for (int a = 0; a < 3; a++) {
        first[a] = step[a] > 0 ? 0 : n[a] - 1;
        end[a] = step[a] > 0 ? n[a] : -1;
    }
    for (int z = first[2]; z != end[2]; z += step[2])
        for (int y = first[1]; y != end[1]; y += step[1])
            for (int x = first[0]; x != end[0]; x += step[0]) {
                size_t i = index_of(b->grid, x, y, z);
                double p[3];
                if (b->fixed[i])
                    continue;
                position(b->grid, x, y, z, p);
                if (x != first[0])
                    learn(b, i, index_of(b->grid, x - step[0], y, z), p);
                if (y != first[1])
                    learn(b, i, index_of(b->grid, x, y - step[1], z), p);
                if (z != first[2])
                    learn(b, i, index_of(b->grid, x, y, z - step[2]), p);
            }
}

int clv_surface_beyond(const clvox_surface *surface, const clv_tree *tree, const clvox_grid *grid,
                       bool with_border, float *distance, int32_t *triangle)
{
    int status = CLVOX_OK;
    size_t n = clvox_grid_voxels(grid), known = 0;
    beyond b = {.tree = tree, .grid = grid, .distance = distance, .place = triangle};
    int32_t *place_of = malloc(surface->triangles * sizeof *place_of);
    b.fixed = calloc(n, 1);
    if (!place_of || !b.fixed) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for the distance to a surface");
        goto end;
    }
    for (size_t i = 0; i < surface->triangles; i++)
        place_of[tree->order[i]] = (int32_t)i;
    for (size_t i = 0; i < n; i++) {
        b.fixed[i] = triangle[i] >= 0;
        known += b.fixed[i];
    }
    b.border = known > 0;
    if (with_border || !known)
        CLV_TRY(clv_parallel((size_t)grid->size[2], ask_plane, &b));
    for (size_t i = 0; i < n; i++)
        if (triangle[i] >= 0)
            triangle[i] = place_of[triangle[i]];
    for (int way = 0; way < 8 && known > 0 && known < n; way++)
        sweep(&b, way);
    for (size_t i = 0; i < n; i++)
        if (triangle[i] >= 0)
            triangle[i] = tree->order[triangle[i]];
end:
    free(place_of);
    free(b.fixed);
    return status;
}
