/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/file.h"
#include "base/status.h"
#include "io/packed/encoding.h"
#include "io/packed/inflate.h"

enum {
    PIECE = 1 << 20,
    RATIO = 1032 /* no deflate stream expands further */
};

int clv_zlib_check(const clv_source *source, uint64_t offset, size_t total)
{
    uint64_t needed;
    if (__builtin_add_overflow(offset, (uint64_t)total, &needed) || needed / RATIO > source->size)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: its header promises more than a file of %llu bytes can hold, get a fresh copy",
                          source->path, (unsigned long long)source->size);
    return CLVOX_OK;
}

static int check(const char *path, clv_inflated how)
{
    if (how < CLV_INFLATED_CUT)
        return CLVOX_OK;
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: %s, get a fresh copy", path,
                      how == CLV_INFLATED_CUT ? "is cut short" : "the compressed data are damaged");
}

int clv_zlib_read(const clv_source *source, size_t total, clv_consume consume, void *user)
{
    int status;
    const char *path = source->path;
    uint8_t *packed = malloc((size_t)source->size), *bytes = malloc(PIECE), beyond;
    clv_inflate s = {.in = NULL};
    if (!packed || !bytes) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
        goto end;
    }
    CLV_TRY(clv_file_read_at(source->fd, path, packed, (size_t)source->size, source->start));
    CLV_TRY(clv_inflate_begin(&s, path, packed, (size_t)source->size, true));
    size_t got = 0;
    clv_inflated how = CLV_INFLATED_ALL;
    for (size_t at = 0; at < total; at += got) {
        const size_t size = total - at < PIECE ? total - at : PIECE;
        if (how == CLV_INFLATED_ALL)
            how = clv_inflate_some(&s, bytes, size, &got);
        else
            got = 0;
        CLV_TRY(check(path, how));
        if (got < size) {
            status = clvox_fail(
                CLVOX_ERROR_FORMAT,
                "%s: is cut short: its header promises %zu bytes and %zu are there, get a fresh copy", path,
                total, at + got);
            goto end;
        }
        CLV_TRY(consume(user, bytes, size, at));
    }
    /* To the end, where the check sum is. */
    got = 0;
    if (how == CLV_INFLATED_ALL)
        how = clv_inflate_some(&s, &beyond, 1, &got);
    CLV_TRY(check(path, how));
    if (got)
        status = clvox_fail(CLVOX_ERROR_FORMAT,
                            "%s: holds more data than its header promises, get a fresh copy", path);
end:
    clv_inflate_end(&s);
    free(packed);
    free(bytes);
    return status;
}
