/* SPDX-License-Identifier: Apache-2.0 */
/* MetaImage: .mha, which holds its values, and .mhd, which names their file. Positions are LPS, as ITK has
 * them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "io/volume/convert.h"
#include "io/plain.h"
#include "io/volume/text_header.h"
#include "io/volume/format.h"

enum { MOST = 4, ROOM = 512 };

static const double lps[3] = {-1, -1, 1};

static const struct {
    const char *name;
    clvox_type type;
} types[] = {{"MET_FLOAT", CLVOX_TYPE_FLOAT32},   {"MET_DOUBLE", CLVOX_TYPE_FLOAT64},
             {"MET_CHAR", CLVOX_TYPE_INT8},       {"MET_UCHAR", CLVOX_TYPE_UINT8},
             {"MET_SHORT", CLVOX_TYPE_INT16},     {"MET_USHORT", CLVOX_TYPE_UINT16},
             {"MET_INT", CLVOX_TYPE_INT32},       {"MET_UINT", CLVOX_TYPE_UINT32},
             {"MET_LONG_LONG", CLVOX_TYPE_INT64}, {"MET_ULONG_LONG", CLVOX_TYPE_UINT64},
             {"MET_LONG", CLVOX_TYPE_INT32},      {"MET_ULONG", CLVOX_TYPE_UINT32}};
enum { TYPES = sizeof types / sizeof *types };

/* Its lines "Key = Value", of which the last names the file. */
typedef struct meta {
    const char *path;
    const char *text, *end;
    char value[ROOM]; /* the last answer of get */
} meta;

static const char *line_end(const meta *m, const char *line)
{
    const char *end = memchr(line, '\n', (size_t)(m->end - line));
    return end ? end : m->end;
}

/* The value of the first line with one of two keys, until the next question; NULL: there is none. */
static const char *get(meta *m, const char *key, const char *other)
{
    for (const char *line = m->text, *next; line < m->end; line = next + (next < m->end)) {
        next = line_end(m, line);
        size_t length = 0;
        while (line + length < next && line[length] != ' ' && line[length] != '\t' && line[length] != '=')
            length++;
        const char *equals = memchr(line, '=', (size_t)(next - line));
        bool same = (strlen(key) == length && !strncasecmp(line, key, length)) ||
                    (other && strlen(other) == length && !strncasecmp(line, other, length));
        if (!same || !equals)
            continue;
        const char *from = equals + 1, *to = next;
        while (from < to && (*from == ' ' || *from == '\t'))
            from++;
        while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r'))
            to--;
        snprintf(m->value, ROOM, "%.*s", to - from < ROOM ? (int)(to - from) : ROOM - 1, from);
        return m->value;
    }
    return NULL;
}

static bool is_true(const char *value)
{
    return value && (*value == 'T' || *value == 't' || *value == '1');
}

/* So many numbers; false where the key is there and holds others. Without it they stay. */
static bool numbers(meta *m, const char *key, const char *other, double *out, int count)
{
    const char *value = get(m, key, other);
    return !value || clv_text_numbers(value, out, count) == count;
}

static bool is(const uint8_t *bytes, size_t size)
{
    static const char first[] = "ObjectType";
    return size > sizeof first && !memcmp(bytes, first, sizeof first - 1) &&
           strchr(" \t=", bytes[sizeof first - 1]);
}

static int take_type(meta *m, int channels, clv_volume_header *out)
{
    const bool big = is_true(get(m, "BinaryDataByteOrderMSB", "ElementByteOrderMSB"));
    const char *type = get(m, "ElementType", NULL);
    out->swapped = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    for (int t = 0; type && t < TYPES; t++) {
        const size_t length = strlen(types[t].name);
        if (strncmp(type, types[t].name, length) || (type[length] && strcmp(type + length, "_ARRAY")))
            continue;
        out->type = types[t].type;
        const bool real = out->type == CLVOX_TYPE_FLOAT32 || out->type == CLVOX_TYPE_FLOAT64;
        if (channels == 3 && real) {
            out->kind = CLVOX_KIND_DISPLACEMENT;
            out->field = CLV_FIELD_ITK;
        } else if ((channels == 3 || channels == 4) && out->type == CLVOX_TYPE_UINT8) {
            out->kind = CLVOX_KIND_COLOUR;
        }
        return CLVOX_OK;
    }
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: its element type %.30s is not one that clvox reads", m->path,
                      type ? type : "is missing and");
}

