/* SPDX-License-Identifier: Apache-2.0 */
/* Which format a surface file has, and what all of them share. */
#include "io/surface/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "base/status.h"
#include "io/ending.h"
#include "io/formats.h"
#include "io/packed/inflate.h"
#include "io/plain.h"
#include "io/packed/source.h"

/* ---- formats ------------------------------------------------------------ */

/* CLV_SURFACE_FORMATS(row) is the list of meson.build. */
#define DECLARE(name) extern const clv_surface_format clv_##name##_format;
CLV_SURFACE_FORMATS(DECLARE)
#define ROW(name) &clv_##name##_format,
static const clv_surface_format *const formats[] = {CLV_SURFACE_FORMATS(ROW)};
enum { FORMATS = sizeof formats / sizeof *formats };
#define KNOWN "GIFTI (.gii), VTK polydata (.vtk), PLY, STL, OBJ, BYU and FreeSurfer (lh.NAME, rh.NAME or .fs)"
#define KNOWN_CURVES "the lines of VTK polydata (.vtk), MRtrix's tracks (.tck) and TrackVis' (.trk)"

/* The format that a name asks for; a ".gz" behind it is overlooked. */
static const clv_surface_format *by_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (int f = 0; f < FORMATS; f++)
        if (clv_ending(name, formats[f]->ends, 5))
            return formats[f];
    return NULL;
}

const char *clv_surface_ending(const char *path)
{
    const clv_surface_format *f = by_name(path);
    return f ? clv_ending(path, f->ends, 5) : NULL;
}

static const clv_surface_format *by_content(const uint8_t *data, size_t size)
{
    for (int f = 0; f < FORMATS; f++)
        if (formats[f]->is && formats[f]->is(data, size))
            return formats[f];
    return NULL;
}

/* Whether it is a format of surfaces: curves alone are none. */
static bool has_surfaces(const clv_surface_format *f)
{
    return f && f->write;
}

int clvox_surface_is_file(const char *path)
{
    CLV_GIVEN_OR(0, path);
    clv_source source = {.fd = -1};
    uint8_t head[4097];
    size_t got = 0;
    bool is = has_surfaces(by_name(path));
    if (!is && clv_source_open(path, &source) >= 0 && clv_source_head(&source, head, 4096, &got) >= 0) {
        head[got] = 0;
        is = has_surfaces(by_content(head, got));
    }
    clv_source_close(&source);
    return is;
}

/* ---- reading ------------------------------------------------------------ */

enum { EXPANDED_MOST = 1 << 30 }; /* bytes of a decompressed file; one of 10 million triangles has 300 MB */

/* Decompresses every member of a gzip file; behind the bytes stands a 0. */
static int expand(const char *path, const uint8_t *packed, size_t size, uint8_t **out, size_t *out_size)
{
    size_t room = size < EXPANDED_MOST / 8 ? 4 * size + 4096 : EXPANDED_MOST, made = 0, got;
    clv_inflate s;
    clv_inflated how = CLV_INFLATED_ALL;
    uint8_t *bytes = malloc(room + 1);
    int status = bytes ? clv_inflate_begin(&s, path, packed, size, false)
                       : clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
    *out = NULL;
    if (status < 0) {
        free(bytes);
        return status;
    }
    while (status >= 0 && how <= CLV_INFLATED_MEMBER) {
        if (made == room) {
            uint8_t *larger = room < EXPANDED_MOST ? clv_array_moved(bytes, room + 1, 2) : NULL;
            if (!larger) {
                status =
                    clvox_fail(CLVOX_ERROR_MEMORY, "%s: becomes too large when decompressed (over %zu MB)",
                               path, room >> 20);
                break;
            }
            bytes = larger;
            room *= 2;
        }
        how = clv_inflate_some(&s, bytes + made, room - made, &got);
        made += got;
    }
    if (how > CLV_INFLATED_LAST)
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: the compressed data are %s, get a fresh copy", path,
                            how == CLV_INFLATED_CUT ? "cut short" : "damaged");
    clv_inflate_end(&s);
    if (status >= 0) {
        bytes[made] = 0;
        *out = bytes;
        *out_size = made;
        bytes = NULL;
    }
    free(bytes);
    return status;
}

