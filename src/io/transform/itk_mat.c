/* SPDX-License-Identifier: Apache-2.0 */
/* ITK's binary transforms, MATLAB 4 files of two vectors, as ANTs writes them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/status.h"
#include "io/transform/itk.h"

enum { MOST = 16, ROOM = 1024 }; /* numbers of a vector, bytes of a file */

/* One vector of the file. */
typedef struct record {
    char name[128];
    int count;
    double values[MOST];
} record;

static uint32_t word(const char *bytes, bool big)
{
    uint32_t x;
    memcpy(&x, bytes, 4);
    return big == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? x : __builtin_bswap32(x);
}

/* Reads a record, which may hold no number; returns its length in bytes or 0.
 * Its first word is MOPT in decimal digits: M the byte order, P 0 for double
 * and 1 for single. */
static size_t next_record(const char *bytes, size_t left, record *out)
{
    if (left < 20)
        return 0;
    bool big = word(bytes, false) > 9999;
    uint32_t type = word(bytes, big), rows = word(bytes + 4, big), columns = word(bytes + 8, big);
    uint32_t imaginary = word(bytes + 12, big), name = word(bytes + 16, big);
    uint32_t order = type / 1000, precision = type / 10 % 10;
    big = big || order == 1;
    size_t element = precision ? 4 : 8;
    if (order > 1 || precision > 1 || type % 10 || imaginary || !name || name > sizeof out->name ||
        rows > MOST || columns > MOST || rows * columns > MOST)
        return 0;
    size_t count = rows * columns, length = 20 + name + count * element;
    if (length > left)
        return 0;
    memcpy(out->name, bytes + 20, name);
    out->name[name - 1] = 0;
    out->count = (int)count;
    for (size_t i = 0; i < count; i++) {
        const char *from = bytes + 20 + name + i * element;
        if (element == 4) {
            uint32_t bits = word(from, big);
            float value;
            memcpy(&value, &bits, 4);
            out->values[i] = value;
        } else {
            uint64_t low = word(from + (big ? 4 : 0), big), high = word(from + (big ? 0 : 4), big);
            uint64_t bits = high << 32 | low;
            memcpy(&out->values[i], &bits, 8);
        }
        if (!isfinite(out->values[i]))
            return 0;
    }
    return length;
}

static bool is(const char *path, const uint8_t *head, size_t size)
{
    record r;
    (void)path;
    return next_record((const char *)head, size, &r) > 0;
}

static int read(const char *path, const clvox_grid *fixed_grid, const clvox_grid *moving, clv_parts *parts)
{
    int status;
    char *bytes = NULL;
    size_t size;
    record parameters = {.count = 0}, fixed = {.count = 0};
    clv_itk itk = {.parameter = parameters.values, .fixed = fixed.values};
    (void)fixed_grid;
    (void)moving;
    CLV_TRY(clvox_file_read(path, CLV_AFFINE_LIMIT, &bytes, &size));
    size_t length = next_record(bytes, size, &parameters);
    size_t second = length ? next_record(bytes + length, size - length, &fixed) : 0;
    if (!second || length + second != size || strcmp(fixed.name, "fixed")) {
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: is not a single ITK transform, or is damaged", path);
        goto end;
    }
    snprintf(itk.name, sizeof itk.name, "%s", parameters.name);
    itk.parameters = (size_t)parameters.count;
    itk.fixeds = (size_t)fixed.count;
    status = clv_itk_add(path, &itk, parts);
end:
    free(bytes);
    return status;
}

static size_t put_record(const char *name, const double *values, uint32_t count, char *out)
{
    uint32_t length = (uint32_t)strlen(name) + 1;
    const uint32_t head[5] = {__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 1000 : 0, count, 1, 0, length};
    memcpy(out, head, sizeof head);
    memcpy(out + 20, name, length);
    memcpy(out + 20 + length, values, count * sizeof *values);
    return 20 + length + count * sizeof *values;
}

static int write(const char *path, const clvox_transform *const *parts, int count)
{
    int status;
    double m[4][4], p[12];
    char bytes[ROOM];
    static const double centre[3] = {0};
    CLV_TRY(clv_parts_join(path, parts, count, m));
    clv_itk_affine((const double(*)[4])m, p);
    size_t at = put_record("AffineTransform_double_3_3", p, 12, bytes);
    at += put_record("fixed", centre, 3, bytes + at);
    status = clvox_file_write(path, bytes, at);
end:
    return status;
}

const clv_transform_format clv_itk_mat_transform = {
    .ends = {".mat"},
    .is = is,
    .read = read,
    .write = write,
};
