/* SPDX-License-Identifier: Apache-2.0 */
/* FreeSurfer's MGH and MGZ. Everything has its high byte first; the header
 * fills 284 bytes, parameters of the scan and tags may follow the values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "io/volume/format.h"

enum { HEADER = 284, INTENT_WARP = 4, INTENT_WARP_INVERSE = 5 };

static uint32_t word(const uint8_t *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static double number(const uint8_t *b)
{
    uint32_t bits = word(b);
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

/* Numbers of FreeSurfer's types; those that are missing in the list are read by nobody. */
static const struct {
    int code;
    clvox_type type;
} types[] = {{0, CLVOX_TYPE_UINT8}, {1, CLVOX_TYPE_INT32},   {3, CLVOX_TYPE_FLOAT32},
             {4, CLVOX_TYPE_INT16}, {10, CLVOX_TYPE_UINT16}};
enum { TYPES = sizeof types / sizeof *types };

static bool is(const uint8_t *b, size_t size)
{
    /* The version is 1; later versions keep an intent in the bytes above. */
    return size >= HEADER && !b[0] && !b[1] && b[3] == 1 && word(b + 20) <= 16;
}

/* Voxel (i, j, k) lies at c_ras + axes spacing ((i, j, k) - size / 2). */
static int place(const char *path, const uint8_t *b, clv_volume_header *out)
{
    static const double coronal[9] = {-1, 0, 0, 0, 0, -1, 0, 1, 0};
    double (*m)[4] = out->grid.to_ras;
    bool good = b[28] || b[29];
    clv_matrix_identity(m);
    for (int i = 0; i < 3; i++)
        m[i][3] = good ? number(b + 78 + 4 * i) : 0;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) {
            double edge = good ? number(b + 30 + 4 * j) : 1;
            double axis = good ? number(b + 42 + 12 * j + 4 * i) : coronal[3 * j + i];
            m[i][j] = axis * edge;
            m[i][3] -= m[i][j] * out->grid.size[j] / 2.0;
        }
    return clv_matrix_regular(CLV_MATRIX(m))
               ? CLVOX_OK
               : clv_header_damaged(path, "its axes are singular or not finite, so that voxels have no place");
}

static int parse(const clv_source *source, const uint8_t *b, size_t size, clv_volume_header *out)
{
    const char *path = source->path;
    int64_t dim[4];
    int code = size < HEADER ? 0 : (int)word(b + 20), intent, t = 0, status;
    if (size < HEADER)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: is not an MGH file or is cut short (%zu bytes, a header has 284)", path, size);
    if (b[3] != 1 || b[0])
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: is not a FreeSurfer MGH file, despite its name", path);
    intent = b[1] << 8 | b[2];
    if (intent == INTENT_WARP || intent == INTENT_WARP_INVERSE)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: is a FreeSurfer warp, which clvox does not read; convert it with "
                          "mri_warp_convert --outitk",
                          path);
    while (t < TYPES && types[t].code != code)
        t++;
    if (t == TYPES)
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: its data type %d is none that clvox reads; convert it with mri_convert -odt float", path,
            code);
    out->type = types[t].type;
    for (int i = 0; i < 4; i++)
        dim[i] = (int32_t)word(b + 4 + 4 * i);
    CLV_TRY(clv_header_sizes(path, dim, 4, out));
    CLV_TRY(place(path, b, out));
    out->swapped = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    out->offset = HEADER;
end:
    return status;
}

static void put(uint8_t *b, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        b[i] = (uint8_t)(x >> (24 - 8 * i));
}

static void put_number(uint8_t *b, double x)
{
    float value = (float)x;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(b, bits);
}

/* The type that holds all values of another, as far as there is one. UINT16 is new to FreeSurfer 7. */
static clvox_type kept_in(const clvox_volume *v)
{
    switch (v->type) {
    case CLVOX_TYPE_UINT8:
    case CLVOX_TYPE_INT16:
    case CLVOX_TYPE_INT32: return v->type;
    case CLVOX_TYPE_INT8: return CLVOX_TYPE_INT16;
    case CLVOX_TYPE_UINT16:
    case CLVOX_TYPE_UINT32:
    case CLVOX_TYPE_INT64:
    case CLVOX_TYPE_UINT64: return CLVOX_TYPE_INT32;
    default: return CLVOX_TYPE_FLOAT32;
    }
}

static int make(const char *path, const clvox_volume *v, int intent, clv_volume_header *out, uint8_t **bytes,
                size_t *size)
{
    double spacing[3];
    uint8_t *b;
    int t = 0;
    if (intent || v->kind == CLVOX_KIND_DISPLACEMENT || v->kind == CLVOX_KIND_TENSOR ||
        v->kind == CLVOX_KIND_COLOUR)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "%s: %s cannot be kept in FreeSurfer's MGH; name a .nii.gz file", path,
                          v->kind == CLVOX_KIND_TENSOR   ? "tensors"
                          : v->kind == CLVOX_KIND_COLOUR ? "colours"
                                                         : "a warp");
    *bytes = b = calloc(1, HEADER);
    if (!b)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
    out->type = kept_in(v);
    out->swapped = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    while (types[t].type != out->type)
        t++;
    clvox_grid_spacing(&v->grid, spacing);
    put(b, 1);
    for (int i = 0; i < 3; i++)
        put(b + 4 + 4 * i, (uint32_t)v->grid.size[i]);
    put(b + 16, (uint32_t)v->frames);
    put(b + 20, (uint32_t)types[t].code);
    b[29] = 1;
    for (int i = 0; i < 3; i++) {
        double centre = v->grid.to_ras[i][3];
        for (int j = 0; j < 3; j++) {
            centre += v->grid.to_ras[i][j] * v->grid.size[j] / 2.0;
            put_number(b + 42 + 12 * j + 4 * i, v->grid.to_ras[i][j] / spacing[j]);
        }
        put_number(b + 30 + 4 * i, spacing[i]);
        put_number(b + 78 + 4 * i, centre);
    }
    *size = HEADER;
    return CLVOX_OK;
}

const clv_volume_format clv_mgh_format = {
    .ends = {".mgz", ".mgh"},
    .head = HEADER,
    .is = is,
    .parse = parse,
    .make = make,
};
