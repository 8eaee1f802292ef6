/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/surface.h"

#include <limits.h>
#include <stdlib.h>

#include "base/status.h"

int clvox_surface_create(size_t vertices, size_t triangles, clvox_surface **out)
{
    CLV_GIVEN(out);
    *out = NULL;
    if (vertices > INT32_MAX || triangles > INT32_MAX)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a surface has at most %d vertices and triangles", INT32_MAX);
    clvox_surface *s = calloc(1, sizeof *s);
    if (s) {
        s->vertices = vertices;
        s->triangles = triangles;
        s->points = calloc(vertices ? vertices : 1, 3 * sizeof *s->points);
        s->corners = calloc(triangles ? triangles : 1, 3 * sizeof *s->corners);
    }
    if (!s || !s->points || !s->corners) {
        clvox_surface_destroy(&s);
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a surface of %zu triangles", triangles);
    }
    *out = s;
    return CLVOX_OK;
}

void clvox_surface_destroy(clvox_surface **surface)
{
    if (!surface || !*surface)
        return;
    free((*surface)->points);
    free((*surface)->corners);
    free(*surface);
    *surface = NULL;
}
