/* SPDX-License-Identifier: Apache-2.0 */
/* PLY: a header that declares elements and their properties, then the values,
 * in text or binary. */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "io/surface/file.h"

enum { MOST = 256 };

typedef enum role { OTHER, X, Y, Z, CORNERS, STRIPS } role;

typedef struct property {
    clv_number type, count; /* count: type of a list's length; CLV_NUMBERS: no list */
    role role;
} property;

typedef struct element {
    double count;
    int first, properties; /* in all */
    bool vertex, face, strips;
    size_t least; /* bytes that one of it takes at least */
} element;

typedef struct ply {
    const clv_surface_bytes *file;
    clv_words text;
    bool ascii, big;
    element elements[MOST];
    property all[MOST];
    int count, properties;
} ply;

static int wrong(const ply *p, const char *what)
{
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: the PLY file %s, get a fresh copy", p->file->path, what);
}

static clv_number type_of(const char *word)
{
    static const char *const names[2][CLV_NUMBERS] = {
        {"char", "uchar", "short", "ushort", "int", "uint", "int64", "uint64", "float", "double"},
        {"int8", "uint8", "int16", "uint16", "int32", "uint32", "long", "ulong", "float32", "float64"}};
    for (int i = 0; i < 2 * CLV_NUMBERS; i++)
        if (!strcmp(word, names[i / CLV_NUMBERS][i % CLV_NUMBERS]))
            return (clv_number)(i % CLV_NUMBERS);
    return CLV_NUMBERS;
}

static int add_property(ply *p)
{
    char word[64];
    property *to = p->all + p->properties;
    element *of = p->elements + p->count - 1;
    if (!p->count || p->properties == MOST)
        return wrong(p, p->count ? "declares over 256 properties" : "declares a property of no element");
    *to = (property){.count = CLV_NUMBERS};
    clv_words_word(&p->text, word, sizeof word);
    if (!strcmp(word, "list")) {
        clv_words_word(&p->text, word, sizeof word);
        to->count = type_of(word);
        if (to->count > CLV_UINT64)
            return wrong(p, "has a list whose length is no whole number");
        clv_words_word(&p->text, word, sizeof word);
    }
    to->type = type_of(word);
    if (to->type == CLV_NUMBERS)
        return wrong(p, "has a property of an unknown type");
    bool list = to->count < CLV_NUMBERS;
    clv_words_word(&p->text, word, sizeof word);
    if (of->vertex && !list && strlen(word) == 1 && *word >= 'x' && *word <= 'z')
        to->role = (role)(X + *word - 'x');
    bool corners = !strcmp(word, "vertex_indices") || !strcmp(word, "vertex_index");
    if (list && corners && (of->face || of->strips))
        to->role = of->face ? CORNERS : STRIPS;
    of->least += clv_number_size(list ? to->count : to->type);
    of->properties++;
    p->properties++;
    return CLVOX_OK;
}

static int add_element(ply *p)
{
    char word[64];
    if (p->count == MOST)
        return wrong(p, "declares over 256 elements");
    element *to = p->elements + p->count++;
    *to = (element){.first = p->properties};
    clv_words_word(&p->text, word, sizeof word);
    to->vertex = !strcmp(word, "vertex");
    to->face = !strcmp(word, "face");
    to->strips = !strcmp(word, "tristrips");
    if (!clv_words_number(&p->text, &to->count) || !(to->count >= 0))
        return wrong(p, "has an element without a count");
    return CLVOX_OK;
}

static int read_header(ply *p)
{
    char word[64], line[32];
    int status = CLVOX_OK;
    clv_words_line(&p->text);
    for (bool format = false;; clv_words_line(&p->text)) {
        if (!clv_words_word(&p->text, word, sizeof word))
            return wrong(p, "ends inside of its header");
        if (!strcmp(word, "end_header"))
            break;
        if (!strcmp(word, "format")) {
            clv_words_word(&p->text, line, sizeof line);
            p->ascii = !strcmp(line, "ascii");
            p->big = !strcmp(line, "binary_big_endian");
            format = p->ascii || p->big || !strcmp(line, "binary_little_endian");
            if (!format)
                return wrong(p, "has a format that is neither ascii nor binary");
        } else if (!format) {
            return wrong(p, "does not begin with its format");
        } else if (!strcmp(word, "element")) {
            status = add_element(p);
        } else if (!strcmp(word, "property")) {
            status = add_property(p);
        } else if (strcmp(word, "comment") && strcmp(word, "obj_info")) {
            return wrong(p, "has an unknown word in its header");
        }
        if (status < 0)
            return status;
    }
    clv_words_line(&p->text);
    return CLVOX_OK;
}

