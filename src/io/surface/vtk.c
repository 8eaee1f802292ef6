/* SPDX-License-Identifier: Apache-2.0 */
/* Legacy VTK polydata, ASCII and binary (which is big-endian): faces as counts
 * and corners, or, from version 5 on, as offsets and connectivity; curves as lines in the same way. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/status.h"
#include "io/surface/file.h"

typedef struct vtk {
    const clv_surface_bytes *file;
    clv_words text;
    bool binary;
    bool points; /* have been read */
} vtk;

static int wrong(const vtk *v, const char *what)
{
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: the VTK file %s, get a fresh copy", v->file->path, what);
}

static int type_of(const vtk *v, const char *word, clv_number *out)
{
    static const struct {
        const char *name;
        clv_number type;
    } names[] = {{"unsigned_char", CLV_UINT8},  {"char", CLV_INT8},           {"unsigned_short", CLV_UINT16},
                 {"short", CLV_INT16},          {"unsigned_int", CLV_UINT32}, {"int", CLV_INT32},
                 {"unsigned_long", CLV_UINT64}, {"long", CLV_INT64},          {"float", CLV_FLOAT32},
                 {"double", CLV_FLOAT64},       {"vtkIdType", CLV_INT32},     {"vtktypeint64", CLV_INT64},
                 {"vtktypeuint64", CLV_UINT64}, {"vtktypeint32", CLV_INT32}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(word, names[i].name)) {
            *out = names[i].type;
            return CLVOX_OK;
        }
    return clvox_fail(CLVOX_ERROR_FORMAT,
                      "%s: the VTK file holds numbers of the type \"%.40s\", which clvox does not read",
                      v->file->path, word);
}

/* A count in the header, which what is left of the file must be able to hold
 * at `least` bytes an item. */
static int count_of(vtk *v, double *out, size_t least)
{
    if (!clv_words_number(&v->text, out) || !(*out >= 0))
        return wrong(v, "lacks a count");
    if (*out * (double)least > (double)(v->text.end - v->text.at))
        return wrong(v, "promises more than it holds");
    return CLVOX_OK;
}

static int value(vtk *v, clv_number type, double *x)
{
    if (!v->binary)
        return clv_words_number(&v->text, x) ? CLVOX_OK : wrong(v, "ends early, or holds what is no number");
    size_t size = clv_number_size(type);
    if ((size_t)(v->text.end - v->text.at) < size)
        return wrong(v, "ends early");
    *x = clv_number_at((const uint8_t *)v->text.at, type, true);
    v->text.at += size;
    return CLVOX_OK;
}

static int read_points(vtk *v, clv_mesh *mesh)
{
    int status;
    double count, x[3];
    char word[64];
    clv_number type = CLV_FLOAT32;
    CLV_TRY(count_of(v, &count, v->binary ? 3 : 6));
    clv_words_word(&v->text, word, sizeof word);
    CLV_TRY(type_of(v, word, &type));
    clv_words_line(&v->text);
    for (double i = 0; i < count; i++) {
        for (int k = 0; k < 3; k++)
            CLV_TRY(value(v, type, x + k));
        CLV_TRY(clv_mesh_point(mesh, x));
    }
    v->points = true;
end:
    return status;
}

/* Offsets where each face begins in the connectivity, and where the last ends. */
static int read_offsets(vtk *v, clv_mesh *mesh, double offsets, double corners, bool strip, bool skip)
{
    int status;
    char word[64];
    clv_number type = CLV_INT64, corner_type = CLV_INT64;
    double before = 0, next, x;
    clv_words at; /* the offsets, read beside the corners */
    clv_words_word(&v->text, word, sizeof word);
    CLV_TRY(type_of(v, word, &type));
    clv_words_line(&v->text);
    at = v->text;
    for (double i = 0; i < offsets; i++)
        CLV_TRY(value(v, type, &x));
    if (!clv_words_is(&v->text, "CONNECTIVITY")) {
        status = wrong(v, "has OFFSETS without CONNECTIVITY");
        goto end;
    }
    clv_words_word(&v->text, word, sizeof word);
    CLV_TRY(type_of(v, word, &corner_type));
    clv_words_line(&v->text);
    vtk beside = *v;
    beside.text.at = at.at;
    if (offsets > 0)
        CLV_TRY(value(&beside, type, &before));
    if (offsets > 0 && before != 0) {
        status = wrong(v, "has OFFSETS that do not begin with 0");
        goto end;
    }
    double used = 0;
    for (double i = 1; i < offsets; i++) {
        CLV_TRY(value(&beside, type, &next));
        if (!(next >= before && next <= corners)) {
            status = wrong(v, "has OFFSETS that fall, or point behind CONNECTIVITY");
            goto end;
        }
        clv_mesh_face(mesh, strip);
        for (; used < next; used++) {
            CLV_TRY(value(v, corner_type, &x));
            if (!skip)
                CLV_TRY(clv_mesh_corner(mesh, clv_number_index(x)));
        }
        before = next;
    }
    for (; used < corners; used++)
        CLV_TRY(value(v, corner_type, &x));
end:
    return status;
}

