/* SPDX-License-Identifier: Apache-2.0 */
/* MRtrix's MIF: .mif, .mif.gz, and .mih with its values elsewhere. The
 * transform takes millimetres along the axes, in the order in which the header
 * names them, to the scanner's RAS; the layout says how they are stored. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "io/volume/mif.h"
#include "io/volume/text_header.h"
#include "io/volume/format.h"

#define MAGIC "mrtrix image"

static bool is(const uint8_t *bytes, size_t size)
{
    size_t length = strlen(MAGIC);
    return size > length && !memcmp(bytes, MAGIC, length) && (bytes[length] == '\n' || bytes[length] == '\r');
}

static int get(const char *path, const clv_text_header *h, const char *key, const char **value)
{
    *value = clv_text_header_get(h, key);
    return *value ? CLVOX_OK : clv_header_damaged(path, "it has no line \"%s\"", key);
}

static int take_type(const char *path, const char *text, clv_volume_header *out)
{
    static const struct {
        const char *name;
        clvox_type type;
    } types[] = {{"Float32", CLVOX_TYPE_FLOAT32}, {"Float64", CLVOX_TYPE_FLOAT64}, {"Int8", CLVOX_TYPE_INT8},
                 {"UInt8", CLVOX_TYPE_UINT8},     {"Int16", CLVOX_TYPE_INT16},     {"UInt16", CLVOX_TYPE_UINT16},
                 {"Int32", CLVOX_TYPE_INT32},     {"UInt32", CLVOX_TYPE_UINT32},   {"Int64", CLVOX_TYPE_INT64},
                 {"UInt64", CLVOX_TYPE_UINT64},   {"Bit", CLVOX_TYPE_UINT8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t length = strlen(types[i].name);
        const char *order = text + length;
        if (strncasecmp(text, types[i].name, length) || (*order && strcasecmp(order, "LE") && strcasecmp(order, "BE")))
            continue;
        out->type = types[i].type;
        out->bits = !strcmp(types[i].name, "Bit");
        bool big = *order ? *order == 'B' || *order == 'b' : __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
        out->swapped = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
        return CLVOX_OK;
    }
    return clvox_fail(
        CLVOX_ERROR_FORMAT,
        "%s: its data type %.20s is none that clvox reads; convert it with mrconvert -datatype float32", path,
        text);
}

/* "-0,-1,+2": for each axis its rank, from the fastest, and whether it runs backwards. */
static int take_layout(const char *path, const char *text, const int64_t *size, int axes, clv_volume_header *out)
{
    int rank[CLV_MAX_AXES], taken = 0;
    bool back[CLV_MAX_AXES];
    int64_t step = 1;
    for (int a = 0; a < axes; a++) {
        char *end;
        back[a] = *text == '-';
        text += *text == '-' || *text == '+';
        long r = strtol(text, &end, 10);
        if (end == text || r < 0 || r >= axes || taken >> r & 1 || *end != (a + 1 < axes ? ',' : 0))
            return clv_header_damaged(path, "its layout is not an order of %d axes", axes);
        rank[a] = (int)r;
        taken |= 1 << r;
        text = end + 1;
    }
    out->axes = axes;
    for (int a = 0; a < axes; a++) {
        out->axis[rank[a]] = (clv_axis){(size_t)size[a], back[a] ? -step : step};
        if (back[a])
            out->first += (size_t)((size[a] - 1) * step);
        step *= size[a];
    }
    bool plain = !out->bits;
    for (int a = 0; a < axes; a++)
        plain = plain && rank[a] == a && !back[a];
    if (plain)
        out->axes = 0;
    return CLVOX_OK;
}

static int take_place(const char *path, const clv_text_header *h, clv_volume_header *out)
{
    const char *text = clv_text_header_get(h, "vox");
    double vox[CLV_MAX_AXES] = {0}, m[4][4], row[4];
    int rows = 0;
    if (text && clv_text_numbers(text, vox, CLV_MAX_AXES) < 0)
        return clv_header_damaged(path, "its voxel sizes are no numbers");
    for (int i = 0; i < 3; i++)
        vox[i] = isfinite(vox[i]) && vox[i] > 0 ? vox[i] : 1;
    clv_matrix_identity(m);
    for (int i = 0; i < h->count; i++) {
        if (strcasecmp(h->key[i], "transform"))
            continue;
        if (clv_text_numbers(h->value[i], row, 4) != 4)
            return clv_header_damaged(path, "its transform is not three rows of four numbers");
        if (rows < 3)
            memcpy(m[rows], row, sizeof row);
        rows++;
    }
    if (rows && rows != 3 && rows != 4)
        return clv_header_damaged(path, "its transform has %d rows of three", rows);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            out->grid.to_ras[i][j] = j < 3 ? m[i][j] * vox[j] : m[i][j];
    out->grid.to_ras[3][3] = 1;
    /* Without a transform, the middle of the image is that of the world. */
    for (int i = 0; i < 3 && !rows; i++)
        out->grid.to_ras[i][3] = -0.5 * vox[i] * (out->grid.size[i] - 1);
    if (vox[3] > 0 && isfinite(vox[3]) && out->frames > 1)
        out->frame_seconds = vox[3];
    return clv_matrix_regular(CLV_MATRIX(out->grid.to_ras))
               ? CLVOX_OK
               : clv_header_damaged(path, "its transform is singular or not finite, so that voxels have no place");
}