/* The next value. */
static int value(ply *p, clv_number type, double *x)
{
    if (p->ascii)
        return clv_words_number(&p->text, x) ? CLVOX_OK : wrong(p, "ends early, or holds what is no number");
    size_t size = clv_number_size(type);
    if ((size_t)(p->text.end - p->text.at) < size)
        return wrong(p, "ends early");
    *x = clv_number_at((const uint8_t *)p->text.at, type, p->big);
    p->text.at += size;
    return CLVOX_OK;
}

static int read_list(ply *p, const property *what, clv_mesh *mesh)
{
    int status;
    double length, x;
    CLV_TRY(value(p, what->count, &length));
    if (!(length >= 0)) {
        status = wrong(p, "has a list of a negative length");
        goto end;
    }
    clv_mesh_face(mesh, what->role == STRIPS);
    for (double i = 0; i < length; i++) {
        CLV_TRY(value(p, what->type, &x));
        if (what->role == STRIPS && x == -1)
            clv_mesh_face(mesh, true);
        else if (what->role != OTHER)
            CLV_TRY(clv_mesh_corner(mesh, clv_number_index(x)));
    }
end:
    return status;
}

static int read_element(ply *p, const element *e, clv_mesh *mesh)
{
    int status = CLVOX_OK;
    double point[3] = {0}, x;
    for (double n = 0; e->properties && n < e->count; n++) {
        for (const property *q = p->all + e->first; q < p->all + e->first + e->properties; q++) {
            if (q->count < CLV_NUMBERS)
                CLV_TRY(read_list(p, q, mesh));
            else
                CLV_TRY(value(p, q->type, &x));
            if (q->role == X || q->role == Y || q->role == Z)
                point[q->role - X] = x;
        }
        if (e->vertex)
            CLV_TRY(clv_mesh_point(mesh, point));
    }
end:
    return status;
}

static int read_surface(const clv_surface_bytes *file, clv_mesh *mesh)
{
    int status, roles = 0;
    ply *p = calloc(1, sizeof *p);
    if (!p)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", file->path);
    p->file = file;
    p->text = (clv_words){(const char *)file->data, (const char *)file->data + file->size};
    CLV_TRY(read_header(p));
    for (int i = 0; i < p->properties; i++)
        roles |= 1 << p->all[i].role;
    if (~roles & (1 << X | 1 << Y | 1 << Z)) {
        status = wrong(p, "has no vertices with x, y and z");
        goto end;
    }
    if (!(roles & (1 << CORNERS | 1 << STRIPS))) {
        status = clvox_fail(CLVOX_ERROR_FORMAT,
                            "%s: the PLY file holds points without faces; clvox needs a surface of triangles",
                            file->path);
        goto end;
    }
    for (int i = 0; i < p->count; i++) {
        const element *e = p->elements + i;
        /* In text every value takes two characters, but for the last. */
        double least = (double)(p->ascii ? (size_t)e->properties * 2 : e->least) * e->count;
        if (least > (double)(p->text.end - p->text.at) + 1) {
            status = wrong(p, "promises more than it holds");
            goto end;
        }
        CLV_TRY(read_element(p, e, mesh));
    }
end:
    free(p);
    return status;
}

static void write_surface(const clvox_surface *surface, clv_text *out)
{
    clv_text_add(out,
                 "ply\nformat binary_little_endian 1.0\ncomment clvox %s, RAS mm\nelement vertex %zu\n"
                 "property float x\nproperty float y\nproperty float z\nelement face %zu\n"
                 "property list uchar int vertex_indices\nend_header\n",
                 clvox_version(), surface->vertices, surface->triangles);
    for (size_t i = 0; i < 3 * surface->vertices; i++)
        clv_text_put_float(out, surface->points[i], false);
    for (size_t i = 0; i < 3 * surface->triangles; i++) {
        if (i % 3 == 0)
            clv_text_put_bytes(out, "\3", 1);
        clv_text_put_int(out, surface->corners[i], false);
    }
}

static bool is_ply(const uint8_t *data, size_t size)
{
    return size > 4 && !memcmp(data, "ply", 3) && (data[3] == '\n' || data[3] == '\r');
}

const clv_surface_format clv_ply_format = {
    .ends = {".ply"},
    .is = is_ply,
    .read = read_surface,
    .write = write_surface,
};
