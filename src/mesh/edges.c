/* SPDX-License-Identifier: Apache-2.0 */
#include "mesh/edges.h"

#include <math.h>
#include <stdlib.h>

#include "base/status.h"

int clv_surface_check(const clvox_surface *surface)
{
    if (surface->triangles > INT32_MAX / 3)
        return clvox_fail(CLVOX_ERROR_DATA,
                          "the surface has %zu triangles, more than the %d that are possible",
                          surface->triangles, INT32_MAX / 3);
    for (size_t i = 0; i < 3 * surface->vertices; i++)
        if (!isfinite(surface->points[i]))
            return clvox_fail(CLVOX_ERROR_DATA, "vertex %zu of the surface is not a number in %c", i / 3,
                              "xyz"[i % 3]);
    for (size_t i = 0; i < 3 * surface->triangles; i++)
        if (surface->corners[i] < 0 || (size_t)surface->corners[i] >= surface->vertices)
            return clvox_fail(CLVOX_ERROR_DATA, "triangle %zu of the surface names vertex %d of %zu", i / 3,
                              (int)surface->corners[i], surface->vertices);
    return CLVOX_OK;
}

static int by_edge(const void *p, const void *q)
{
    const clv_side *a = p, *b = q;
    if (a->high != b->high)
        return a->high < b->high ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

int clv_sides(const clvox_surface *surface, clv_side **out, size_t *count)
{
    int status = CLVOX_OK;
    size_t vertices = surface->vertices, n = 0;
    size_t *start = calloc(vertices + 1, sizeof *start);
    clv_side *sides = malloc((3 * surface->triangles + 1) * sizeof *sides);
    *out = NULL;
    if (!start || !sides) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the edges of %zu triangles",
                            surface->triangles);
        goto end;
    }
    /* Counted into drawers by the lower vertex; a drawer holds few. */
    for (int pass = 0; pass < 2; pass++) {
        for (size_t t = 0; t < surface->triangles; t++) {
            const int32_t *corner = surface->corners + 3 * t;
            if (clv_triangle_collapsed(corner))
                continue;
            for (int k = 0; k < 3; k++) {
                int32_t a = corner[k], b = corner[(k + 1) % 3], low = a < b ? a : b;
                if (pass)
                    sides[start[low]++] = (clv_side){low, a < b ? b : a, (int32_t)(3 * t) + k};
                else
                    start[low + 1]++;
            }
        }
        for (size_t v = 0; !pass && v < vertices; v++)
            start[v + 1] += start[v];
    }
    for (size_t v = 0; v < vertices; v++) {
        clv_side *drawer = sides + n;
        size_t held = start[v] - n;
        if (held > 1)
            qsort(drawer, held, sizeof *drawer, by_edge);
        n = start[v];
    }
    *out = sides;
    *count = n;
    sides = NULL;
end:
    free(start);
    free(sides);
    return status;
}

size_t clv_sides_end(const clv_side *sides, size_t count, size_t i)
{
    size_t next = i + 1;
    while (next < count && sides[next].low == sides[i].low && sides[next].high == sides[i].high)
        next++;
    return next;
}

int clv_sides_net(const clvox_surface *surface, const clv_side *sides, size_t i, size_t end)
{
    int net = 0;
    for (; i < end; i++)
        net += surface->corners[sides[i].at] == sides[i].low ? 1 : -1;
    return net;
}
