/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "pipeline/surface_winding.h"

static double area_of(const clvox_surface *s, size_t t)
{
    const double *a = s->points + 3 * (size_t)s->corners[3 * t];
    const double *b = s->points + 3 * (size_t)s->corners[3 * t + 1];
    const double *c = s->points + 3 * (size_t)s->corners[3 * t + 2];
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        int l = (k + 1) % 3, m = (k + 2) % 3;
        double n = (b[l] - a[l]) * (c[m] - a[m]) - (b[m] - a[m]) * (c[l] - a[l]);
        sum += n * n;
    }
    return sqrt(sum) / 2;
}

static void turn(int32_t corner[3])
{
    int32_t b = corner[1];
    corner[1] = corner[2];
    corner[2] = b;
}

/* ---- orientation -------------------------------------------------------- */

enum { UNSEEN = 0, AS_IS = 1, TURNED = 2 };

/* Goes through the patch of triangle `first`; queue[0 .. returned) are its
 * triangles. *one_sided: it meets itself turned over. */
static size_t walk_patch(const clvox_surface *surface, const int32_t *across, int32_t first,
                         unsigned char *state, int32_t *queue, bool *one_sided)
{
    size_t done = 0, found = 1;
    queue[0] = first;
    state[first] = AS_IS;
    *one_sided = false;
    while (done < found) {
        int32_t t = queue[done++];
        for (int32_t at = 3 * t; at < 3 * t + 3; at++) {
            int32_t other = across[at];
            if (other < 0)
                continue;
            bool same_way = surface->corners[at] == surface->corners[other];
            unsigned char wanted = same_way ? (unsigned char)(AS_IS + TURNED - state[t]) : state[t];
            if (state[other / 3] == UNSEEN) {
                state[other / 3] = wanted;
                queue[found++] = other / 3;
            } else if (state[other / 3] != wanted) {
                *one_sided = true;
            }
        }
    }
    return found;
}

int clv_surface_orient(clvox_surface *surface, const clv_side *sides, size_t count, int *turned)
{
    int status = CLVOX_OK;
    size_t n = surface->triangles;
    int32_t *across = malloc((3 * n + 1) * sizeof *across); /* the other side of the edge */
    int32_t *queue = malloc((n + 1) * sizeof *queue);
    unsigned char *state = calloc(n + 1, 1);
    *turned = 0;
    if (!across || !queue || !state) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for a surface of %zu triangles", n);
        goto end;
    }
    for (size_t i = 0; i < 3 * n; i++)
        across[i] = -1;
    for (size_t i = 0, next; i < count; i = next) {
        next = clv_sides_end(sides, count, i);
        if (next - i == 2 && sides[i].at / 3 != sides[i + 1].at / 3) {
            across[sides[i].at] = sides[i + 1].at;
            across[sides[i + 1].at] = sides[i].at;
        }
    }
    for (size_t first = 0; first < n; first++) {
        bool one_sided;
        double area[3] = {0, 0, 0};
        if (state[first] != UNSEEN)
            continue;
        size_t patch = walk_patch(surface, across, (int32_t)first, state, queue, &one_sided);
        for (size_t i = 0; i < patch; i++)
            area[state[queue[i]]] += area_of(surface, (size_t)queue[i]);
        unsigned char fewer = area[AS_IS] < area[TURNED] ? AS_IS : TURNED;
        for (size_t i = 0; !one_sided && i < patch; i++)
            if (state[queue[i]] == fewer) {
                turn(surface->corners + 3 * (size_t)queue[i]);
                ++*turned;
            }
    }
end:
    free(across);
    free(queue);
    free(state);
    return status;
}

/* How often the triangles run along an edge from low to high, less how often back. */
static int net_of(const clvox_surface *surface, const clv_side *sides, size_t i, size_t end)
{
    int net = 0;
    for (; i < end; i++)
        net += surface->corners[sides[i].at] == sides[i].low ? 1 : -1;
    return net;
}

/* ---- parts -------------------------------------------------------------- */

/* What is known of a part, by its lowest triangle. */
typedef struct part {
    bool open;     /* runs along some edge more often one way than the other */
    double volume; /* six times */
} part;

/* lowest[t]: the lowest triangle that t is joined to through edges. */
static void find_parts(const clvox_surface *surface, const clv_side *sides, size_t count, int32_t *lowest,
                       part *parts)
{
    for (size_t t = 0; t < surface->triangles; t++)
        lowest[t] = (int32_t)t;
    for (size_t i = 0; i < count; i++) {
        int32_t a = sides[i].at / 3, b = sides[clv_sides_end(sides, count, i) - 1].at / 3;
        while (lowest[a] != a)
            a = lowest[a] = lowest[lowest[a]];
        while (lowest[b] != b)
            b = lowest[b] = lowest[lowest[b]];
        lowest[a > b ? a : b] = a > b ? b : a;
    }
    for (size_t t = 0; t < surface->triangles; t++)
        lowest[t] = lowest[lowest[t]];
    for (size_t i = 0, next; i < count; i = next) {
        next = clv_sides_end(sides, count, i);
        parts[lowest[sides[i].at / 3]].open |= net_of(surface, sides, i, next) != 0;
    }
    for (size_t t = 0; t < surface->triangles; t++) {
        const double *from = surface->points + 3 * (size_t)surface->corners[3 * (size_t)lowest[t]];
        double c[3][3];
        for (size_t k = 0; k < 3; k++)
            for (size_t a = 0; a < 3; a++)
                c[k][a] = surface->points[3 * (size_t)surface->corners[3 * t + k] + a] - from[a];
        for (int k = 0; k < 3; k++)
            parts[lowest[t]].volume +=
                c[0][k] * (c[1][(k + 1) % 3] * c[2][(k + 2) % 3] - c[1][(k + 2) % 3] * c[2][(k + 1) % 3]);
    }
}

int clv_surface_turn_parts(clvox_surface *surface, const clv_side *sides, size_t count, int sign, int *turned)
{
    enum { AT_MOST = 200 }; /* parts, each of which looks at all triangles */
    int status = CLVOX_OK, looked = 0;
    size_t n = surface->triangles;
    int32_t *lowest = malloc((n + 1) * sizeof *lowest);
    part *parts = calloc(n + 1, sizeof *parts);
    if (!lowest || !parts) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for a surface of %zu triangles", n);
        goto end;
    }
    find_parts(surface, sides, count, lowest, parts);
    for (size_t first = 0; first < n && looked < AT_MOST; first++) {
        double around = 0;
        if (lowest[first] != (int32_t)first || parts[first].open || !(sign * parts[first].volume < 0))
            continue;
        looked++;
        const double *p = surface->points + 3 * (size_t)surface->corners[3 * first];
        for (size_t t = 0; t < n; t++)
            if (lowest[t] != (int32_t)first)
                around += clv_winding_of(surface, t, p);
        for (size_t t = 0; sign * around < .5 && t < n; t++)
            if (lowest[t] == (int32_t)first) {
                turn(surface->corners + 3 * t);
                ++*turned;
            }
    }
end:
    free(lowest);
    free(parts);
    return status;
}

/* ---- caps --------------------------------------------------------------- */

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
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for the border of a surface");
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0, next; i < count; i = next) {
            next = clv_sides_end(sides, count, i);
            int net = net_of(surface, sides, i, next);
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
            return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for the border of a surface");
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

/* What goes out of a vertex comes in again, so that each walk along the border
 * closes: the ring is cut out where a walk first meets itself. */
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
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for the border of a surface");
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
