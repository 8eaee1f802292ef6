/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/threads.h"
#include "base/status.h"
#include "mesh/tree.h"
#include "image/compare.h"
#include "clvox/surface.h"

enum { PIECE = 512 };

/* Distances from points of one surface to the other. */
typedef struct survey {
    const clvox_surface *from, *to;
    const clv_tree *tree; /* of to */
    const double *sums;   /* area of the triangles before each, and of all */
    size_t samples;
    double *distance; /* of each sample, then of each vertex in use (0 for others) */
    double *degrees;  /* between the normals, of each sample; negative: unknown */
    const unsigned char *in_use;
} survey;

static double normal_of(const clvox_surface *s, size_t t, double n[3])
{
    const double *a = s->points + 3 * (size_t)s->corners[3 * t];
    const double *b = s->points + 3 * (size_t)s->corners[3 * t + 1];
    const double *c = s->points + 3 * (size_t)s->corners[3 * t + 2];
    for (int k = 0; k < 3; k++) {
        int l = (k + 1) % 3, m = (k + 2) % 3;
        n[k] = (b[l] - a[l]) * (c[m] - a[m]) - (b[m] - a[m]) * (c[l] - a[l]);
    }
    return sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
}

/* The triangle in which a share of the whole area ends. */
static size_t triangle_at(const survey *s, double area)
{
    size_t low = 0, high = s->from->triangles;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(s->sums[middle] <= area ? &low : &high) = middle;
    }
    return low;
}

/* A share of the area each, and in the triangle the point of a sequence that
 * fills the unit square evenly (Roberts 2018), folded onto the triangle. */
static void sample_at(const survey *s, size_t i, double p[3], size_t *triangle)
{
    double u = fmod(.5 + .7548776662466927 * (double)i, 1);
    double v = fmod(.5 + .5698402909980532 * (double)i, 1);
    double all = s->sums[s->from->triangles];
    *triangle = triangle_at(s, all * ((double)i + .5) / (double)s->samples);
    if (u + v > 1) {
        u = 1 - u;
        v = 1 - v;
    }
    const double weight[3] = {1 - u - v, u, v};
    for (size_t a = 0; a < 3; a++) {
        p[a] = 0;
        for (size_t k = 0; k < 3; k++)
            p[a] += weight[k] * s->from->points[3 * (size_t)s->from->corners[3 * *triangle + k] + a];
    }
}

static int measure_piece(void *user, size_t piece, int worker)
{
    const survey *s = user;
    size_t end = (piece + 1) * PIECE, all = s->samples + s->from->vertices;
    (void)worker;
    for (size_t i = piece * PIECE; i < end && i < all; i++) {
        double p[3], n[3], m[3], length;
        size_t triangle = 0;
        clv_nearest nearest;
        if (i >= s->samples && !s->in_use[i - s->samples]) {
            s->distance[i] = 0;
            continue;
        }
        if (i < s->samples)
            sample_at(s, i, p, &triangle);
        else
            memcpy(p, s->from->points + 3 * (i - s->samples), sizeof p);
        clv_tree_nearest(s->tree, p, INFINITY, &nearest);
        s->distance[i] = sqrt(nearest.squared);
        if (i >= s->samples)
            continue;
        length = normal_of(s->from, triangle, n) * normal_of(s->to, (size_t)nearest.triangle, m);
        double cosine = (n[0] * m[0] + n[1] * m[1] + n[2] * m[2]) / length;
        s->degrees[i] = length > 0 ? acos(fmin(fmax(cosine, -1), 1)) * 180 / acos(-1) : -1;
    }
    return CLVOX_OK;
}

/* Fills s->distance and s->degrees, which are as long as they must be. */
static int measure(survey *s)
{
    int status = CLVOX_OK;
    const clvox_surface *from = s->from;
    double *sums = malloc((from->triangles + 1) * sizeof *sums), n[3];
    unsigned char *in_use = calloc(from->vertices + 1, 1);
    if (!sums || !in_use) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory to compare surfaces");
        goto end;
    }
    sums[0] = 0;
    for (size_t t = 0; t < from->triangles; t++) {
        sums[t + 1] = sums[t] + normal_of(from, t, n) / 2;
        for (size_t k = 0; k < 3; k++)
            in_use[from->corners[3 * t + k]] = 1;
    }
    s->sums = sums;
    s->in_use = in_use;
    CLV_TRY(clvox_parallel((s->samples + from->vertices + PIECE - 1) / PIECE, measure_piece, s));
end:
    free(sums);
    free(in_use);
    return status;
}

static void summarise(double *distance, size_t n, int way, clvox_surface_difference *out)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += distance[i];
        squares += distance[i] * distance[i];
    }
    out->mean[way] = sum / (double)n;
    out->rms[way] = sqrt(squares / (double)n);
    out->percentile95[way] = clv_quantile(distance, n, .95);
}

int clvox_surface_compare(const clvox_surface *a, const clvox_surface *b, int samples,
                          clvox_surface_difference *out)
{
    CLV_GIVEN(a, b, out);
    if (samples < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "surfaces are compared at 1 point or more, not at %d",
                          samples);
    int status = CLVOX_OK;
    const clvox_surface *surfaces[2] = {a, b};
    clv_tree *trees[2] = {NULL, NULL};
    size_t n = (size_t)samples, known = 0;
    double *distance[2] = {NULL, NULL}, *both = malloc(2 * n * sizeof *both);
    double *degrees = malloc(n * sizeof *degrees), sum = 0;
    *out = (clvox_surface_difference){0};
    for (int i = 0; i < 2; i++) {
        CLV_TRY(clvox_surface_inspect(surfaces[i], &out->facts[i]));
        CLV_TRY(clv_tree_create(surfaces[i], &trees[i]));
        distance[i] = malloc((n + surfaces[i]->vertices) * sizeof *distance[i]);
    }
    if (!both || !degrees || !distance[0] || !distance[1]) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory to compare surfaces");
        goto end;
    }
    for (int i = 0; i < 2; i++) {
        survey s = {.from = surfaces[i], .to = surfaces[1 - i], .tree = trees[1 - i], .samples = n,
                    .distance = distance[i], .degrees = degrees};
        CLV_TRY(measure(&s));
        for (size_t j = 0; j < n + surfaces[i]->vertices; j++)
            out->largest[i] = fmax(out->largest[i], distance[i][j]);
        for (size_t j = 0; j < n; j++)
            if (degrees[j] >= 0) {
                sum += degrees[j];
                known++;
            }
        memcpy(both + (size_t)i * n, distance[i], n * sizeof *both);
        summarise(distance[i], n, i, out);
    }
    summarise(both, 2 * n, 2, out);
    out->largest[2] = fmax(out->largest[0], out->largest[1]);
    out->normal_degrees = known ? sum / (double)known : 0;
end:
    for (int i = 0; i < 2; i++) {
        clv_tree_destroy(&trees[i]);
        free(distance[i]);
    }
    free(both);
    free(degrees);
    return status;
}
