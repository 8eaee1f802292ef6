/* SPDX-License-Identifier: Apache-2.0 */
/* Which format a surface file has, and what all of them share. */
#include "io/surface/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/file.h"
#include "base/status.h"
#include "io/ending.h"
#include "io/inflate.h"
#include "io/plain.h"
#include "io/source.h"

/* ---- formats ------------------------------------------------------------ */

static bool is_gifti(const uint8_t *data, size_t size)
{
    size_t looked = size < 4096 ? size : 4096;
    return looked > 6 && (data[0] == '<' || !memcmp(data, "\xef\xbb\xbf<", 4)) &&
           memmem(data, looked, "<GIFTI", 6);
}

static bool is_vtk(const uint8_t *data, size_t size)
{
    return size > 14 && !strncasecmp((const char *)data, "# vtk DataFile", 14);
}

static bool is_ply(const uint8_t *data, size_t size)
{
    return size > 4 && !memcmp(data, "ply", 3) && (data[3] == '\n' || data[3] == '\r');
}

static bool is_freesurfer(const uint8_t *data, size_t size)
{
    /* Triangles; quadrangles old and new, which the reader refuses with advice. */
    return size > 3 && data[0] == 0xff && data[1] == 0xff && data[2] >= 0xfd;
}

typedef struct format {
    const char *ends[5];
    bool framed;                                  /* files state the frame of their vertices */
    bool (*is)(const uint8_t *data, size_t size); /* NULL: the ending alone tells */
    int (*read)(const clv_surface_bytes *file, clv_mesh *mesh);
    void (*write)(const clvox_surface *surface, clv_text *out);
} format;

enum { GIFTI, VTK, PLY, FREESURFER, OBJ, BYU, STL, FORMATS };
static const format formats[FORMATS] = {
    [GIFTI] = {{".surf.gii", ".gii"}, true, is_gifti, clv_gifti_read, clv_gifti_write},
    [VTK] = {{".vtk"}, false, is_vtk, clv_vtk_read, clv_vtk_write},
    [PLY] = {{".ply"}, false, is_ply, clv_ply_read, clv_ply_write},
    [FREESURFER] =
        {{".fs", ".white", ".pial"}, true, is_freesurfer, clv_freesurfer_read, clv_freesurfer_write},
    [OBJ] = {{".obj"}, false, NULL, clv_obj_read, clv_obj_write},
    [BYU] = {{".byu"}, false, NULL, clv_byu_read, clv_byu_write},
    [STL] = {{".stl"}, false, clv_stl_is, clv_stl_read, clv_stl_write},
};
#define KNOWN "GIFTI (.gii), VTK polydata (.vtk), PLY, STL, OBJ, BYU and FreeSurfer (lh.NAME, rh.NAME or .fs)"

/* Those of curves. */
typedef struct curve_format {
    const char *end;
    bool framed;
    bool (*is)(const uint8_t *data, size_t size);
    int (*read)(const clv_surface_bytes *file, clv_mesh *mesh);
    void (*write)(const clvox_shape *curves, clv_text *out); /* NULL: it is only read */
} curve_format;
static const curve_format curve_formats[] = {
    {".vtk", false, is_vtk, clv_vtk_read, clv_vtk_write_lines},
    {".tck", true, clv_tck_is, clv_tck_read, clv_tck_write},
    {".trk", true, clv_trk_is, clv_trk_read, NULL},
    {NULL, false, NULL, NULL, NULL},
};
#define KNOWN_CURVES "the lines of VTK polydata (.vtk), MRtrix's tracks (.tck) and TrackVis' (.trk)"

/* By content, or else by name; a ".gz" behind that is overlooked. NULL: none. */
static const curve_format *curves_of(const char *path, const uint8_t *data, size_t size)
{
    for (const curve_format *f = curve_formats; f->end; f++)
        if (f->is(data, size))
            return f;
    for (const curve_format *f = curve_formats; f->end; f++)
        if (clv_ending(path, &f->end, 1))
            return f;
    return NULL;
}

/* The format that a name asks for; a ".gz" behind it is overlooked. */
static const format *by_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (int f = 0; f < FORMATS; f++)
        if (clv_ending(name, formats[f].ends, 5))
            return formats + f;
    return NULL;
}

