/* SPDX-License-Identifier: Apache-2.0 */
/* MRtrix's tracks, in RAS mm of the scanner. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/status.h"
#include "io/surface/file.h"

static bool is_tck(const uint8_t *data, size_t size)
{
    return size > 13 && !memcmp(data, "mrtrix tracks", 13);
}

static int wrong(const clv_surface_bytes *file, const char *what)
{
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: the tracks file %s, get a fresh copy", file->path, what);
}

typedef struct tck_header {
    clv_number type;
    bool big;
    size_t offset;
} tck_header;

static int tck_type(const clv_surface_bytes *file, const char *word, tck_header *out)
{
    static const struct {
        const char *name;
        clv_number type;
        bool big;
    } types[] = {{"Float32LE", CLV_FLOAT32, false},
                 {"Float32BE", CLV_FLOAT32, true},
                 {"Float64LE", CLV_FLOAT64, false},
                 {"Float64BE", CLV_FLOAT64, true}};
    for (int i = 0; i < 4; i++)
        if (!strcasecmp(word, types[i].name)) {
            out->type = types[i].type;
            out->big = types[i].big;
            return CLVOX_OK;
        }
    return clvox_fail(CLVOX_ERROR_FORMAT,
                      "%s: the tracks are of datatype %.40s; clvox reads Float32LE, Float32BE, Float64LE and "
                      "Float64BE: convert them with tckconvert",
                      file->path, word);
}

/* Lines "key: value" up to END. */
static int tck_header_read(const clv_surface_bytes *file, tck_header *out)
{
    int status = CLVOX_OK;
    bool typed = false, placed = false;
    char word[256];
    double offset = 0;
    clv_words text = {(const char *)file->data, (const char *)file->data + file->size};
    *out = (tck_header){.type = CLV_FLOAT32};
    clv_words_line(&text);
    while (clv_words_word(&text, word, sizeof word)) {
        if (!strcmp(word, "END")) {
            if (!typed || !placed)
                return wrong(file,
                             typed ? "does not say where its points begin" : "has no datatype");
            if (out->offset < (size_t)(text.at - (const char *)file->data))
                return wrong(file, "says that its points begin in its header");
            return CLVOX_OK;
        }
        if (!strcasecmp(word, "datatype:")) {
            if (!clv_words_word(&text, word, sizeof word))
                break;
            CLV_TRY(tck_type(file, word, out));
            typed = true;
        } else if (!strcasecmp(word, "file:")) {
            if (!clv_words_is(&text, "."))
                return clvox_fail(CLVOX_ERROR_FORMAT,
                                  "%s: its points are in another file; put them into this one", file->path);
            if (!clv_words_number(&text, &offset) || clv_number_index(offset) < 0 ||
                (size_t)offset > file->size)
                return wrong(file, "says that its points begin where it has ended");
            out->offset = (size_t)offset;
            placed = true;
        }
        clv_words_line(&text);
    }
    status = wrong(file, "has no END of its header");
end:
    return status;
}

static int read_tracks(const clv_surface_bytes *file, clv_mesh *mesh)
{
    int status = CLVOX_OK;
    tck_header h;
    CLV_TRY(tck_header_read(file, &h));
    const size_t step = clv_number_size(h.type);
    clv_mesh_face(mesh, false);
    for (size_t at = h.offset; at + 3 * step <= file->size; at += 3 * step) {
        double x[3];
        bool ends = true, breaks = true;
        for (size_t k = 0; k < 3; k++) {
            x[k] = clv_number_at(file->data + at + k * step, h.type, h.big);
            ends = ends && isinf(x[k]);
            breaks = breaks && isnan(x[k]);
        }
        if (ends)
            return CLVOX_OK;
        if (breaks) {
            clv_mesh_face(mesh, false);
            continue;
        }
        CLV_TRY(clv_mesh_point(mesh, x));
        CLV_TRY(clv_mesh_corner(mesh, (int64_t)mesh->vertices - 1));
    }
    status = wrong(file, "ends early");
end:
    return status;
}

static void put_point(clv_text *out, const double *x)
{
    for (int k = 0; k < 3; k++)
        clv_text_put_float(out, x[k], false);
}

static void put_mark(clv_text *out, double mark)
{
    put_point(out, (const double[3]){mark, mark, mark});
}

/* Vertices of no segment, lines of one point, stand where they stood. */
static void write_tracks(const clvox_shape *curves, clv_text *out)
{
    const int32_t *c = curves->corners;
    const size_t n = curves->elements;
    size_t lines = 0, alone = 0, next;
    bool *used = calloc(curves->vertices + 1, sizeof *used);
    char head[256];
    if (!used) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        lines += i == 0 || c[2 * i] != c[2 * i - 1];
        used[c[2 * i]] = used[c[2 * i + 1]] = true;
    }
    for (size_t v = 0; v < curves->vertices; v++)
        lines += !used[v];
    /* The offset has a fixed number of digits, so that it does not change the place it names. */
    const int length =
        snprintf(head, sizeof head, "mrtrix tracks\ndatatype: Float32LE\ncount: %010zu\nfile: . %06d\nEND\n",
                 lines, 0);
    clv_text_add(out, "mrtrix tracks\ndatatype: Float32LE\ncount: %010zu\nfile: . %06d\nEND\n", lines,
                 length);
    for (size_t i = 0; i <= n; i = next) {
        for (; alone < (i < n ? (size_t)c[2 * i] : curves->vertices); alone++)
            if (!used[alone]) {
                put_point(out, curves->points + 3 * alone);
                put_mark(out, (double)NAN);
            }
        next = i + 1;
        if (i == n)
            break;
        put_point(out, curves->points + 3 * (size_t)c[2 * i]);
        put_point(out, curves->points + 3 * (size_t)c[2 * i + 1]);
        for (; next < n && c[2 * next] == c[2 * next - 1]; next++)
            put_point(out, curves->points + 3 * (size_t)c[2 * next + 1]);
        put_mark(out, (double)NAN);
    }
    put_mark(out, (double)INFINITY);
    free(used);
}

const clv_surface_format clv_tck_format = {
    .ends = {".tck"},
    .framed = true,
    .is = is_tck,
    .read = read_tracks,
    .curves = true,
    .write_curves = write_tracks,
};
