/* SPDX-License-Identifier: Apache-2.0 */
/* Streamlines: MRtrix's tracks (.tck), read and written, and TrackVis' (.trk), read. Both state their frame:
 * the first RAS mm of the scanner, the second a matrix to it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/matrix.h"
#include "base/status.h"
#include "io/surface/file.h"

/* ---- MRtrix -------------------------------------------------------------- */

bool clv_tck_is(const uint8_t *data, size_t size)
{
    return size > 13 && !memcmp(data, "mrtrix tracks", 13);
}

static int wrong(const clv_surface_bytes *file, const char *format, const char *what)
{
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: the %s file %s, get a fresh copy", file->path, format, what);
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
                return wrong(file, "tracks",
                             typed ? "does not say where its points begin" : "has no datatype");
            if (out->offset < (size_t)(text.at - (const char *)file->data))
                return wrong(file, "tracks", "says that its points begin in its header");
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
                return wrong(file, "tracks", "says that its points begin where it has ended");
            out->offset = (size_t)offset;
            placed = true;
        }
        clv_words_line(&text);
    }
    status = wrong(file, "tracks", "has no END of its header");
end:
    return status;
}

int clv_tck_read(const clv_surface_bytes *file, clv_mesh *mesh)
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
    status = wrong(file, "tracks", "ends early");
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
void clv_tck_write(const clvox_shape *curves, clv_text *out)
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

/* ---- TrackVis ------------------------------------------------------------ */

enum {
    TRK_HEADER = 1000,
    TRK_DIM = 6,
    TRK_VOXEL = 12,
    TRK_SCALARS = 36,
    TRK_PROPERTIES = 238,
    TRK_MATRIX = 440,
    TRK_ORDER = 948,
    TRK_SIZE = 996
};

bool clv_trk_is(const uint8_t *data, size_t size)
{
    return size > 6 && !memcmp(data, "TRACK", 6);
}

/* The axis of R and L (0), A and P, S and I that a letter names, and whether it leads to R, A or S; -1:
 * none. */
static int axis_of(uint8_t letter, bool *positive)
{
    static const char letters[] = "RASLPI";
    const char *at = letter ? strchr(letters, letter) : NULL;
    *positive = at && at - letters < 3;
    return at ? (int)((at - letters) % 3) : -1;
}

/* Which RAS axis each voxel axis of a matrix runs along: those that together are nearest. */
static void axes_of(const double m[4][4], int axis[3])
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    double best = -1;
    for (int o = 0; o < 6; o++) {
        double sum = 0;
        for (int k = 0; k < 3; k++) {
            const int r = orders[o][k];
            const double length = sqrt(m[0][k] * m[0][k] + m[1][k] * m[1][k] + m[2][k] * m[2][k]);
            sum += length > 0 ? fabs(m[r][k]) / length : 0;
        }
        if (sum > best) {
            best = sum;
            memcpy(axis, orders[o], sizeof orders[o]);
        }
    }
}

/* From the mm of the file, whose origin is the corner of the first voxel in the storage that its letters
 * name, to RAS. */