/* Sizes, and components, which stand together in the file. */
static int take_axes(meta *m, int dims, clv_volume_header *out)
{
    double number[MOST], channels = 1;
    int64_t size[MOST + 1] = {1, 1, 1, 1};
    int status, count = dims < 3 ? 3 : dims;
    if (!get(m, "DimSize", NULL) || !numbers(m, "DimSize", NULL, number, dims))
        return clv_header_damaged(m->path, "its DimSize is not %d numbers", dims);
    if (!numbers(m, "ElementNumberOfChannels", NULL, &channels, 1) || !(channels >= 1 && channels < 1e6) ||
        channels != floor(channels))
        return clv_header_damaged(m->path, "its number of channels is none");
    for (int a = 0; a < dims; a++)
        size[a] = fabs(number[a]) < 0x1p53 && number[a] == floor(number[a]) ? (int64_t)number[a] : -1;
    CLV_TRY(take_type(m, dims < 4 ? (int)channels : 0, out));
    if (channels > 1)
        size[count++] = (int64_t)channels;
    CLV_TRY(clv_header_sizes(m->path, size, count, out));
    if (channels > 1) {
        const size_t values = clvox_grid_voxels(&out->grid) * (size_t)(dims < 4 ? 1 : size[3]);
        out->axes = 2;
        out->axis[0] = (clv_axis){(size_t)channels, (int64_t)values};
        out->axis[1] = (clv_axis){values, 1};
    }
end:
    return status;
}

static int take_place(meta *m, int dims, clv_volume_header *out)
{
    double origin[MOST] = {0}, spacing[MOST] = {1, 1, 1, 1}, turn[MOST * MOST] = {0};
    double(*to)[4] = out->grid.to_ras;
    const bool edges = get(m, "ElementSpacing", NULL) != NULL;
    for (int a = 0; a < dims; a++)
        turn[a * dims + a] = 1;
    if (!numbers(m, edges ? "ElementSpacing" : "ElementSize", NULL, spacing, dims) ||
        !numbers(m, "Offset", "Position", origin, dims) ||
        (!get(m, "Offset", "Position") && !numbers(m, "Origin", NULL, origin, dims)) ||
        !numbers(m, "TransformMatrix", "Rotation", turn, dims * dims) ||
        (!get(m, "TransformMatrix", "Rotation") && !numbers(m, "Orientation", NULL, turn, dims * dims)))
        return clv_header_damaged(m->path, "its spacing, offset and matrix are not those of %d dimensions",
                                  dims);
    clv_matrix_identity(to);
    for (int i = 0; i < 3; i++) {
        for (int a = 0; a < 3; a++)
            to[i][a] = lps[i] * (i < dims && a < dims ? turn[a * dims + i] * spacing[a] : i == a) + 0.0;
        to[i][3] = i < dims ? lps[i] * origin[i] + 0.0 : 0;
    }
    return clv_matrix_regular(CLV_MATRIX(to))
               ? CLVOX_OK
               : clv_header_damaged(m->path,
                                    "its axes are singular or not finite, so that voxels have no place");
}

static int take_file(const clv_source *source, meta *m, size_t length, clv_volume_header *out)
{
    char file[ROOM];
    double skipped = 0;
    snprintf(file, sizeof file, "%s", get(m, "ElementDataFile", NULL));
    const char *binary = get(m, "BinaryData", NULL);
    const bool local = !strcasecmp(file, "LOCAL"), text = binary && !is_true(binary);
    if (!*file || !strncasecmp(file, "LIST", 4) || strchr(file, '%') || strpbrk(file, " \t"))
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: has its values in several files; join them into one .mha or .nii.gz, for "
                          "instance with SimpleITK",
                          m->path);
    if (!numbers(m, "HeaderSize", NULL, &skipped, 1) || !(skipped >= -1 && skipped < 0x1p53))
        return clv_header_damaged(m->path, "its HeaderSize is none");
    out->packing = text                                      ? CLV_PACKED_TEXT
                   : is_true(get(m, "CompressedData", NULL)) ? CLV_PACKED_ZLIB
                                                             : CLV_PACKED_NOT;
    if (local && source->gzip) {
        if (out->packing != CLV_PACKED_NOT)
            return clvox_fail(
                CLVOX_ERROR_FORMAT,
                "%s: is compressed around values that are encoded already; decompress the file once",
                m->path);
        out->packing = CLV_PACKED_BY_CONTENT;
        out->offset = length;
        return CLVOX_OK;
    }
    out->at_end = !local && skipped < 0 && out->packing == CLV_PACKED_NOT;
    out->start = local ? length : skipped > 0 ? (uint64_t)skipped : 0;
    return local ? CLVOX_OK : clv_beside(m->path, file, &out->data);
}

