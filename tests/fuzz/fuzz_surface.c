/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile surfaces. What was read is whole and finite; it can be written in
 * every format, unless float32 does not hold it, and is then read again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/shape.h"
#include "clvox/surface.h"
#include "clvox/threads.h"
#include "fuzz.h"
#include "io/surface/file.h"

static const char *const endings[] = {".gii", ".vtk", ".ply", ".obj", ".byu", ".fs", ".stl"};

static void there_and_back(const clvox_surface *s, const char *ending)
{
    clvox_surface *again = NULL;
    const char *path = fuzz_file(ending, "", 0);
    int status = clvox_surface_write(s, path);
    if (status == CLVOX_ERROR_DATA)
        return;
    if (status < 0 || clvox_surface_read(path, &again) < 0 || again->triangles != s->triangles)
        abort();
    if (strcmp(ending, ".stl") && again->vertices != s->vertices)
        abort();
    clvox_surface_destroy(&again);
}

static void read_one(const char *ending, const uint8_t *data, size_t size)
{
    clvox_surface *s = NULL;
    if (clvox_surface_read(fuzz_file(ending, data, size), &s) < 0) {
        if (s || !*clvox_message())
            abort();
        return;
    }
    for (size_t i = 0; i < 3 * s->vertices; i++)
        if (!isfinite(s->points[i]))
            abort();
    for (size_t i = 0; i < 3 * s->triangles; i++)
        if (s->corners[i] < 0 || (size_t)s->corners[i] >= s->vertices)
            abort();
    there_and_back(s, endings[size % 7]);
    clvox_surface_destroy(&s);
}

static void read_curves(const uint8_t *data, size_t size)
{
    clvox_shape *s = NULL, *again = NULL;
    double length;
    if (clvox_curves_read(fuzz_file(".vtk", data, size), 0, &s) < 0) {
        if (s || !*clvox_message())
            abort();
        return;
    }
    if (clvox_shape_size(s, &length) < 0)
        abort();
    for (int tck = 0; tck < 2; tck++) {
        const char *path = fuzz_file(tck ? ".tck" : ".vtk", data, 0);
        if (clvox_curves_write(s, 0, path) >= 0 &&
            (clvox_curves_read(path, 0, &again) < 0 || again->elements != s->elements))
            abort();
        clvox_shape_destroy(&again);
    }
    clvox_shape_destroy(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    clvox_threads_set(1);
    read_one(".obj", data, size);
    read_curves(data, size);
    /* The ending matters only where content does not tell. */
    if (!clvox_surface_is_file(fuzz_file(".x", data, size))) {
        read_one(".byu", data, size);
        read_one(".gii", data, size);
        read_one(".stl", data, size);
    }
    return 0;
}
