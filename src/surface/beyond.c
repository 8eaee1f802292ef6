/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "clvox/threads.h"
#include "base/status.h"
#include "surface/band.h"

enum { BUNDLE = 8 };

typedef struct beyond {
    const clv_tree *tree;
    const clvox_grid *grid;
    bool border; /* ask the tree for the outermost voxels only */
    float *distance;
    int32_t *place; /* of the nearest triangle in the tree's order, once all are asked */
    unsigned char *fixed;
    float edge[3]; /* of a voxel */
    int way, front, lowest; /* of the sweep, its diagonal, and the first bundle on it */
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
    const double step = (double)b->edge[0];
    (void)worker;
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
            if (!clv_tree_nearest(b->tree, p, certain * certain * (1 + 1e-5), &nearest))
                continue;
            certain = sqrt(nearest.squared);
            b->distance[i] = (float)certain;
            b->place[i] = nearest.triangle; /* made a place by the caller */
            b->fixed[i] = 1;
        }
    }
    return CLVOX_OK;
}

/* One voxel learns from a neighbour `step` away, unless that is so far from its
 * triangle that this cannot be nearer to it than to what it has. */
static inline void learn(beyond *b, size_t i, size_t from, float step, const double p[3])
{
    int32_t place = b->place[from];
    double point[3];
    if (place < 0 || place == b->place[i] || (b->place[i] >= 0 && b->distance[from] - step >= b->distance[i]))
        return;
    double d = sqrt(clv_triangle_nearest(b->tree->corners + 9 * (size_t)place, p, point));
    if (b->place[i] < 0 || (float)d < b->distance[i]) {
        b->distance[i] = (float)d;
        b->place[i] = place;
    }
}

/* One bundle of rows, in the direction of this sweep. */
static int sweep_bundle(void *user, size_t index, int worker)
{
    beyond *b = user;
    const int *n = b->grid->size;
    int step[3], first[3], bundle[3] = {0, b->lowest + (int)index, 0};
    (void)worker;
    bundle[2] = b->front - bundle[1];
    for (int a = 0; a < 3; a++) {
        step[a] = b->way >> a & 1 ? -1 : 1;
        first[a] = step[a] > 0 ? 0 : n[a] - 1;
    }
    for (int k = BUNDLE * bundle[2]; k < BUNDLE * (bundle[2] + 1) && k < n[2]; k++)
        for (int j = BUNDLE * bundle[1]; j < BUNDLE * (bundle[1] + 1) && j < n[1]; j++)
            for (int i = 0; i < n[0]; i++) {
                int x = first[0] + step[0] * i, y = first[1] + step[1] * j, z = first[2] + step[2] * k;
                size_t at = index_of(b->grid, x, y, z);
                double p[3];
                if (b->fixed[at])
                    continue;
                position(b->grid, x, y, z, p);
                if (i > 0)
                    learn(b, at, index_of(b->grid, x - step[0], y, z), b->edge[0], p);
                if (j > 0)
                    learn(b, at, index_of(b->grid, x, y - step[1], z), b->edge[1], p);
                if (k > 0)
                    learn(b, at, index_of(b->grid, x, y, z - step[2]), b->edge[2], p);
            }
    return CLVOX_OK;
}

/* Over the grid from one of its eight corners. A row needs those before it in y
 * and in z; bundles of rows on one diagonal are independent of one another. */
static int sweep(beyond *b, int way)
{
    int across = (b->grid->size[1] + BUNDLE - 1) / BUNDLE, up = (b->grid->size[2] + BUNDLE - 1) / BUNDLE;
    b->way = way;
    for (b->front = 0; b->front < across + up - 1; b->front++) {
        b->lowest = b->front < up ? 0 : b->front - up + 1;
        int highest = b->front < across ? b->front : across - 1;
        int status = clvox_parallel((size_t)(highest - b->lowest + 1), sweep_bundle, b);
        if (status < 0)
            return status;
    }
    return CLVOX_OK;
}

int clv_surface_beyond(const clvox_surface *surface, const clv_tree *tree, const clvox_grid *grid,
                       bool with_border, float *distance, int32_t *triangle)
{
    int status = CLVOX_OK;
    size_t n = clvox_grid_voxels(grid), known = 0;
    double spacing[3];
    beyond b = {.tree = tree, .grid = grid, .distance = distance, .place = triangle};
    int32_t *place_of = malloc(surface->triangles * sizeof *place_of);
    clvox_grid_spacing(grid, spacing);
    for (int a = 0; a < 3; a++)
        b.edge[a] = (float)spacing[a];
    b.fixed = calloc(n, 1);
    if (!place_of || !b.fixed) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the distance to a surface");
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
        CLV_TRY(clvox_parallel((size_t)grid->size[2], ask_plane, &b));
    for (size_t i = 0; i < n; i++)
        if (triangle[i] >= 0)
            triangle[i] = place_of[triangle[i]];
    for (int way = 0; way < 8 && known > 0 && known < n; way++)
        CLV_TRY(sweep(&b, way));
    for (size_t i = 0; i < n; i++)
        if (triangle[i] >= 0)
            triangle[i] = tree->order[triangle[i]];
end:
    free(place_of);
    free(b.fixed);
    return status;
}
