/* SPDX-License-Identifier: Apache-2.0 */
/* NRRD, attached (.nrrd) and detached (.nhdr), in all its encodings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/matrix.h"
#include "base/status.h"
#include "io/volume/convert.h"
#include "io/volume/text_header.h"
#include "io/volume/format.h"

enum { MOST = CLV_MAX_AXES - 1, WORD = 40 };

/* The header as read, before it is known what it means. */
typedef struct nrrd {
    const char *path;
    clv_text_header text;
    int axes;
    int64_t size[MOST];
    char kind[MOST][WORD];
    double direction[MOST][3]; /* of axes in space, in the file's space */
    bool spatial[MOST];
    double sign[3];            /* from the file's space to RAS */
} nrrd;

static bool is(const uint8_t *bytes, size_t size)
{
    return size >= 8 && !memcmp(bytes, "NRRD000", 7);
}

/* A field by its name, which may be written without its space. */
static const char *get(const nrrd *n, const char *key)
{
    char joined[WORD];
    size_t length = 0;
    const char *value = clv_text_header_get(&n->text, key);
    for (const char *c = key; *c; c++)
        if (*c != ' ')
            joined[length++] = *c;
    joined[length] = 0;
    return value ? value : clv_text_header_get(&n->text, joined);
}

static int take_encoding(const nrrd *n, clv_volume_header *out)
{
    static const struct {
        const char *name;
        clv_packing packing;
    } encodings[] = {{"raw", CLV_PACKED_NOT},     {"gzip", CLV_PACKED_GZIP},   {"gz", CLV_PACKED_GZIP},
                     {"bzip2", CLV_PACKED_BZIP2}, {"bz2", CLV_PACKED_BZIP2},   {"hex", CLV_PACKED_HEX},
                     {"ascii", CLV_PACKED_TEXT},  {"text", CLV_PACKED_TEXT},   {"txt", CLV_PACKED_TEXT}};
    const char *encoding = get(n, "encoding");
    for (size_t i = 0; encoding && i < sizeof encodings / sizeof *encodings; i++)
        if (!strcasecmp(encoding, encodings[i].name)) {
            out->packing = encodings[i].packing;
            return CLVOX_OK;
        }
    return clvox_fail(CLVOX_ERROR_FORMAT,
                      "%s: its values are encoded as %.20s, which is none of NRRD's encodings", n->path,
                      encoding ? encoding : "nothing that it says");
}

static int take_type(const nrrd *n, clv_volume_header *out)
{
    static const struct {
        const char *names[9];
        clvox_type type;
    } types[] = {
        {{"signed char", "int8", "int8_t"}, CLVOX_TYPE_INT8},
        {{"uchar", "unsigned char", "uint8", "uint8_t"}, CLVOX_TYPE_UINT8},
        {{"short", "short int", "signed short", "signed short int", "int16", "int16_t"}, CLVOX_TYPE_INT16},
        {{"ushort", "unsigned short", "unsigned short int", "uint16", "uint16_t"}, CLVOX_TYPE_UINT16},
        {{"int", "signed int", "int32", "int32_t"}, CLVOX_TYPE_INT32},
        {{"uint", "unsigned int", "uint32", "uint32_t"}, CLVOX_TYPE_UINT32},
        {{"longlong", "long long", "long long int", "signed long long", "signed long long int", "int64", "int64_t"},
         CLVOX_TYPE_INT64},
        {{"ulonglong", "unsigned long long", "unsigned long long int", "uint64", "uint64_t"}, CLVOX_TYPE_UINT64},
        {{"float"}, CLVOX_TYPE_FLOAT32},
        {{"double"}, CLVOX_TYPE_FLOAT64},
    };
    const char *type = get(n, "type"), *endian = get(n, "endian");
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        for (int k = 0; k < 9 && types[i].names[k]; k++) {
            if (strcasecmp(type, types[i].names[k]))
                continue;
            out->type = types[i].type;
            bool big = endian && !strcasecmp(endian, "big"), little = endian && !strcasecmp(endian, "little");
            if (out->packing == CLV_PACKED_TEXT)
                return CLVOX_OK;
            if (clv_type_bytes(out->type) > 1 && !big && !little)
                return clv_header_damaged(n->path, "it does not say in which byte order (endian) its values are");
            out->swapped = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
            return CLVOX_OK;
        }
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: its type %.30s is not one that clvox reads", n->path,
                      type ? type : "is missing and");
}