/* Whether all corners are vertices. */
static int check_corners(const clv_mesh *m)
{
    for (size_t i = 0; i < 3 * m->triangles; i++)
        if ((size_t)m->corners[i] >= m->vertices)
            return clvox_fail(CLVOX_ERROR_FORMAT,
                              "%s: %s %zu names vertex %d, but there are %zu vertices (both counted from 0), "
                              "get a fresh copy",
                              m->path, m->lines ? "segment" : "triangle", i / 3, m->corners[i], m->vertices);
    return CLVOX_OK;
}

/* Hands the arrays of the mesh over to a surface. */
static int finish(clv_mesh *m, clvox_surface **out)
{
    int status = clvox_surface_create(0, 0, out);
    if (status < 0)
        return status;
    clvox_surface *s = *out;
    if (m->vertices) {
        double *points = clv_array_moved(m->points, m->vertices, 3 * sizeof *points);
        free(s->points);
        s->points = points ? points : m->points;
        s->vertices = m->vertices;
        m->points = NULL;
    }
    if (m->triangles) {
        int32_t *corners = clv_array_moved(m->corners, m->triangles, 3 * sizeof *corners);
        free(s->corners);
        s->corners = corners ? corners : m->corners;
        s->triangles = m->triangles;
        m->corners = NULL;
    }
    return CLVOX_OK;
}

/* LPS to RAS and back. */
static void flip(double *points, size_t vertices)
{
    for (size_t i = 0; i < vertices; i++) {
        points[3 * i] *= -1;
        points[3 * i + 1] *= -1;
    }
}

/* Reads a file's faces, or with mesh->lines its lines; the mesh's arrays are the caller's, also after a failure. */
static int read_mesh(const char *path, int lps, clv_mesh *mesh)
{
    int status;
    char *bytes = NULL;
    uint8_t *expanded = NULL;
    clv_surface_bytes file = {.path = path};
    clv_plain plain = clv_plain_begin();
    mesh->path = path;
    CLV_TRY(clvox_file_read(path, PTRDIFF_MAX, &bytes, &file.size));
    file.data = (const uint8_t *)bytes;
    if (!file.size) {
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: is empty", path);
        goto end;
    }
    if (file.size > 2 && file.data[0] == 0x1f && file.data[1] == 0x8b) {
        CLV_TRY(expand(path, file.data, file.size, &expanded, &file.size));
        file.data = expanded;
        free(bytes);
        bytes = NULL;
    }
    /* Content before name: files are renamed more often than they are made wrong. */
    const clv_surface_format *f = by_content(file.data, file.size);
    if (!f)
        f = by_name(path);
    if (mesh->lines && !(f && f->curves)) {
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: holds no curves%s; clvox reads " KNOWN_CURVES, path,
                            f == &clv_gifti_format        ? ", for which GIFTI has no standard"
                            : f == &clv_freesurfer_format ? ": it is a FreeSurfer surface"
                                                          : " that clvox knows");
        goto end;
    }
    if (!mesh->lines && !has_surfaces(f)) {
        status =
            clvox_fail(CLVOX_ERROR_FORMAT, "%s: is no surface file that clvox knows; it reads " KNOWN, path);
        goto end;
    }
    CLV_TRY(f->read(&file, mesh));
    if (lps && !f->framed)
        flip(mesh->points, mesh->vertices);
    status = check_corners(mesh);
end:
    free(expanded);
    free(bytes);
    clv_plain_end(plain);
    return status;
}

int clvox_surface_read_with(const char *path, int lps, clvox_surface **out)
{
    CLV_GIVEN(path, out);
    clv_mesh mesh = {.lines = false};
    *out = NULL;
    int status = read_mesh(path, lps, &mesh);
    if (status >= 0)
        status = finish(&mesh, out);
    free(mesh.points);
    free(mesh.corners);
    return status;
}

int clvox_curves_read(const char *path, int lps, clvox_shape **out)
{
    CLV_GIVEN(path, out);
    int status = CLVOX_OK;
    clv_mesh mesh = {.lines = true};
    *out = NULL;
    CLV_TRY(read_mesh(path, lps, &mesh));
    CLV_TRY(clvox_shape_create(CLVOX_SHAPE_CURVES, mesh.vertices, mesh.triangles, out));
    if (mesh.vertices)
        memcpy((*out)->points, mesh.points, 3 * mesh.vertices * sizeof *mesh.points);
    for (size_t i = 0; i < 2 * mesh.triangles; i++)
        (*out)->corners[i] = mesh.corners[i / 2 * 3 + i % 2];
end:
    free(mesh.points);
    free(mesh.corners);
    return status;
}

