/* SPDX-License-Identifier: Apache-2.0 */
/* MOVIE.BYU: text, polygons, vertices counted from 1. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "io/surface/file.h"

static int read_surface(const clv_surface_bytes *file, clv_mesh *mesh)
{
    int status = CLVOX_OK;
    double head[4], x[3];
    bool good = true;
    const char *what = "does not begin with its four counts";
    clv_words text = {(const char *)file->data, (const char *)file->data + file->size};
    /* Parts, vertices, polygons, corners; then the first and last polygon of each part. */
    for (int i = 0; i < 4; i++)
        good = good && clv_words_number(&text, head + i) && head[i] >= 0 && floor(head[i]) == head[i];
    if (!good)
        goto wrong;
    what = "promises more than it holds, or holds what is no number";
    for (double i = 0; good && i < 2 * head[0]; i++)
        good = clv_words_number(&text, x);
    for (double i = 0; good && i < head[1]; i++) {
        for (int k = 0; good && k < 3; k++)
            good = clv_words_number(&text, x + k);
        if (good)
            CLV_TRY(clv_mesh_point(mesh, x));
    }
    if (!good)
        goto wrong;
    /* The last corner of a polygon is negative. */
    double polygons = 0;
    clv_mesh_face(mesh, false);
    for (double i = 0; i < head[3]; i++) {
        if (!(good = clv_words_number(&text, x)))
            goto wrong;
        CLV_TRY(clv_mesh_corner(mesh, clv_number_index(fabs(x[0]) - 1)));
        if (x[0] < 0) {
            polygons++;
            clv_mesh_face(mesh, false);
        }
    }
    if (polygons == head[2])
        return CLVOX_OK;
    what = "has another number of polygons than it promised";
wrong:
    status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: the BYU file %s, get a fresh copy", file->path, what);
end:
    return status;
}

static void write_surface(const clvox_surface *surface, clv_text *out)
{
    clv_text_add(out, "1 %zu %zu %zu\n1 %zu\n", surface->vertices, surface->triangles, 3 * surface->triangles,
                 surface->triangles);
    for (size_t i = 0; i < surface->vertices; i++) {
        const double *x = surface->points + 3 * i;
        clv_text_add(out, "%.9g %.9g %.9g\n", x[0], x[1], x[2]);
    }
    for (size_t i = 0; i < surface->triangles; i++) {
        const int32_t *c = surface->corners + 3 * i;
        clv_text_add(out, "%d %d %d\n", c[0] + 1, c[1] + 1, -c[2] - 1);
    }
}

const clv_surface_format clv_byu_format = {
    .ends = {".byu"},
    .read = read_surface,
    .write = write_surface,
};