static int take_sizes(nrrd *n)
{
    double number[MOST];
    const char *dimension = get(n, "dimension"), *sizes = get(n, "sizes");
    n->axes = sizes ? clv_text_numbers(sizes, number, MOST) : 0;
    if (n->axes < 1 || !dimension || atoi(dimension) != n->axes)
        return clv_header_damaged(n->path, "its sizes are not as many as its dimensions, 1 to %d", MOST);
    for (int a = 0; a < n->axes; a++)
        n->size[a] = fabs(number[a]) < 0x1p53 && number[a] == floor(number[a]) ? (int64_t)number[a] : -1;
    return CLVOX_OK;
}

/* The kinds of axes, "vector domain domain domain". */
static void take_kinds(nrrd *n)
{
    const char *text = get(n, "kinds");
    for (int a = 0; text && a < n->axes; a++) {
        text += strspn(text, " \t");
        size_t length = strcspn(text, " \t");
        snprintf(n->kind[a], WORD, "%.*s", length < WORD ? (int)length : WORD - 1, text);
        text += length;
    }
}

static bool in_space(const char *kind)
{
    return !*kind || !strcasecmp(kind, "domain") || !strcasecmp(kind, "space");
}

/* "none (1,0,0) (0,1,0) (0,0,1)": the axes of space and their steps. */
static int take_directions(nrrd *n, const char *text)
{
    int found = 0;
    for (int a = 0; a < n->axes; a++) {
        char part[256];
        text += strspn(text, " \t");
        size_t length = *text == '(' ? strcspn(text, ")") + 1 : strcspn(text, " \t");
        if (!*text || length >= sizeof part || length > strlen(text))
            return clv_header_damaged(n->path, "it has fewer space directions than axes");
        memcpy(part, text, length);
        part[length] = 0;
        text += length;
        double *d = n->direction[a];
        int count = *part == '(' ? clv_text_numbers(part, d, 3) : 0;
        if (*part == '(' && count < 1)
            return clv_header_damaged(n->path, "the direction of axis %d is not of three numbers", a + 1);
        n->spatial[a] = count > 0 && !isnan(d[0]);
        found += n->spatial[a];
    }
    if (found > 3)
        return clv_header_damaged(n->path, "it puts %d axes in space", found);
    return CLVOX_OK;
}

/* Without directions the axes run along those of space. */
static void take_spacings(nrrd *n)
{
    double spacing[MOST];
    const char *text = get(n, "spacings");
    int given = text ? clv_text_numbers(text, spacing, MOST) : 0, found = 0;
    for (int a = 0; a < n->axes; a++) {
        n->spatial[a] = found < 3 && in_space(n->kind[a]) && !(a < given && isnan(spacing[a]) && n->axes > 3);
        if (!n->spatial[a])
            continue;
        bool known = a < given && isfinite(spacing[a]) && spacing[a] != 0;
        n->direction[a][found++] = known ? spacing[a] : 1;
    }
}

static int take_space(nrrd *n)
{
    static const struct {
        const char *name, *letters;
        double sign[3];
    } spaces[] = {
        {"right-anterior-superior", "RAS", {1, 1, 1}},
        {"left-anterior-superior", "LAS", {-1, 1, 1}},
        {"left-posterior-superior", "LPS", {-1, -1, 1}},
    };
    const char *text = get(n, "space"), *directions = get(n, "space directions");
    int status = CLVOX_OK;
    memcpy(n->sign, spaces[2].sign, sizeof n->sign); /* the default of ITK */
    for (size_t s = 0; text && s < 3; s++) {
        size_t length = strlen(spaces[s].name);
        if ((!strncasecmp(text, spaces[s].name, length) && (!text[length] || text[length] == '-')) ||
            !strcasecmp(text, spaces[s].letters))
            memcpy(n->sign, spaces[s].sign, sizeof n->sign);
    }
    take_kinds(n);
    if (directions)
        status = take_directions(n, directions);
    else
        take_spacings(n);
    return status;
}

/* Axes that the file does not have stand across those that it has. */
static void complete(double m[4][4], int known)
{
    for (int a = known; a < 3; a++) {
        double v[3] = {0};
        if (a == 2) {
            for (int i = 0; i < 3; i++)
                v[i] = m[(i + 1) % 3][0] * m[(i + 2) % 3][1] - m[(i + 2) % 3][0] * m[(i + 1) % 3][1];
        } else {
            /* Across the first, in the plane of the world's axis that is farthest from it. */
            int far = fabs(m[0][0]) > fabs(m[1][0]) ? 1 : 0;
            v[(far + 1) % 3] = -m[(far + 2) % 3][0];
            v[(far + 2) % 3] = m[(far + 1) % 3][0];
        }
        double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        for (int i = 0; i < 3; i++)
            m[i][a] = length > 0 ? v[i] / length : 0;
    }
}