const char *clv_surface_ending(const char *path)
{
    const format *f = by_name(path);
    const char *end = f ? clv_ending(path, f->ends, 5) : NULL;
    for (const curve_format *c = curve_formats; c->end && !end; c++)
        end = clv_ending(path, &c->end, 1);
    return end;
}

static const format *by_content(const uint8_t *data, size_t size)
{
    for (int f = 0; f < FORMATS; f++)
        if (formats[f].is && formats[f].is(data, size))
            return formats + f;
    return NULL;
}

int clvox_surface_is_file(const char *path)
{
    CLV_GIVEN_OR(0, path);
    clv_source source = {.fd = -1};
    uint8_t head[4097];
    size_t got = 0;
    bool is = by_name(path) != NULL;
    if (!is && clv_source_open(path, &source) >= 0 && clv_source_head(&source, head, 4096, &got) >= 0) {
        head[got] = 0;
        is = by_content(head, got) != NULL;
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
    const format *f = by_content(file.data, file.size);
    const curve_format *curves = mesh->lines ? curves_of(path, file.data, file.size) : NULL;
    if (!f)
        f = by_name(path);
    if (mesh->lines && (!curves || (f && f != formats + VTK))) {
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: holds no curves%s; clvox reads " KNOWN_CURVES, path,
                            f == formats + GIFTI        ? ", for which GIFTI has no standard"
                            : f == formats + FREESURFER ? ": it is a FreeSurfer surface"
                                                        : " that clvox knows");
        goto end;
    }
    if (!mesh->lines && !f) {
        status =
            clvox_fail(CLVOX_ERROR_FORMAT, "%s: is no surface file that clvox knows; it reads " KNOWN, path);
        goto end;
    }
    CLV_TRY(curves ? curves->read(&file, mesh) : f->read(&file, mesh));
    if (lps && !(curves ? curves->framed : f->framed))
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
static int choose(const char *path, const format **out)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    *out = by_name(path);
    if (!*out && (!strncmp(name, "lh.", 3) || !strncmp(name, "rh.", 3)) && !strstr(name, ".nii"))
        *out = formats + FREESURFER;
    if (!*out)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: the ending names no surface format; clvox writes " KNOWN,
                          path);
    if (clv_ends_in(path, ".gz"))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: surfaces are not written as .gz, leave that off", path);
    return CLVOX_OK;
}

int clvox_surface_check_name(const char *path)
{
    CLV_GIVEN(path);
    const format *f;
    return choose(path, &f);
}

/* Writes it by a format of either kind; flipped: with x and y turned round. */
static int write_shape(const clvox_shape *shape, const format *f, const curve_format *curves, bool flipped,
                       const char *path)
{
    int status = CLVOX_OK;
    clv_text out = {0};
    clvox_shape s = *shape;
    double *points = NULL;
    clv_plain plain = clv_plain_begin();
    CLV_TRY(check(shape, f ? "triangle" : "segment", path));
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
    if (f)
        f->write(&(clvox_surface){s.vertices, s.elements, s.points, s.corners}, &out);
    else
        curves->write(&s, &out);
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
    const format *f;
    int status = choose(path, &f);
    if (status < 0)
        return status;
    clvox_shape_of_surface(surface, &shape);
    return write_shape(&shape, f, NULL, lps && !f->framed, path);
}

static int choose_curves(const char *path, const curve_format **out)
{
    for (const curve_format *f = curve_formats; f->end; f++)
        if (f->write && clv_ends_in(path, f->end)) {
            *out = f;
            return CLVOX_OK;
        }
    return clvox_fail(CLVOX_ERROR_ARGUMENT,
                      "%s: curves are written as VTK polydata (.vtk) or MRtrix's tracks (.tck)", path);
}

int clvox_curves_check_name(const char *path)
{
    CLV_GIVEN(path);
    const curve_format *f;
    return choose_curves(path, &f);
}

int clvox_curves_write(const clvox_shape *curves, int lps, const char *path)
{
    CLV_GIVEN(curves, path);
    const curve_format *f = NULL;
    int status = choose_curves(path, &f);
    if (status >= 0 && curves->kind != CLVOX_SHAPE_CURVES)
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: what is to be written are no curves", path);
    return status < 0 ? status : write_shape(curves, NULL, f, lps && !f->framed, path);
}

int clvox_surface_write(const clvox_surface *surface, const char *path)
{
    CLV_GIVEN(surface, path);
    return clvox_surface_write_with(surface, 0, path);
}
