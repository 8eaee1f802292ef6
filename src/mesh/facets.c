/* SPDX-License-Identifier: Apache-2.0 */
/* How large the facets of a mesh are against its shape. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "mesh/edges.h"
#include "mesh/mesh.h"

typedef struct facet {
    double normal[3], area;
} facet;

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

static void between(const clvox_surface *s, int32_t from, int32_t to, double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = s->points[3 * (size_t)to + (size_t)k] - s->points[3 * (size_t)from + (size_t)k];
}

static facet facet_of(const clvox_surface *s, size_t t)
{
    const int32_t *corner = s->corners + 3 * t;
    double a[3], b[3];
    facet f;
    between(s, corner[0], corner[1], a);
    between(s, corner[0], corner[2], b);
    cross(a, b, f.normal);
    const double length = sqrt(dot(f.normal, f.normal));
    for (int k = 0; k < 3; k++)
        f.normal[k] /= length > 0 ? length : 1;
    f.area = length / 2;
    return f;
}

/* A quadratic patch lies above its chord triangle by area / 24 times the sum, over the edges, of squared
 * length and curvature along it. Curvature is concentrated at edges, by their angle times length, across
 * them: half of an edge's to either triangle, in which the other two edges rise by its height. */
int clv_surface_facets(const clvox_surface *s, double *cut_off, double *curvature)
{
    int status = CLVOX_OK;
    clv_side *sides = NULL;
    size_t count;
    *cut_off = *curvature = 0;
    CLV_TRY(clv_sides(s, &sides, &count));
    for (size_t i = 0, end; i < count; i = end) {
        end = clv_sides_end(sides, count, i);
        if (end - i != 2)
            continue;
        const size_t at = (size_t)sides[i].at;
        const facet a = facet_of(s, at / 3), b = facet_of(s, (size_t)sides[i + 1].at / 3);
        double edge[3], turn[3];
        between(s, s->corners[at], s->corners[at % 3 == 2 ? at - 2 : at + 1], edge);
        cross(a.normal, b.normal, turn);
        const double length = sqrt(dot(edge, edge));
        if (!(length > 0))
            continue;
        const double angle = atan2(dot(turn, edge) / length, dot(a.normal, b.normal));
        *curvature += angle * length / 2;
        *cut_off += angle * (a.area * a.area + b.area * b.area) / (6 * length);
    }
end:
    free(sides);
    return status;
}