static double unit(const nrrd *n)
{
    const char *text = get(n, "space units");
    if (!text)
        return 1;
    return strstr(text, "\"um\"") || strstr(text, "icron") ? 1e-3
           : strstr(text, "\"cm\"")                        ? 10
           : strstr(text, "\"m\"") || strstr(text, "\"meter") ? 1000
                                                              : 1;
}

static int take_place(const nrrd *n, clv_volume_header *out)
{
    double origin[3] = {0};
    const char *text = get(n, "space origin");
    int column = 0;
    double (*m)[4] = out->grid.to_ras;
    if (text && clv_text_numbers(text, origin, 3) < 1)
        return clv_header_damaged(n->path, "its origin is not of three numbers");
    clv_matrix_identity(m);
    for (int a = 0; a < n->axes; a++) {
        for (int i = 0; n->spatial[a] && i < 3; i++)
            m[i][column] = n->direction[a][i];
        column += n->spatial[a];
    }
    complete(m, column);
    for (int i = 0; i < 3; i++) {
        m[i][3] = isnan(origin[i]) ? 0 : origin[i];
        for (int j = 0; j < 4; j++)
            m[i][j] *= n->sign[i] * unit(n);
    }
    return clv_matrix_regular(CLV_MATRIX(m))
               ? CLVOX_OK
               : clv_header_damaged(n->path, "its directions are singular or not finite, so that voxels have no place");
}

/* Meaning of a voxel's components. */
static int take_meaning(const nrrd *n, const char *kind, clv_volume_header *out)
{
    static const struct {
        const char *kind;
        int frames;
        clv_matrix_form form;
    } matrices[] = {{"3D-symmetric-matrix", 6, CLV_MATRIX_UPPER},
                    {"3D-masked-symmetric-matrix", 7, CLV_MATRIX_MASKED_UPPER},
                    {"3D-matrix", 9, CLV_MATRIX_FULL},
                    {"3D-masked-matrix", 10, CLV_MATRIX_MASKED_FULL}};
    double v[9];
    const char *text = get(n, "measurement frame");
    bool real = out->type == CLVOX_TYPE_FLOAT32 || out->type == CLVOX_TYPE_FLOAT64;
    bool colour = !strcasecmp(kind, "RGB-color") || !strcasecmp(kind, "RGBA-color") || !strcasecmp(kind, "3-color") ||
                  !strcasecmp(kind, "4-color");
    if (colour && out->type == CLVOX_TYPE_UINT8 && (out->frames == 3 || out->frames == 4))
        out->kind = CLVOX_KIND_COLOUR;
    if (out->frames == 3 && real && (!strcasecmp(kind, "vector") || !strcasecmp(kind, "covariant-vector"))) {
        out->kind = CLVOX_KIND_DISPLACEMENT;
        out->field = CLV_FIELD_ITK;
    }
    for (int k = 0; k < 4; k++)
        if (!strcasecmp(kind, matrices[k].kind) && out->frames == matrices[k].frames) {
            out->kind = CLVOX_KIND_TENSOR;
            out->matrix = matrices[k].form;
        }
    if (out->kind != CLVOX_KIND_TENSOR)
        return CLVOX_OK;
    for (int i = 0; i < 9; i++)
        v[i] = i % 4 == 0;
    if (text && clv_text_numbers(text, v, 9) != 9)
        return clv_header_damaged(n->path, "its measurement frame is not of nine numbers");
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            out->frame[i][k] = n->sign[i] * v[3 * k + i];
    return clv_matrix3_determinant(CLV_MATRIX3(out->frame)) != 0
               ? CLVOX_OK
               : clv_header_damaged(n->path, "its measurement frame is singular");
}

static int take_axes(const nrrd *n, clv_volume_header *out)
{
    int64_t size[MOST + 3];
    int count = 0, status;
    const char *kind = "";
    for (int a = 0; a < n->axes; a++)
        if (n->spatial[a] && count < 3)
            size[count++] = n->size[a];
    if (!count)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: has no axis in space: it is no volume", n->path);
    while (count < 3)
        size[count++] = 1;
    for (int a = 0; a < n->axes; a++)
        if (!n->spatial[a]) {
            size[count++] = n->size[a];
            kind = n->kind[a];
        }
    CLV_TRY(clv_header_sizes(n->path, size, count, out));
    int64_t step = 1, frame = (int64_t)clvox_grid_voxels(&out->grid);
    for (int a = 0; a < n->axes; a++) {
        int64_t *next = n->spatial[a] ? &step : &frame;
        out->axis[a] = (clv_axis){(size_t)n->size[a], *next};
        *next *= n->size[a];
    }
    /* Those of space first, and then the others, is the order of memory. */
    bool ordered = true;
    for (int a = 1; a < n->axes; a++)
        ordered = ordered && (n->spatial[a - 1] || !n->spatial[a]);
    out->axes = ordered ? 0 : n->axes;
    status = take_meaning(n, count == 4 ? kind : "", out);
end:
    return status;
}