/* "file: . 1234": this file, from that byte on; or the name of another beside it. */
static int take_file(const char *path, const clv_text_header *h, clv_volume_header *out)
{
    const char *text;
    char name[1024], *end;
    int files = 0, status;
    unsigned long long offset = 0;
    CLV_TRY(get(path, h, "file", &text));
    for (int i = 0; i < h->count; i++)
        files += !strcasecmp(h->key[i], "file");
    if (files > 1)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: has its values in %d files; join them with mrconvert into one .mif", path,
                          files);
    snprintf(name, sizeof name, "%s", text);
    /* A name may hold spaces: what follows the last one is the offset, if it is a number. */
    char *space = strrchr(name, ' ');
    if (space) {
        offset = strtoull(space + 1, &end, 10);
        if (end == space + 1 || *end || offset > INT64_MAX)
            return clv_header_damaged(path, "the values start at byte \"%.30s\"", space + 1);
        *space = 0;
    }
    out->offset = offset;
    if (strcmp(name, ".")) {
        out->packing = CLV_PACKED_NOT;
        status = clv_beside(path, name, &out->data);
    } else if (out->offset < h->length) {
        return clv_header_damaged(path, "the values start at byte %llu, inside of it", offset);
    }
end:
    return status;
}

static int parse(const clv_source *source, const uint8_t *bytes, size_t size, clv_volume_header *out)
{
    int status, axes;
    const char *path = source->path, *text;
    double number[CLV_MAX_AXES], scaling[2];
    int64_t dim[CLV_MAX_AXES];
    clv_text_header h = {.text = NULL};
    if (!is(bytes, size))
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: is not an MRtrix image, despite its name", path);
    CLV_TRY(clv_text_header_parse(path, bytes, size, "END", false, &h));
    CLV_TRY(get(path, &h, "datatype", &text));
    CLV_TRY(take_type(path, text, out));
    CLV_TRY(get(path, &h, "dim", &text));
    axes = clv_text_numbers(text, number, CLV_MAX_AXES - 1);
    if (axes < 1) {
        status = clv_header_damaged(path, "its dimensions are not 1 to 7 numbers");
        goto end;
    }
    for (int i = 0; i < axes; i++)
        dim[i] = fabs(number[i]) < 0x1p53 && number[i] == floor(number[i]) ? (int64_t)number[i] : -1;
    CLV_TRY(clv_header_sizes(path, dim, axes, out));
    CLV_TRY(get(path, &h, "layout", &text));
    CLV_TRY(take_layout(path, text, dim, axes, out));
    CLV_TRY(take_place(path, &h, out));
    text = clv_text_header_get(&h, "scaling");
    if (text) {
        if (clv_text_numbers(text, scaling, 2) != 2 || !isfinite(scaling[0]) || !isfinite(scaling[1])) {
            status = clv_header_damaged(path, "its scaling is not two numbers");
            goto end;
        }
        out->inter = scaling[0];
        out->slope = scaling[1];
    }
    CLV_TRY(take_file(path, &h, out));
end:
    clv_text_header_free(&h);
    return status;
}

const clv_volume_format clv_mif_format = {
    .ends = {".mif", ".mih"},
    .head = CLV_TEXT_HEADER,
    .is = is,
    .parse = parse,
};

int clv_mif_gradients(const char *path, char **out)
{
    int status;
    clv_source source = {.fd = -1};
    uint8_t *bytes = malloc(CLV_TEXT_HEADER);
    size_t got, used = 0;
    clv_text_header h = {.text = NULL};
    *out = NULL;
    if (!bytes)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
    /* The reader of the table reports what cannot be read. */
    status = CLVOX_OK;
    if (clv_source_open(path, &source) < 0 || clv_source_head(&source, bytes, sizeof MAGIC, &got) < 0 || !is(bytes, got))
        goto end;
    CLV_TRY(clv_source_head(&source, bytes, CLV_TEXT_HEADER, &got));
    CLV_TRY(clv_text_header_parse(path, bytes, got, "END", false, &h));
    *out = calloc(1, got + 1);
    if (!*out) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
        goto end;
    }
    for (int i = 0; i < h.count; i++)
        if (!strcasecmp(h.key[i], "dw_scheme"))
            used += (size_t)sprintf(*out + used, "%s\n", h.value[i]);
    if (!used)
        status =
            clvox_fail(CLVOX_ERROR_FORMAT, "%s: holds no gradients (dw_scheme); give them as a table", path);
end:
    if (status < 0) {
        free(*out);
        *out = NULL;
    }
    clv_text_header_free(&h);
    clv_source_close(&source);
    free(bytes);
    return status;
}
