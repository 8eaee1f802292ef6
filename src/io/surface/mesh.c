/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, text, and the mesh that readers fill. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/matrix.h"
#include "base/status.h"
#include "io/surface/file.h"

/* ---- numbers ------------------------------------------------------------ */

size_t clv_number_size(clv_number type)
{
    static const uint8_t size[CLV_NUMBERS] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
    return size[type];
}

double clv_number_at(const uint8_t *bytes, clv_number type, bool big)
{
    size_t size = clv_number_size(type);
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++)
        bits = bits << 8 | bytes[big ? i : size - 1 - i];
    switch (type) {
    case CLV_INT8: return (double)(int8_t)bits;
    case CLV_INT16: return (double)(int16_t)bits;
    case CLV_INT32: return (double)(int32_t)bits;
    case CLV_INT64: return (double)(int64_t)bits;
    case CLV_FLOAT32: {
        uint32_t half = (uint32_t)bits;
        float x;
        memcpy(&x, &half, sizeof x);
        return (double)x;
    }
    case CLV_FLOAT64: {
        double x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    default: return (double)bits;
    }
}

int64_t clv_number_index(double x)
{
    return x >= 0 && x < 2147483648.0 && floor(x) == x ? (int64_t)x : -1;
}

/* ---- text --------------------------------------------------------------- */

/* A 0 inside of a text counts as white space: it must not end the text early. */
static bool blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || !c;
}

bool clv_words_more(clv_words *text)
{
    while (text->at < text->end && blank(*text->at))
        text->at++;
    return text->at < text->end;
}

bool clv_words_word(clv_words *text, char *word, size_t room)
{
    size_t length = 0;
    bool more = clv_words_more(text);
    for (; text->at < text->end && !blank(*text->at); text->at++)
        if (length + 1 < room)
            word[length++] = *text->at;
    word[length] = 0;
    return more;
}

bool clv_words_is(clv_words *text, const char *word)
{
    size_t length = strlen(word);
    if (!clv_words_more(text) || (size_t)(text->end - text->at) < length ||
        strncasecmp(text->at, word, length) || !blank(text->at[length]))
        return false;
    text->at += length;
    return true;
}

void clv_words_line(clv_words *text)
{
    const char *stop = memchr(text->at, '\n', (size_t)(text->end - text->at));
    text->at = stop ? stop + 1 : text->end;
}

bool clv_words_number(clv_words *text, double *x)
{
    char *stop;
    if (!clv_words_more(text))
        return false;
    *x = strtod(text->at, &stop);
    if (stop == text->at)
        return false;
    text->at = stop;
    return true;
}

/* ---- a mesh being read -------------------------------------------------- */

/* Makes room for one more of what takes three elements. */
static int grow(const clv_mesh *m, void **array, size_t count, size_t *room, size_t element)
{
    if (count < *room)
        return CLVOX_OK;
    if (count >= INT32_MAX)
        return clvox_fail(CLVOX_ERROR_DATA,
                          "%s: holds more than %d vertices or triangles, cut it into pieces", m->path,
                          INT32_MAX);
    size_t wanted = *room ? 2 * *room : 64;
    void *larger = clv_array_moved(*array, wanted, clv_times(3, element));
    if (!larger)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", m->path);
    *array = larger;
    *room = wanted;
    return CLVOX_OK;
}

int clv_mesh_point(clv_mesh *m, const double x[3])
{
    if (!isfinite(x[0]) || !isfinite(x[1]) || !isfinite(x[2]))
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: vertex %zu (counted from 0) is not finite, repair the file", m->path,
                          m->vertices);
    void *array = m->points;
    int status = grow(m, &array, m->vertices, &m->point_room, sizeof *m->points);
    if (status < 0)
        return status;
    m->points = array;
    memcpy(m->points + 3 * m->vertices++, x, 3 * sizeof *x);
    return CLVOX_OK;
}

static int put_triangle(clv_mesh *m, int32_t a, int32_t b, int32_t c)
{
    void *array = m->corners;
    int status = grow(m, &array, m->triangles, &m->triangle_room, sizeof *m->corners);
    if (status < 0)
        return status;
    m->corners = array;
    int32_t *to = m->corners + 3 * m->triangles++;
    to[0] = a;
    to[1] = b;
    to[2] = c;
    return CLVOX_OK;
}

void clv_mesh_face(clv_mesh *m, bool strip)
{
    m->strip = strip;
    m->count = 0;
}

int clv_mesh_corner(clv_mesh *m, int64_t vertex)
{
    int status = CLVOX_OK;
    if (vertex < 0 || vertex >= INT32_MAX)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: the face with triangle %zu (counted from 0) has a corner that is no vertex's "
                          "number, get a fresh copy",
                          m->path, m->triangles);
    int32_t v = (int32_t)vertex;
    size_t at = m->count++;
    if (at == 0) {
        m->first = v;
        return CLVOX_OK;
    }
    if (m->lines) {
        status = put_triangle(m, at > 1 ? m->last : m->first, v, 0);
        m->last = v;
        return status;
    }
    if (at > 1 && !m->strip)
        status = put_triangle(m, m->first, m->last, v);
    /* Strips are joined by triangles without area: those are left out. */
    if (at > 1 && m->strip && m->first != m->last && m->last != v && v != m->first)
        status = at % 2 ? put_triangle(m, m->last, m->first, v) : put_triangle(m, m->first, m->last, v);
    if (at > 1 && m->strip)
        m->first = m->last;
    m->last = v;
    return status;
}

int clv_mesh_triangle(clv_mesh *m, const int64_t corner[3])
{
    int status = CLVOX_OK;
    clv_mesh_face(m, false);
    for (int i = 0; i < 3 && status >= 0; i++)
        status = clv_mesh_corner(m, corner[i]);
    return status;
}

int clv_mesh_map(clv_mesh *m, const double matrix[4][4])
{
    if (!clv_matrix_regular(matrix))
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: the matrix that places its vertices is singular or not finite, repair it",
                          m->path);
    for (size_t i = 0; i < m->vertices; i++) {
        double *x = m->points + 3 * i, y[3];
        clv_matrix_apply(matrix, x, y);
        if (!isfinite(y[0]) || !isfinite(y[1]) || !isfinite(y[2]))
            return clvox_fail(CLVOX_ERROR_FORMAT,
                              "%s: its matrix sends vertex %zu (counted from 0) out of all bounds, repair it",
                              m->path, i);
        memcpy(x, y, sizeof y);
    }
    bool mirrored = clv_matrix_determinant(matrix) < 0;
    for (size_t i = 0; mirrored && i < m->triangles; i++) {
        int32_t *c = m->corners + 3 * i, second = c[1];
        c[1] = c[2];
        c[2] = second;
    }
    return CLVOX_OK;
}

/* ---- a file being written ----------------------------------------------- */

void clv_text_put_int(clv_text *out, int32_t x, bool big)
{
    uint8_t bytes[4];
    for (int i = 0; i < 4; i++)
        bytes[big ? 3 - i : i] = (uint8_t)((uint32_t)x >> 8 * i);
    clv_text_put_bytes(out, bytes, sizeof bytes);
}

void clv_text_put_float(clv_text *out, double x, bool big)
{
    float value = (float)x;
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    clv_text_put_int(out, bits, big);
}