static int parse(const clv_source *source, const uint8_t *bytes, size_t size, clv_volume_header *out)
{
    int status;
    meta m = {.path = source->path, .text = (const char *)bytes, .end = (const char *)bytes + size};
    const char *last = m.text, *object;
    double dims = 0;
    /* The values of a LOCAL file follow the line that says so. */
    while (last < m.end &&
           strncasecmp(last, "ElementDataFile", m.end - last < 15 ? (size_t)(m.end - last) : 15)) {
        last = line_end(&m, last);
        last += last < m.end;
    }
    if (m.end - last < 15)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: is no MetaImage, or its header does not end, get a fresh copy", m.path);
    m.end = line_end(&m, last);
    const size_t length = (size_t)(m.end - m.text) + 1;
    object = get(&m, "ObjectType", NULL);
    if ((object && strcasecmp(object, "Image")) || !get(&m, "ElementDataFile", NULL))
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: is a MetaIO file of another kind than MetaImage", m.path);
    if (!numbers(&m, "NDims", NULL, &dims, 1) || !(dims == 2 || dims == 3 || dims == 4))
        return clv_header_damaged(m.path, "%g dimensions, 2 to 4 are possible", dims);
    CLV_TRY(take_axes(&m, (int)dims, out));
    CLV_TRY(take_place(&m, (int)dims, out));
    status = take_file(source, &m, length, out);
end:
    return status;
}

/* ---- writing ------------------------------------------------------------ */

static void print_vector(FILE *to, const char *key, const double *x, int count)
{
    fprintf(to, "%s =", key);
    for (int i = 0; i < count; i++)
        fprintf(to, " %.17g", x[i] + 0.0);
    fputc('\n', to);
}

static void print(FILE *to, const clvox_volume *v, const char *type)
{
    const bool together = v->kind == CLVOX_KIND_DISPLACEMENT || v->kind == CLVOX_KIND_COLOUR;
    const int dims = v->frames > 1 && !together ? 4 : 3;
    double spacing[4] = {1, 1, 1, 1}, origin[4] = {0}, turn[16] = {0}, none[4] = {0};
    clvox_grid_spacing(&v->grid, spacing);
    for (int a = 0; a < dims; a++)
        for (int i = 0; i < dims; i++)
            turn[a * dims + i] = a == 3 || i == 3 ? a == i : lps[i] * v->grid.to_ras[i][a] / spacing[a];
    for (int i = 0; i < 3; i++)
        origin[i] = lps[i] * v->grid.to_ras[i][3];
    fprintf(to,
            "ObjectType = Image\nNDims = %d\nBinaryData = True\nBinaryDataByteOrderMSB = "
            "False\nCompressedData = False\n",
            dims);
    print_vector(to, "TransformMatrix", turn, dims * dims);
    print_vector(to, "Offset", origin, dims);
    print_vector(to, "CenterOfRotation", none, dims);
    print_vector(to, "ElementSpacing", spacing, dims);
    fprintf(to, "DimSize = %d %d %d", v->grid.size[0], v->grid.size[1], v->grid.size[2]);
    fprintf(to, dims > 3 ? " %d\n" : "\nElementNumberOfChannels = %d\n", v->frames);
    fprintf(to, "ElementType = %s\nElementDataFile = LOCAL\n", type);
}

static int make(const char *path, const clvox_volume *v, int intent, clv_volume_header *out, uint8_t **bytes,
                size_t *size)
{
    const size_t voxels = clvox_grid_voxels(&v->grid);
    int t = 0;
    if (!clv_ends_in(path, ".mha"))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "%s: MetaImages are written as .mha, header and values in one file", path);
    if (intent || v->kind == CLVOX_KIND_TENSOR)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: %s cannot be kept in a MetaImage; name a .nii.gz file",
                          path,
                          v->kind == CLVOX_KIND_TENSOR ? "tensors" : "a warp of another form than ITK's");
    out->type = v->kind == CLVOX_KIND_COLOUR ? CLVOX_TYPE_UINT8 : v->type;
    if (v->kind == CLVOX_KIND_DISPLACEMENT && out->type != CLVOX_TYPE_FLOAT64)
        out->type = CLVOX_TYPE_FLOAT32;
    out->swapped = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    while (types[t].type != out->type)
        t++;
    if (v->kind == CLVOX_KIND_DISPLACEMENT || v->kind == CLVOX_KIND_COLOUR) {
        out->field = v->kind == CLVOX_KIND_DISPLACEMENT ? CLV_FIELD_ITK : CLV_FIELD_NONE;
        out->axes = 2;
        out->axis[0] = (clv_axis){(size_t)v->frames, (int64_t)voxels};
        out->axis[1] = (clv_axis){voxels, 1};
    }
    char *text = NULL;
    FILE *to = open_memstream(&text, size);
    if (to) {
        clv_plain plain = clv_plain_begin();
        print(to, v, types[t].name);
        clv_plain_end(plain);
    }
    const bool whole = to && !fclose(to);
    *bytes = (uint8_t *)text;
    return whole ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
}

const clv_volume_format clv_meta_format = {
    .ends = {".mha", ".mhd"},
    .head = CLV_TEXT_HEADER,
    .is = is,
    .parse = parse,
    .make = make,
};