static int trk_place(const clv_surface_bytes *file, bool big, double out[4][4])
{
    double m[4][4];
    int axis[3] = {0, 1, 2};
    const uint8_t *d = file->data;
    for (int i = 0; i < 16; i++) {
        m[i / 4][i % 4] = clv_number_at(d + TRK_MATRIX + 4 * i, CLV_FLOAT32, big);
        if (!isfinite(m[i / 4][i % 4]))
            return wrong(file, "TrackVis", "has a matrix that is not finite");
    }
    if (m[3][3] == 0)
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: the TrackVis file does not say where it lies (no vox_to_ras); convert it to .tck "
            "with its image",
            file->path);
    axes_of((const double(*)[4])m, axis);
    memset(out, 0, 16 * sizeof(double));
    out[3][3] = 1;
    for (int r = 0; r < 3; r++)
        out[r][3] = m[r][3];
    bool taken[3] = {false}, turned_axis = false;
    char order[4] = "", axes[4] = "";
    int exchanged = 0;
    for (int k = 0; k < 3; k++) {
        const double edge = clv_number_at(d + TRK_VOXEL + 4 * k, CLV_FLOAT32, big);
        const double voxels = clv_number_at(d + TRK_DIM + 2 * k, CLV_INT16, big);
        const uint8_t letter = d[TRK_ORDER] ? d[TRK_ORDER + k] : (uint8_t) "LPS"[k];
        bool positive;
        const int ras = axis_of(letter, &positive);
        if (!(edge > 0) || !isfinite(edge) || ras < 0 || taken[ras])
            return wrong(file, "TrackVis",
                         ras < 0 || taken[ras] ? "has a voxel order that does not name three axes"
                                               : "has voxels of no size");
        taken[ras] = true;
        int v = 0; /* the voxel axis of the matrix */
        while (axis[v] != ras)
            v++;
        const bool turned = (m[ras][v] > 0) != positive;
        order[k] = (char)letter;
        axes[v] = (m[ras][v] > 0 ? "RAS" : "LPI")[ras];
        exchanged += v != k;
        turned_axis = turned_axis || (v != k && turned);
        const double scale = turned ? -1 / edge : 1 / edge, shift = turned ? voxels - .5 : -.5;
        for (int r = 0; r < 3; r++) {
            out[r][k] = m[r][v] * scale;
            out[r][3] += m[r][v] * shift;
        }
    }
    /* nibabel, which writes most of these files, goes from one order to the other by the inverse of what
     * leads there: the same only where no axes are exchanged, or two of which none is turned. */
    if (exchanged == 3 || turned_axis)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: the voxel order %s of the TrackVis file is not the %s of its matrix, and "
                          "programs read such files differently; convert it to .tck with the one that "
                          "wrote it",
                          file->path, order, axes);
    if (!clv_matrix_regular(CLV_MATRIX(out)))
        return wrong(file, "TrackVis", "has a matrix without an inverse");
    return CLVOX_OK;
}

int clv_trk_read(const clv_surface_bytes *file, clv_mesh *mesh)
{
    int status = CLVOX_OK;
    double to_ras[4][4];
    const uint8_t *d = file->data;
    if (file->size < TRK_HEADER)
        return wrong(file, "TrackVis", "ends early");
    const bool big = clv_number_at(d + TRK_SIZE, CLV_INT32, false) != TRK_HEADER;
    if (clv_number_at(d + TRK_SIZE, CLV_INT32, big) != TRK_HEADER)
        return wrong(file, "TrackVis", "has a header of another size than 1000 bytes");
    const double scalars = clv_number_at(d + TRK_SCALARS, CLV_INT16, big),
                 properties = clv_number_at(d + TRK_PROPERTIES, CLV_INT16, big);
    if (!(scalars >= 0) || !(properties >= 0))
        return wrong(file, "TrackVis", "has a negative number of scalars or properties");
    CLV_TRY(trk_place(file, big, to_ras));
    const size_t step = 4 * (3 + (size_t)scalars), behind = 4 * (size_t)properties;
    for (size_t at = TRK_HEADER; at < file->size;) {
        const double count = file->size - at >= 4 ? clv_number_at(d + at, CLV_INT32, big) : -1;
        at += 4;
        if (!(count >= 0) || count * (double)step + (double)behind > (double)(file->size - at))
            return wrong(file, "TrackVis", "ends early");
        clv_mesh_face(mesh, false);
        for (double i = 0; i < count; i++, at += step) {
            double p[3], x[3];
            for (int k = 0; k < 3; k++)
                p[k] = clv_number_at(d + at + 4 * k, CLV_FLOAT32, big);
            for (int r = 0; r < 3; r++)
                x[r] = to_ras[r][0] * p[0] + to_ras[r][1] * p[1] + to_ras[r][2] * p[2] + to_ras[r][3];
            CLV_TRY(clv_mesh_point(mesh, x));
            CLV_TRY(clv_mesh_corner(mesh, (int64_t)mesh->vertices - 1));
        }
        at += behind;
    }
end:
    return status;
}
