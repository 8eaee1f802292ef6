/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "mesh/edges.h"
#include "base/status.h"
#include "mesh/mesh.h"

static int32_t root_of(int32_t *parent, int32_t t)
{
    while (parent[t] != t) {
        parent[t] = parent[parent[t]];
        t = parent[t];
    }
    return t;
}

/* The lower number becomes the root. Returns 1 when two sets became one. */
static int join(int32_t *parent, int32_t a, int32_t b)
{
    a = root_of(parent, a);
    b = root_of(parent, b);
    if (a == b)
        return 0;
    parent[a > b ? a : b] = a > b ? b : a;
    return 1;
}

/* Area, volume and what is degenerate. Volumes are taken about
 * the middle of the bounds, where the sum loses least. */
static void measure(const clvox_surface *s, clvox_surface_facts *facts)
{
    double middle[3];
    for (int a = 0; a < 3; a++)
        middle[a] = (facts->bounds[0][a] + facts->bounds[1][a]) / 2;
    for (size_t t = 0; t < s->triangles; t++) {
        double p[3][3], n[3];
        for (int k = 0; k < 3; k++)
            for (int a = 0; a < 3; a++)
                p[k][a] = s->points[3 * (size_t)s->corners[3 * t + (size_t)k] + (size_t)a] - middle[a];
        for (int a = 0; a < 3; a++) {
            int b = (a + 1) % 3, c = (a + 2) % 3;
            n[a] = (p[1][b] - p[0][b]) * (p[2][c] - p[0][c]) - (p[1][c] - p[0][c]) * (p[2][b] - p[0][b]);
        }
        double twice = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        facts->area += twice / 2;
        facts->volume += (p[0][0] * n[0] + p[0][1] * n[1] + p[0][2] * n[2]) / 6;
        facts->degenerate += clv_triangle_collapsed(s->corners + 3 * t) || !(twice > 0);
    }
}

int clvox_surface_inspect(const clvox_surface *surface, clvox_surface_facts *facts)
{
    CLV_GIVEN(surface, facts);
    int status = CLVOX_OK;
    clv_side *sides = NULL;
    size_t count = 0, edges = 0, used = 0, whole = 0, joined = 0;
    int32_t *parent = malloc((surface->triangles + 1) * sizeof *parent);
    unsigned char *in_use = calloc(surface->vertices + 1, 1);
    *facts = (clvox_surface_facts){0};
    if (!parent || !in_use) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a surface of %zu triangles",
                            surface->triangles);
        goto end;
    }
    CLV_TRY(clv_surface_check(surface));
    CLV_TRY(clv_sides(surface, &sides, &count));
    for (size_t t = 0; t < surface->triangles; t++) {
        parent[t] = (int32_t)t;
        if (clv_triangle_collapsed(surface->corners + 3 * t))
            continue;
        whole++;
        for (int k = 0; k < 3; k++)
            in_use[surface->corners[3 * t + (size_t)k]] = 1;
    }
    for (size_t v = 0; v < surface->vertices; v++) {
        const double *p = surface->points + 3 * v;
        if (!in_use[v])
            continue;
        for (int a = 0; a < 3; a++) {
            facts->bounds[0][a] = used ? fmin(facts->bounds[0][a], p[a]) : p[a];
            facts->bounds[1][a] = used ? fmax(facts->bounds[1][a], p[a]) : p[a];
        }
        used++;
    }
    for (size_t i = 0, next; i < count; i = next) {
        next = clv_sides_end(sides, count, i);
        edges++;
        facts->open_edges += next - i == 1;
        facts->crowded_edges += next - i > 2;
        facts->flipped_edges += next - i == 2 &&
                                surface->corners[sides[i].at] == surface->corners[sides[i + 1].at];
        for (size_t j = i + 1; j < next; j++)
            joined += (size_t)join(parent, sides[i].at / 3, sides[j].at / 3);
    }
    facts->components = (int)(whole - joined);
    facts->euler = (int)((int64_t)used - (int64_t)edges + (int64_t)whole);
    facts->unused_vertices = (int)(surface->vertices - used);
    measure(surface, facts);
end:
    free(parent);
    free(in_use);
    free(sides);
    return status;
}
