/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <zlib.h>

#include "base/file.h"
#include "base/status.h"
#include "io/encoding.h"

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

/* A stream that is read in pieces. */
typedef struct unpacking {
    const clv_source *source;
    z_stream stream;
    uint64_t used; /* bytes of the file that were read */
    bool ended;
    uint8_t in[1 << 16];
} unpacking;

/* Up to room bytes more; *got below room only where the stream has ended. */
static int unpack(unpacking *u, uint8_t *to, size_t room, size_t *got)
{
    int status = CLVOX_OK;
    u->stream.next_out = to;
    u->stream.avail_out = (uInt)room;
    while (u->stream.avail_out && !u->ended) {
        if (!u->stream.avail_in) {
            const uint64_t left = u->source->size - u->used;
            const size_t size = left < sizeof u->in ? (size_t)left : sizeof u->in;
            if (!size)
                return clvox_fail(CLVOX_ERROR_FORMAT, "%s: is cut short, get a fresh copy", u->source->path);
            CLV_TRY(
                clv_file_read_at(u->source->fd, u->source->path, u->in, size, u->source->start + u->used));
            u->stream.next_in = u->in;
            u->stream.avail_in = (uInt)size;
            u->used += size;
        }
        const int result = inflate(&u->stream, Z_NO_FLUSH);
        if (result != Z_OK && result != Z_STREAM_END)
            return clvox_fail(CLVOX_ERROR_FORMAT, "%s: the compressed data are damaged, get a fresh copy",
                              u->source->path);
        u->ended = result == Z_STREAM_END;
    }
    *got = room - u->stream.avail_out;
end:
    return status;
}

int clv_zlib_read(const clv_source *source, size_t total, clv_consume consume, void *user)
{
    int status = CLVOX_OK;
    uint8_t *bytes = malloc(PIECE), beyond;
    unpacking *u = calloc(1, sizeof *u);
    /* 32: a stream of zlib or of gzip. */
    if (!bytes || !u || inflateInit2(&u->stream, 15 + 32) != Z_OK) {
        free(u);
        u = NULL;
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", source->path);
        goto end;
    }
    u->source = source;
    size_t got = 0;
    for (size_t at = 0; at < total; at += got) {
        const size_t size = total - at < PIECE ? total - at : PIECE;
        CLV_TRY(unpack(u, bytes, size, &got));
        if (got < size) {
            status = clvox_fail(
                CLVOX_ERROR_FORMAT,
                "%s: is cut short: its header promises %zu bytes and %zu are there, get a fresh copy",
                source->path, total, at + got);
            goto end;
        }
        CLV_TRY(consume(user, bytes, size, at));
    }
    /* To the end, where the check sum is. */
    CLV_TRY(unpack(u, &beyond, 1, &got));
    if (got)
        status = clvox_fail(CLVOX_ERROR_FORMAT,
                            "%s: holds more data than its header promises, get a fresh copy", source->path);
end:
    if (u)
        inflateEnd(&u->stream);
    free(u);
    free(bytes);
    return status;
}
