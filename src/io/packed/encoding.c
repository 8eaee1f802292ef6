/* SPDX-License-Identifier: Apache-2.0 */
#include "io/packed/encoding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/status.h"
#include "io/volume/convert.h"
#include "io/plain.h"

enum { PIECE = 1 << 20 };

/* Text that is read from the front. */
typedef struct reader {
    const clv_source *source;
    const char *text, *end; /* a 0 stands at the end */
    uint64_t read;          /* values or bytes so far */
} reader;

static const char between[] = " \t\r\n\f\v,";

static int cut(const reader *r, uint64_t wanted, const char *what)
{
    return clvox_fail(CLVOX_ERROR_FORMAT,
                      "%s: is cut short: its header promises %llu %s and %llu are there, get a fresh copy",
                      r->source->path, (unsigned long long)wanted, what, (unsigned long long)r->read);
}

static int misplaced(const reader *r, const char *what)
{
    const size_t length = strcspn(r->text, between);
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: value %llu is '%.*s', which is not %s", r->source->path,
                      (unsigned long long)r->read + 1, length < 20 ? (int)length : 20, r->text, what);
}

/* ---- numbers ------------------------------------------------------------ */

static int put_whole(reader *r, clvox_type type, uint8_t *to, char **end)
{
    static const struct {
        int64_t least;
        uint64_t most;
    } range[] = {[CLVOX_TYPE_INT8] = {INT8_MIN, INT8_MAX},    [CLVOX_TYPE_UINT8] = {0, UINT8_MAX},
                 [CLVOX_TYPE_INT16] = {INT16_MIN, INT16_MAX}, [CLVOX_TYPE_UINT16] = {0, UINT16_MAX},
                 [CLVOX_TYPE_INT32] = {INT32_MIN, INT32_MAX}, [CLVOX_TYPE_UINT32] = {0, UINT32_MAX},
                 [CLVOX_TYPE_INT64] = {INT64_MIN, INT64_MAX}, [CLVOX_TYPE_UINT64] = {0, UINT64_MAX}};
    const bool minus = *r->text == '-';
    errno = 0;
    /* As many bits hold either: the low bytes of a number are the same with a sign and without. */
    const uint64_t bits = minus ? (uint64_t)strtoll(r->text, end, 10) : strtoull(r->text, end, 10);
    if (*end == r->text || !strchr(between, **end))
        return misplaced(r, "a whole number");
    if (errno || (minus ? (int64_t)bits < range[type].least : bits > range[type].most))
        return misplaced(r, "in the range of its type");
    const uint8_t byte = (uint8_t)bits;
    const uint16_t two = (uint16_t)bits;
    const uint32_t four = (uint32_t)bits;
    switch (clv_type_bytes(type)) {
    case 1: memcpy(to, &byte, sizeof byte); break;
    case 2: memcpy(to, &two, sizeof two); break;
    case 4: memcpy(to, &four, sizeof four); break;
    default: memcpy(to, &bits, sizeof bits);
    }
    return CLVOX_OK;
}

/* The next number, as the type's bytes in this machine's order. */
static int put_number(reader *r, clvox_type type, uint8_t *to)
{
    int status = CLVOX_OK;
    char *end;
    if (type != CLVOX_TYPE_FLOAT32 && type != CLVOX_TYPE_FLOAT64) {
        CLV_TRY(put_whole(r, type, to, &end));
    } else {
        const double x = strtod(r->text, &end);
        const float single = (float)x;
        if (end == r->text || !strchr(between, *end))
            return misplaced(r, "a number");
        memcpy(to, type == CLVOX_TYPE_FLOAT32 ? (const void *)&single : (const void *)&x, clv_type_bytes(type));
    }
    r->text = end;
    r->read++;
end:
    return status;
}

static int read_numbers(reader *r, size_t bytes, uint64_t all, uint8_t *to)
{
    const size_t element = clv_type_bytes(r->source->type);
    int status = CLVOX_OK;
    for (size_t at = 0; at < bytes; at += element) {
        r->text += strspn(r->text, between);
        if (r->text >= r->end)
            return cut(r, all / element, "values");
        CLV_TRY(put_number(r, r->source->type, to + at));
    }
end:
    return status;
}

/* ---- digits ------------------------------------------------------------- */

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int read_digits(reader *r, size_t bytes, uint64_t all, uint8_t *to)
{
    for (size_t at = 0; at < bytes; at++, r->read++) {
        int value = 0;
        for (int half = 0; half < 2; half++, r->text++) {
            r->text += strspn(r->text, between);
            if (r->text >= r->end)
                return cut(r, all, "bytes");
            if (digit(*r->text) < 0)
                return misplaced(r, "of hexadecimal digits");
            value = 16 * value + digit(*r->text);
        }
        to[at] = (uint8_t)value;
    }
    return CLVOX_OK;
}

/* ------------------------------------------------------------------------- */

int clv_encoding_check(const clv_source *source, uint64_t offset, size_t total)
{
    if (source->packing == CLV_PACKED_BZIP2)
        return clv_bzip2_check(source, offset, total);
    if (source->packing == CLV_PACKED_ZLIB)
        return clv_zlib_check(source, offset, total);
    /* A digit and what is between it and the next, or two digits. */
    const bool text = source->packing == CLV_PACKED_TEXT;
    const uint64_t wanted = text ? total / clv_type_bytes(source->type) : total;
    if (wanted > source->size / 2 + 1)
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: its header promises %llu %s, more than %llu characters can say, get a fresh copy",
            source->path, (unsigned long long)wanted, text ? "values" : "bytes",
            (unsigned long long)source->size);
    return CLVOX_OK;
}

int clv_encoding_read(const clv_source *source, uint64_t offset, size_t total, clv_consume consume, void *user)
{
    int status;
    char *text = NULL;
    uint8_t *bytes = NULL;
    if (source->packing == CLV_PACKED_BZIP2)
        return clv_bzip2_read(source, offset, total, consume, user);
    if (source->packing == CLV_PACKED_ZLIB)
        return clv_zlib_read(source, total, consume, user);
    clv_plain plain = clv_plain_begin();
    text = malloc((size_t)source->size + 1);
    bytes = malloc(PIECE);
    if (!text || !bytes) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", source->path);
        goto end;
    }
    CLV_TRY(clv_file_read_at(source->fd, source->path, text, (size_t)source->size, source->start));
    text[source->size] = 0;
    reader r = {source, text, text + source->size, 0};
    for (size_t at = 0; at < total; at += PIECE) {
        const size_t size = total - at < PIECE ? total - at : PIECE;
        CLV_TRY(source->packing == CLV_PACKED_TEXT ? read_numbers(&r, size, total, bytes)
                                                   : read_digits(&r, size, total, bytes));
        CLV_TRY(consume(user, bytes, size, at));
    }
end:
    clv_plain_end(plain);
    free(text);
    free(bytes);
    return status;
}