static int read_cells(vtk *v, clv_mesh *mesh, bool strip, bool skip)
{
    int status;
    double cells, total, length, x;
    CLV_TRY(count_of(v, &cells, 0));
    CLV_TRY(count_of(v, &total, 1));
    clv_words_line(&v->text);
    clv_words ahead = v->text;
    if (clv_words_is(&ahead, "OFFSETS")) {
        v->text = ahead;
        return read_offsets(v, mesh, cells, total, strip, skip);
    }
    for (double i = 0; i < cells; i++) {
        CLV_TRY(value(v, CLV_INT32, &length));
        total -= 1 + length;
        if (!(length >= 0 && total >= 0)) {
            status = wrong(v, "has a face of more corners than it promised in all");
            goto end;
        }
        clv_mesh_face(mesh, strip);
        for (double k = 0; k < length; k++) {
            CLV_TRY(value(v, CLV_INT32, &x));
            if (!skip)
                CLV_TRY(clv_mesh_corner(mesh, clv_number_index(x)));
        }
    }
    if (total != 0)
        status = wrong(v, "has faces of fewer corners than it promised in all");
end:
    return status;
}

/* METADATA: lines up to an empty one. */
static void skip_metadata(vtk *v)
{
    for (clv_words_line(&v->text); v->text.at < v->text.end; clv_words_line(&v->text))
        if (*v->text.at == '\n' || *v->text.at == '\r')
            break;
}

/* FIELD name n, then n times: name components tuples type, and the values. */
static int skip_field(vtk *v)
{
    int status = CLVOX_OK;
    char word[64];
    double arrays, columns, rows, x;
    clv_number type = CLV_FLOAT32;
    clv_words_word(&v->text, word, sizeof word);
    CLV_TRY(count_of(v, &arrays, 1));
    for (double i = 0; i < arrays; i++) {
        clv_words_word(&v->text, word, sizeof word);
        CLV_TRY(count_of(v, &columns, 0));
        CLV_TRY(count_of(v, &rows, 0));
        clv_words_word(&v->text, word, sizeof word);
        CLV_TRY(type_of(v, word, &type));
        clv_words_line(&v->text);
        for (double n = columns * rows; n > 0; n--)
            CLV_TRY(value(v, type, &x));
        if (clv_words_is(&v->text, "METADATA"))
            skip_metadata(v);
    }
end:
    return status;
}

static int read_header(vtk *v)
{
    char word[64];
    clv_words_line(&v->text);
    clv_words_line(&v->text); /* the title */
    v->binary = clv_words_is(&v->text, "BINARY");
    if (!v->binary && !clv_words_is(&v->text, "ASCII"))
        return wrong(v, "says neither ASCII nor BINARY in its third line");
    if (!clv_words_is(&v->text, "DATASET"))
        return wrong(v, "names no DATASET in its fourth line");
    clv_words_word(&v->text, word, sizeof word);
    if (strcasecmp(word, "POLYDATA"))
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: the VTK file holds a %.40s; clvox reads POLYDATA, extract the surface first",
                          v->file->path, word);
    return CLVOX_OK;
}

