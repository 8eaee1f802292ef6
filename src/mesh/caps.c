/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "mesh/winding.h"

/* The border as steps from vertex to vertex, those from one vertex side by side. */
typedef struct border {
    int32_t *to;
    size_t *next, *end; /* of each vertex, in to */
    size_t steps;
} border;

static int find_border(const clvox_surface *surface, const clv_side *sides, size_t count, border *b)
{
    b->next = calloc(surface->vertices + 1, sizeof *b->next);
    b->end = calloc(surface->vertices + 1, sizeof *b->end);
    if (!b->next || !b->end)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the border of a surface");
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0, next; i < count; i = next) {
            next = clv_sides_end(sides, count, i);
            int net = clv_sides_net(surface, sides, i, next);
            int32_t from = net > 0 ? sides[i].low : sides[i].high;
            for (int k = 0; k < abs(net); k++)
                if (pass)
                    b->to[b->end[from]++] = net > 0 ? sides[i].high : sides[i].low;
                else
                    b->next[from + 1]++;
        }
        if (pass)
            break;
        for (size_t v = 0; v < surface->vertices; v++)
            b->next[v + 1] += b->next[v];
        memcpy(b->end, b->next, (surface->vertices + 1) * sizeof *b->end);
        b->steps = b->next[surface->vertices];
        b->to = malloc((b->steps + 1) * sizeof *b->to);
        if (!b->to)
            return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the border of a surface");
    }
    return CLVOX_OK;
}

/* Fills a ring of the border, against its sense, from its mean. */
static void fill_ring(clvox_surface *caps, const int32_t *ring, size_t n)
{
    int32_t *c = caps->corners + 3 * caps->triangles;
    if (n == 3) {
        c[0] = ring[2];
        c[1] = ring[1];
        c[2] = ring[0];
        caps->triangles++;
        return;
    }
    int32_t middle = (int32_t)caps->vertices++;
    for (size_t i = 0; i < n; i++, c += 3) {
        for (size_t a = 0; a < 3; a++)
            caps->points[3 * (size_t)middle + a] += caps->points[3 * (size_t)ring[i] + a] / (double)n;
        c[0] = ring[(i + 1) % n];
        c[1] = ring[i];
        c[2] = middle;
    }
    caps->triangles += n;
}

/* As many edges leave a vertex as enter it, so that each walk along the border closes: the ring is cut out where a
 * walk first meets itself. */
static void fill_rings(border *b, size_t vertices, clvox_surface *caps, int32_t *path, int32_t *place)
{
    for (size_t v = 0; v < vertices; v++)
        place[v] = -1;
    for (size_t v = 0; v < vertices; v++) {
        int32_t length = 0;
        if (b->next[v] == b->end[v])
            continue;
        place[v] = length;
        path[length++] = (int32_t)v;
        while (length > 0) {
            int32_t top = path[length - 1];
            if (b->next[top] == b->end[top]) {
                place[top] = -1;
                length--;
                continue;
            }
            int32_t to = b->to[b->next[top]++];
            if (place[to] < 0) {
                place[to] = length;
                path[length++] = to;
                continue;
            }
            fill_ring(caps, path + place[to], (size_t)(length - place[to]));
            while (length - 1 > place[to])
                place[path[--length]] = -1;
        }
    }
}

int clv_surface_caps(const clvox_surface *surface, const clv_side *sides, size_t count,
                     clvox_surface **out)
{
    int status = CLVOX_OK;
    border b = {0};
    clvox_surface *caps = NULL;
    int32_t *path = NULL, *place = NULL;
    *out = NULL;
    CLV_TRY(find_border(surface, sides, count, &b));
    if (!b.steps) {
        CLV_TRY(clvox_surface_create(0, 0, out));
        goto end;
    }
    /* The same numbers for the same vertices, so that edges are seen alike. */
    CLV_TRY(clvox_surface_create(surface->vertices + b.steps / 4 + 1, b.steps, &caps));
    path = malloc((surface->vertices + 1) * sizeof *path);
    place = malloc((surface->vertices + 1) * sizeof *place);
    if (!path || !place) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the border of a surface");
        goto end;
    }
    memcpy(caps->points, surface->points, 3 * surface->vertices * sizeof *caps->points);
    caps->vertices = surface->vertices;
    caps->triangles = 0;
    fill_rings(&b, surface->vertices, caps, path, place);
    *out = caps;
    caps = NULL;
end:
    clvox_surface_destroy(&caps);
    free(path);
    free(place);
    free(b.to);
    free(b.next);
    free(b.end);
    return status;
}
