/* SPDX-License-Identifier: Apache-2.0 */
/* Distances between curves and between clouds, whose elements are triangles with corners in one place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "clvox/threads.h"
#include "mesh/shape.h"
#include "mesh/tree.h"

enum { PIECE = 512 };

/* Points of one shape, their share in the mean, and how far they are from the other. */
typedef struct places {
    double *at, *share, *distance;
    size_t count;
    const clv_tree *tree; /* of the other */
} places;

static void add(places *p, const double at[3], double share)
{
    memcpy(p->at + 3 * p->count, at, 3 * sizeof *at);
    p->share[p->count++] = share;
}

/* Samples in the middles of equal pieces of the whole length, then the vertices, which have no share; of a
 * cloud the points. */
static void list(const clvox_shape *s, double size, size_t samples, places *out)
{
    double centre[3], unit[3], before = 0;
    size_t next = 0;
    for (size_t e = 0; e < s->elements; e++) {
        const double own = clv_shape_element(s, e, centre, unit);
        if (s->kind == CLVOX_SHAPE_CLOUD) {
            add(out, centre, own / size);
            continue;
        }
        for (; next < samples && size * ((double)next + .5) / (double)samples <= before + own; next++) {
            const double along = size * ((double)next + .5) / (double)samples - before - own / 2;
            double at[3];
            for (int k = 0; k < 3; k++)
                at[k] = centre[k] + along * unit[k];
            add(out, at, 1 / (double)samples);
        }
        before += own;
        for (size_t k = 0; k < 2; k++)
            add(out, s->points + 3 * (size_t)s->corners[2 * e + k], 0);
    }
}

static int measure(void *user, size_t piece, int worker)
{
    const places *p = user;
    clv_nearest nearest;
    (void)worker;
    for (size_t i = piece * PIECE; i < (piece + 1) * PIECE && i < p->count; i++) {
        clv_tree_nearest(p->tree, p->at + 3 * i, INFINITY, &nearest);
        p->distance[i] = sqrt(nearest.squared);
    }
    return CLVOX_OK;
}

static int plant(const clvox_shape *s, clv_tree **out)
{
    clvox_surface flat = {.vertices = s->vertices, .triangles = s->elements, .points = s->points};
    flat.corners = malloc(3 * s->elements * sizeof *flat.corners + 1);
    if (!flat.corners)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory to compare shapes");
    for (size_t i = 0; i < 3 * s->elements; i++)
        flat.corners[i] = s->corners[(size_t)s->kind * (i / 3) + (i % 3 < (size_t)s->kind ? i % 3 : 0)];
    int status = clv_tree_create(&flat, out);
    free(flat.corners);
    return status;
}

static int compare_surfaces(const clvox_shape *a, const clvox_shape *b, int samples, double mean[3],
                            double largest[3])
{
    const clvox_surface s = {a->vertices, a->elements, a->points, a->corners};
    const clvox_surface t = {b->vertices, b->elements, b->points, b->corners};
    clvox_surface_difference d;
    int status = clvox_surface_compare(&s, &t, samples, &d);
    memcpy(mean, d.mean, sizeof d.mean);
    memcpy(largest, d.largest, sizeof d.largest);
    return status;
}

int clvox_shape_compare(const clvox_shape *a, const clvox_shape *b, int samples, double mean[3],
                        double largest[3])
{
    CLV_GIVEN(a, b, mean, largest);
    int status = CLVOX_OK;
    const clvox_shape *shape[2] = {a, b};
    clv_tree *trees[2] = {NULL, NULL};
    places p[2] = {{.count = 0}, {.count = 0}};
    if (samples < 1 || a->kind != b->kind)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "shapes of one kind are compared, at 1 point or more");
    if (a->kind == CLVOX_SHAPE_SURFACE)
        return compare_surfaces(a, b, samples, mean, largest);
    for (int i = 0; i < 2; i++) {
        double size;
        CLV_TRY(clv_shape_check(shape[i], &size));
        CLV_TRY(plant(shape[i], &trees[i]));
        const size_t most = (size_t)samples + 2 * shape[i]->elements;
        p[i].at = malloc(most * 3 * sizeof(double));
        p[i].share = malloc(most * sizeof(double));
        p[i].distance = malloc(most * sizeof(double));
        if (!p[i].at || !p[i].share || !p[i].distance) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory to compare shapes");
            goto end;
        }
        list(shape[i], size, (size_t)samples, &p[i]);
    }
    for (int i = 0; i < 2; i++) {
        mean[i] = largest[i] = 0;
        p[i].tree = trees[1 - i];
        CLV_TRY(clvox_parallel((p[i].count + PIECE - 1) / PIECE, measure, &p[i]));
        for (size_t k = 0; k < p[i].count; k++) {
            mean[i] += p[i].share[k] * p[i].distance[k];
            largest[i] = fmax(largest[i], p[i].distance[k]);
        }
    }
    mean[2] = (mean[0] + mean[1]) / 2;
    largest[2] = fmax(largest[0], largest[1]);
end:
    for (int i = 0; i < 2; i++) {
        clv_tree_destroy(&trees[i]);
        free(p[i].at);
        free(p[i].share);
        free(p[i].distance);
    }
    return status;
}