static int read_surface(const clv_surface_bytes *file, clv_mesh *mesh)
{
    int status;
    bool faces = false;
    char word[64];
    vtk v = {.file = file, .text = {(const char *)file->data, (const char *)file->data + file->size}};
    CLV_TRY(read_header(&v));
    while (clv_words_word(&v.text, word, sizeof word)) {
        /* Attributes of points and faces follow them. */
        if (!strcasecmp(word, "POINT_DATA") || !strcasecmp(word, "CELL_DATA"))
            break;
        if (!strcasecmp(word, "POINTS")) {
            CLV_TRY(read_points(&v, mesh));
        } else if (!strcasecmp(word, "POLYGONS") || !strcasecmp(word, "TRIANGLE_STRIPS")) {
            faces = faces || !mesh->lines;
            CLV_TRY(read_cells(&v, mesh, strcasecmp(word, "POLYGONS") != 0, mesh->lines));
        } else if (!strcasecmp(word, "LINES")) {
            faces = faces || mesh->lines;
            CLV_TRY(read_cells(&v, mesh, false, !mesh->lines));
        } else if (!strcasecmp(word, "VERTICES")) {
            CLV_TRY(read_cells(&v, mesh, false, true));
        } else if (!strcasecmp(word, "FIELD")) {
            CLV_TRY(skip_field(&v));
        } else if (!strcasecmp(word, "METADATA")) {
            skip_metadata(&v);
        } else {
            status = wrong(&v, "has a section of an unknown name");
            goto end;
        }
    }
    if (!v.points)
        status = wrong(&v, "has no POINTS");
    else if (!faces && mesh->lines)
        status =
            clvox_fail(CLVOX_ERROR_FORMAT, "%s: the VTK file has no LINES; clvox needs curves", file->path);
    else if (!faces)
        status =
            clvox_fail(CLVOX_ERROR_FORMAT,
                       "%s: the VTK file has no POLYGONS and no TRIANGLE_STRIPS; clvox needs a surface of "
                       "triangles",
                       file->path);
end:
    return status;
}

static void write_surface(const clvox_surface *surface, clv_text *out)
{
    clv_text_add(out,
                 "# vtk DataFile Version 3.0\nclvox %s, RAS mm\nBINARY\nDATASET POLYDATA\nPOINTS %zu float\n",
                 clvox_version(), surface->vertices);
    for (size_t i = 0; i < 3 * surface->vertices; i++)
        clv_text_put_float(out, surface->points[i], true);
    clv_text_add(out, "\nPOLYGONS %zu %zu\n", surface->triangles, 4 * surface->triangles);
    for (size_t i = 0; i < 3 * surface->triangles; i++) {
        if (i % 3 == 0)
            clv_text_put_int(out, 3, true);
        clv_text_put_int(out, surface->corners[i], true);
    }
    clv_text_add(out, "\n");
}

static void write_lines(const clvox_shape *curves, clv_text *out)
{
    const int32_t *c = curves->corners;
    size_t lines = 0, n = curves->elements;
    for (size_t i = 0; i < n; i++)
        lines += i == 0 || c[2 * i] != c[2 * i - 1];
    clv_text_add(out,
                 "# vtk DataFile Version 3.0\nclvox %s, RAS mm\nBINARY\nDATASET POLYDATA\nPOINTS %zu float\n",
                 clvox_version(), curves->vertices);
    for (size_t i = 0; i < 3 * curves->vertices; i++)
        clv_text_put_float(out, curves->points[i], true);
    clv_text_add(out, "\nLINES %zu %zu\n", lines, 2 * lines + n);
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && c[2 * next] == c[2 * next - 1]; next++)
            ;
        clv_text_put_int(out, (int32_t)(next - i + 1), true);
        clv_text_put_int(out, c[2 * i], true);
        for (size_t k = i; k < next; k++)
            clv_text_put_int(out, c[2 * k + 1], true);
    }
    clv_text_add(out, "\n");
}

static bool is_vtk(const uint8_t *data, size_t size)
{
    return size > 14 && !strncasecmp((const char *)data, "# vtk DataFile", 14);
}

const clv_surface_format clv_vtk_format = {
    .ends = {".vtk"},
    .is = is_vtk,
    .read = read_surface,
    .write = write_surface,
    .curves = true,
    .write_curves = write_lines,
};