/* Passes over lines of text, with which files of other kinds begin. */
static int skip_lines(const char *path, const char *data, long long lines, uint64_t *start)
{
    enum { CHUNK = 1 << 16 };
    int status;
    clv_source source = {.fd = -1};
    char *bytes = malloc(CHUNK);
    if (!bytes) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
        goto end;
    }
    CLV_TRY(clv_source_open_at(data, *start, CLV_PACKED_NOT, &source));
    for (uint64_t at = 0; lines;) {
        const size_t size = source.size - at < CHUNK ? (size_t)(source.size - at) : CHUNK;
        if (!size) {
            status = clv_header_damaged(path, "line skip is more than %s has lines", data);
            goto end;
        }
        CLV_TRY(clv_file_read_at(source.fd, data, bytes, size, *start + at));
        for (size_t i = 0; i < size && lines; i++, at++)
            if (bytes[i] == '\n' && !--lines) {
                *start += at + 1;
                break;
            }
    }
end:
    clv_source_close(&source);
    free(bytes);
    return status;
}

static int take_file(const clv_source *source, const nrrd *n, clv_volume_header *out)
{
    const char *file = get(n, "data file"), *skip = get(n, "byte skip"), *lines = get(n, "line skip");
    const long long bytes = skip ? strtoll(skip, NULL, 10) : 0, skipped = lines ? strtoll(lines, NULL, 10) : 0;
    const bool raw = out->packing == CLV_PACKED_NOT;
    int status = CLVOX_OK;
    if (bytes < -1 || (bytes < 0 && !raw))
        return clv_header_damaged(n->path, "byte skip is %lld", bytes);
    if (skipped < 0)
        return clv_header_damaged(n->path, "line skip is %lld", skipped);
    if (file && (!strncasecmp(file, "LIST", 4) || strchr(file, '%')))
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: has its values in several files; join them with unu save -f nrrd", n->path);
    out->at_end = bytes < 0;
    out->offset = bytes > 0 ? (uint64_t)bytes : 0;
    if (file) {
        CLV_TRY(clv_beside(n->path, file, &out->data));
    } else if (source->gzip) {
        /* The whole file is compressed. */
        if (!raw || skipped)
            return clvox_fail(CLVOX_ERROR_FORMAT,
                              "%s: is compressed around values that are encoded already; decompress the "
                              "file once",
                              n->path);
        out->packing = CLV_PACKED_BY_CONTENT;
        out->offset += n->text.length;
        return CLVOX_OK;
    } else {
        out->start = n->text.length;
    }
    if (skipped && bytes >= 0)
        CLV_TRY(skip_lines(n->path, out->data ? out->data : source->path, skipped, &out->start));
    /* Bytes are those of the file, but of what is compressed those behind it. */
    if (out->packing == CLV_PACKED_HEX || out->packing == CLV_PACKED_TEXT) {
        out->start += out->offset;
        out->offset = 0;
    }
end:
    return status;
}

static int parse(const clv_source *source, const uint8_t *bytes, size_t size, clv_volume_header *out)
{
    int status;
    nrrd n = {.path = source->path};
    if (!is(bytes, size))
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: is not an NRRD file, despite its name", source->path);
    /* A detached header may end with its file. */
    bool detached = size < CLV_TEXT_HEADER &&
                    (memmem(bytes, size, "data file:", 10) || memmem(bytes, size, "datafile:", 9));
    CLV_TRY(clv_text_header_parse(n.path, bytes, size, "", detached, &n.text));
    CLV_TRY(take_encoding(&n, out));
    CLV_TRY(take_type(&n, out));
    CLV_TRY(take_sizes(&n));
    CLV_TRY(take_space(&n));
    CLV_TRY(take_axes(&n, out));
    CLV_TRY(take_place(&n, out));
    CLV_TRY(take_file(source, &n, out));
end:
    clv_text_header_free(&n.text);
    return status;
}

const clv_volume_format clv_nrrd_format = {
    .ends = {".nrrd", ".nhdr"},
    .head = CLV_TEXT_HEADER,
    .is = is,
    .parse = parse,
};