int clvox_surface_read(const char *path, clvox_surface **out)
{
    CLV_GIVEN(path, out);
    return clvox_surface_read_with(path, 0, out);
}

/* ---- writing ------------------------------------------------------------ */

/* element: what those of the shape are called. */
static int check(const clvox_shape *s, const char *element, const char *path)
{
    if (s->vertices > INT32_MAX || s->elements > INT32_MAX)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: there can be at most %d vertices and %ss", path,
                          INT32_MAX, element);
    for (size_t i = 0; i < 3 * s->vertices; i++)
        if (!isfinite((float)s->points[i]))
            return clvox_fail(CLVOX_ERROR_DATA, "%s: vertex %zu (counted from 0) is not finite in float32",
                              path, i / 3);
    for (size_t i = 0; i < (size_t)s->kind * s->elements; i++)
        if (s->corners[i] < 0 || (size_t)s->corners[i] >= s->vertices)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: %s %zu names vertex %d, but there are %zu", path,
                              element, i / (size_t)s->kind, s->corners[i], s->vertices);
    return CLVOX_OK;
}

/* The format that a name asks to be written in. */
static int choose(const char *path, const clv_surface_format **out)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    *out = by_name(path);
    if (!*out && (!strncmp(name, "lh.", 3) || !strncmp(name, "rh.", 3)) && !strstr(name, ".nii"))
        *out = &clv_freesurfer_format;
    if (!has_surfaces(*out))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: the ending names no surface format; clvox writes " KNOWN,
                          path);
    if (clv_ends_in(path, ".gz"))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: surfaces are not written as .gz, leave that off", path);
    return CLVOX_OK;
}

int clvox_surface_check_name(const char *path)
{
    CLV_GIVEN(path);
    const clv_surface_format *f;
    return choose(path, &f);
}

/* Writes a surface or curves; flipped: with x and y turned round. */
static int write_shape(const clvox_shape *shape, const clv_surface_format *f, bool flipped, const char *path)
{
    int status = CLVOX_OK;
    clv_text out = {0};
    clvox_shape s = *shape;
    double *points = NULL;
    clv_plain plain = clv_plain_begin();
    const bool surface = shape->kind == CLVOX_SHAPE_SURFACE;
    CLV_TRY(check(shape, surface ? "triangle" : "segment", path));
    if (flipped) {
        points = clv_array(s.vertices, 3 * sizeof *points);
        if (!points) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
            goto end;
        }
        memcpy(points, s.points, 3 * s.vertices * sizeof *points);
        flip(points, s.vertices);
        s.points = points;
    }
    if (surface)
        f->write(&(clvox_surface){s.vertices, s.elements, s.points, s.corners}, &out);
    else
        f->write_curves(&s, &out);
    if (out.failed)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
    else
        status = clvox_file_write(path, out.data, out.length);
end:
    free(points);
    free(out.data);
    clv_plain_end(plain);
    return status;
}

int clvox_surface_write_with(const clvox_surface *surface, int lps, const char *path)
{
    CLV_GIVEN(surface, path);
    clvox_shape shape;
    const clv_surface_format *f;
    int status = choose(path, &f);
    if (status < 0)
        return status;
    clvox_shape_of_surface(surface, &shape);
    return write_shape(&shape, f, lps && !f->framed, path);
}

static int choose_curves(const char *path, const clv_surface_format **out)
{
    *out = by_name(path);
    if (*out && (*out)->write_curves && !clv_ends_in(path, ".gz"))
        return CLVOX_OK;
    return clvox_fail(CLVOX_ERROR_ARGUMENT,
                      "%s: curves are written as VTK polydata (.vtk) or MRtrix's tracks (.tck)", path);
}

int clvox_curves_check_name(const char *path)
{
    CLV_GIVEN(path);
    const clv_surface_format *f;
    return choose_curves(path, &f);
}

int clvox_curves_write(const clvox_shape *curves, int lps, const char *path)
{
    CLV_GIVEN(curves, path);
    const clv_surface_format *f;
    int status = choose_curves(path, &f);
    if (status >= 0 && curves->kind != CLVOX_SHAPE_CURVES)
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: what is to be written are no curves", path);
    return status < 0 ? status : write_shape(curves, f, lps && !f->framed, path);
}

int clvox_surface_write(const clvox_surface *surface, const char *path)
{
    CLV_GIVEN(surface, path);
    return clvox_surface_write_with(surface, 0, path);
}
