/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "mesh/shape.h"

static const clv_shape_words words[CLVOX_SHAPE_SURFACE + 1] = {
    [CLVOX_SHAPE_CLOUD] = {"cloud", "point", "a weight"},
    [CLVOX_SHAPE_CURVES] = {"curves", "segment", "a length"},
    [CLVOX_SHAPE_SURFACE] = {"surface", "triangle", "an area"},
};

const clv_shape_words *clv_shape_words_of(clvox_shape_kind kind)
{
    return kind >= CLVOX_SHAPE_CLOUD && kind <= CLVOX_SHAPE_SURFACE ? &words[kind] : NULL;
}

int clvox_shape_create(clvox_shape_kind kind, size_t vertices, size_t elements, clvox_shape **out)
{
    CLV_GIVEN(out);
    const clv_shape_words *is = clv_shape_words_of(kind);
    *out = NULL;
    if (!is)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a shape of kind %d: there is none", (int)kind);
    if (kind == CLVOX_SHAPE_CLOUD)
        elements = vertices;
    if (vertices > INT32_MAX || elements > INT32_MAX)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a shape has at most %d vertices and %ss", INT32_MAX,
                          is->element);
    clvox_shape *s = calloc(1, sizeof *s);
    if (s) {
        *s = (clvox_shape){.kind = kind, .vertices = vertices, .elements = elements};
        s->points = calloc(vertices ? vertices : 1, 3 * sizeof *s->points);
        s->corners = calloc(elements ? elements : 1, (size_t)kind * sizeof *s->corners);
    }
    if (!s || !s->points || !s->corners) {
        clvox_shape_destroy(&s);
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for %zu %ss", elements, is->element);
    }
    for (size_t i = 0; kind == CLVOX_SHAPE_CLOUD && i < elements; i++)
        s->corners[i] = (int32_t)i;
    *out = s;
    return CLVOX_OK;
}

void clvox_shape_destroy(clvox_shape **shape)
{
    if (!shape || !*shape)
        return;
    free((*shape)->points);
    free((*shape)->corners);
    free((*shape)->weights);
    free(*shape);
    *shape = NULL;
}

void clvox_shape_of_surface(const clvox_surface *surface, clvox_shape *out)
{
    CLV_GIVEN_OR(, surface, out);
    *out = (clvox_shape){CLVOX_SHAPE_SURFACE, surface->vertices, surface->triangles,
                         surface->points,     surface->corners,  NULL};
}

int clv_shape_copy(const clvox_shape *shape, clvox_shape **out)
{
    int status = clvox_shape_create(shape->kind, shape->vertices, shape->elements, out);
    if (status < 0)
        return status;
    memcpy((*out)->points, shape->points, 3 * shape->vertices * sizeof(double));
    memcpy((*out)->corners, shape->corners, (size_t)shape->kind * shape->elements * sizeof(int32_t));
    if (!shape->weights)
        return status;
    (*out)->weights = malloc(shape->vertices * sizeof(double) + 1);
    if (!(*out)->weights) {
        clvox_shape_destroy(out);
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for %zu weights", shape->vertices);
    }
    memcpy((*out)->weights, shape->weights, shape->vertices * sizeof(double));
    return status;
}

double clv_shape_element(const clvox_shape *s, size_t element, double centre[3], double unit[3])
{
    const int32_t *corner = s->corners + (size_t)s->kind * element;
    const double *p[3];
    double vector[3] = {1, 0, 0}, size = 0;
    for (size_t k = 0; k < 3; k++)
        p[k] = s->points + 3 * (size_t)corner[k < (size_t)s->kind ? k : (size_t)s->kind - 1];
    for (int k = 0; k < 3; k++) {
        int l = (k + 1) % 3, m = (k + 2) % 3;
        if (s->kind == CLVOX_SHAPE_SURFACE)
            vector[k] = (p[1][l] - p[0][l]) * (p[2][m] - p[0][m]) - (p[1][m] - p[0][m]) * (p[2][l] - p[0][l]);
        else if (s->kind == CLVOX_SHAPE_CURVES)
            vector[k] = p[1][k] - p[0][k];
        size += vector[k] * vector[k];
        centre[k] =
            s->kind == CLVOX_SHAPE_SURFACE ? (p[0][k] + p[1][k] + p[2][k]) / 3 : (p[0][k] + p[1][k]) / 2;
    }
    size = sqrt(size);
    for (int k = 0; k < 3; k++)
        unit[k] = size > 0 ? vector[k] / size : 0;
    return s->kind == CLVOX_SHAPE_SURFACE  ? size / 2
           : s->kind == CLVOX_SHAPE_CURVES ? size
                                           : clv_shape_weight(s, corner[0]);
}

double clv_shape_weight(const clvox_shape *s, int32_t vertex)
{
    return s->kind != CLVOX_SHAPE_CLOUD ? 0 : s->weights ? s->weights[vertex] : 1;
}

double clv_shape_scale(const clvox_shape *s, double size)
{
    return s->kind == CLVOX_SHAPE_CLOUD && size > 0 ? 1 / size : 1;
}

int clvox_shape_size(const clvox_shape *s, double *size)
{
    CLV_GIVEN(s, size);
    const clv_shape_words *is = clv_shape_words_of(s->kind);
    double centre[3], unit[3];
    *size = 0;
    if (!is)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a shape of kind %d: there is none", (int)s->kind);
    if (s->elements > INT32_MAX / 8 || s->vertices > INT32_MAX / 8)
        return clvox_fail(CLVOX_ERROR_DATA, "%zu %ss, more than the %d that are possible", s->elements,
                          is->element, INT32_MAX / 8);
    for (size_t i = 0; i < 3 * s->vertices; i++)
        if (!isfinite(s->points[i]))
            return clvox_fail(CLVOX_ERROR_DATA, "vertex %zu is not a number in %c", i / 3, "xyz"[i % 3]);
    for (size_t i = 0; i < (size_t)s->kind * s->elements; i++)
        if (s->corners[i] < 0 || (size_t)s->corners[i] >= s->vertices)
            return clvox_fail(CLVOX_ERROR_DATA, "%s %zu names vertex %d of %zu", is->element,
                              i / (size_t)s->kind, (int)s->corners[i], s->vertices);
    for (size_t i = 0; s->kind == CLVOX_SHAPE_CLOUD && s->weights && i < s->vertices; i++)
        if (!(s->weights[i] >= 0) || !isfinite(s->weights[i]))
            return clvox_fail(CLVOX_ERROR_DATA, "the weight of point %zu is %g; weights are 0 or more", i,
                              s->weights[i]);
    for (size_t i = 0; i < s->elements; i++)
        *size += clv_shape_element(s, i, centre, unit);
    return CLVOX_OK;
}

int clv_shape_check(const clvox_shape *s, double *size)
{
    int status = clvox_shape_size(s, size);
    if (status >= 0 && !(*size > 0)) {
        const clv_shape_words *is = clv_shape_words_of(s->kind);
        status = clvox_fail(CLVOX_ERROR_DATA, "%zu %ss, none of which has %s: it needs %s", s->elements,
                            is->element, is->size, is->size);
    }
    return status;
}
