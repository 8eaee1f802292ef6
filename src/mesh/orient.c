/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "mesh/winding.h"

/* ---- vertices in one place ---------------------------------------------- */

typedef struct spot {
    double p[3];
    int32_t vertex;
} spot;

static int by_spot(const void *a, const void *b)
{
    const spot *s = a, *t = b;
    for (int k = 0; k < 3; k++)
        if (s->p[k] != t->p[k])
            return s->p[k] < t->p[k] ? -1 : 1;
    return (s->vertex > t->vertex) - (s->vertex < t->vertex);
}

int clv_surface_weld(clvox_surface *surface, int *welded)
{
    size_t n = surface->vertices;
    spot *places = malloc((n + 1) * sizeof *places);
    int32_t *first = malloc((n + 1) * sizeof *first);
    *welded = 0;
    if (!places || !first) {
        free(places);
        free(first);
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a surface of %zu vertices", n);
    }
    for (size_t v = 0; v < n; v++) {
        memcpy(places[v].p, surface->points + 3 * v, sizeof places[v].p);
        places[v].vertex = (int32_t)v;
    }
    qsort(places, n, sizeof *places, by_spot);
    for (size_t i = 0; i < n; i++) {
        const double *p = places[i].p, *q = places[i ? i - 1 : 0].p;
        bool same = i && p[0] == q[0] && p[1] == q[1] && p[2] == q[2];
        first[places[i].vertex] = same ? first[places[i - 1].vertex] : places[i].vertex;
        *welded += same;
    }
    for (size_t i = 0; i < 3 * surface->triangles; i++)
        surface->corners[i] = first[surface->corners[i]];
    free(places);
    free(first);
    return CLVOX_OK;
}

/* ---- orientation -------------------------------------------------------- */

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

static void flip(int32_t corner[3])
{
    int32_t b = corner[1];
    corner[1] = corner[2];
    corner[2] = b;
}

enum { UNSEEN = 0, AS_IS = 1, FLIPPED = 2 };

/* Goes through the patch of triangle `first`; queue[0 .. returned) are its
 * triangles. *one_sided: it meets itself flipped over. */
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
            unsigned char wanted = same_way ? (unsigned char)(AS_IS + FLIPPED - state[t]) : state[t];
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

int clv_surface_orient(clvox_surface *surface, const clv_side *sides, size_t count, int *flipped)
{
    int status = CLVOX_OK;
    size_t n = surface->triangles;
    int32_t *across = malloc((3 * n + 1) * sizeof *across); /* the other side of the edge */
    int32_t *queue = malloc((n + 1) * sizeof *queue);
    unsigned char *state = calloc(n + 1, 1);
    *flipped = 0;
    if (!across || !queue || !state) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a surface of %zu triangles", n);
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
        unsigned char fewer = area[AS_IS] < area[FLIPPED] ? AS_IS : FLIPPED;
        for (size_t i = 0; !one_sided && i < patch; i++)
            if (state[queue[i]] == fewer) {
                flip(surface->corners + 3 * (size_t)queue[i]);
                ++*flipped;
            }
    }
end:
    free(across);
    free(queue);
    free(state);
    return status;
}

/* ---- parts -------------------------------------------------------------- */

/* Orientation of a part, by its lowest triangle. */
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
        parts[lowest[sides[i].at / 3]].open |= clv_sides_net(surface, sides, i, next) != 0;
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

int clv_surface_flip_parts(clvox_surface *surface, const clv_side *sides, size_t count, int sign,
                           int *flipped)
{
    enum { AT_MOST = 200 }; /* parts, each of which looks at all triangles */
    int status = CLVOX_OK, looked = 0;
    size_t n = surface->triangles;
    int32_t *lowest = malloc((n + 1) * sizeof *lowest);
    part *parts = calloc(n + 1, sizeof *parts);
    if (!lowest || !parts) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a surface of %zu triangles", n);
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
                flip(surface->corners + 3 * t);
                ++*flipped;
            }
    }
end:
    free(lowest);
    free(parts);
    return status;
}

