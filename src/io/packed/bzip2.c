/* SPDX-License-Identifier: Apache-2.0 */
#include <bzlib.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/status.h"
#include "io/packed/encoding.h"

enum {
    PIECE = 1 << 20,
    RATIO = 1 << 21,  /* no block of 900 kB expands further */
    SURPLUS = 1 << 26 /* bytes behind the values that are read to check them */
};

static int damaged(const char *path)
{
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: the compressed data are damaged, get a fresh copy", path);
}

int clv_bzip2_check(const clv_source *source, uint64_t offset, size_t total)
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
    bz_stream stream;
    uint64_t used; /* bytes of the file that were read */
    bool ended;
    char in[1 << 16];
} unpacking;

/* Streams that follow one another are one; what else follows is padding. */
static int begin_next(unpacking *u)
{
    int status = CLVOX_OK;
    char next = 0;
    if (u->stream.avail_in)
        next = *u->stream.next_in;
    else if (u->used < u->source->size)
        CLV_TRY(clv_file_read_at(u->source->fd, u->source->path, &next, 1, u->source->start + u->used));
    u->ended = next != 'B';
    const bz_stream before = u->stream;
    BZ2_bzDecompressEnd(&u->stream);
    u->stream = (bz_stream){.next_in = NULL};
    if (BZ2_bzDecompressInit(&u->stream, 0, 0) != BZ_OK)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", u->source->path);
    u->stream.next_in = before.next_in;
    u->stream.avail_in = before.avail_in;
    u->stream.next_out = before.next_out;
    u->stream.avail_out = before.avail_out;
end:
    return status;
}

/* Up to room bytes more; *got below room only where the stream has ended. */
static int unpack(unpacking *u, uint8_t *to, size_t room, size_t *got)
{
    int status = CLVOX_OK;
    u->stream.next_out = (char *)to;
    u->stream.avail_out = (unsigned)room;
    while (u->stream.avail_out && !u->ended) {
        if (!u->stream.avail_in) {
            const uint64_t left = u->source->size - u->used;
            const size_t size = left < sizeof u->in ? (size_t)left : sizeof u->in;
            if (!size)
                return clvox_fail(CLVOX_ERROR_FORMAT, "%s: is cut short, get a fresh copy", u->source->path);
            CLV_TRY(clv_file_read_at(u->source->fd, u->source->path, u->in, size, u->source->start + u->used));
            u->stream.next_in = u->in;
            u->stream.avail_in = (unsigned)size;
            u->used += size;
        }
        const int result = BZ2_bzDecompress(&u->stream);
        if (result == BZ_MEM_ERROR)
            return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", u->source->path);
        if (result != BZ_OK && result != BZ_STREAM_END)
            return damaged(u->source->path);
        if (result == BZ_STREAM_END)
            CLV_TRY(begin_next(u));
    }
    *got = room - u->stream.avail_out;
end:
    return status;
}

int clv_bzip2_read(const clv_source *source, uint64_t offset, size_t total, clv_consume consume, void *user)
{
    int status = CLVOX_OK;
    uint8_t *bytes = malloc(PIECE);
    unpacking *u = calloc(1, sizeof *u);
    if (!bytes || !u || BZ2_bzDecompressInit(&u->stream, 0, 0) != BZ_OK) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", source->path);
        goto end;
    }
    u->source = source;
    size_t got = 0;
    for (uint64_t at = 0; at < offset + total; at += got) {
        const uint64_t left = at < offset ? offset - at : offset + total - at;
        const size_t size = left < PIECE ? (size_t)left : PIECE;
        CLV_TRY(unpack(u, bytes, size, &got));
        if (got < size) {
            status = clvox_fail(
                CLVOX_ERROR_FORMAT,
                "%s: is cut short: its header promises %llu bytes and %llu are there, get a fresh copy",
                source->path, (unsigned long long)(offset + total), (unsigned long long)(at + got));
            goto end;
        }
        if (at >= offset)
            CLV_TRY(consume(user, bytes, size, (size_t)(at - offset)));
    }
    /* To the end, where the check sum is. */
    for (size_t surplus = 0; !u->ended; surplus += got) {
        CLV_TRY(unpack(u, bytes, PIECE, &got));
        if (surplus > SURPLUS + total) {
            status = clvox_fail(CLVOX_ERROR_FORMAT,
                                "%s: holds far more data than its header promises, get a fresh copy",
                                source->path);
            goto end;
        }
    }
end:
    if (u)
        BZ2_bzDecompressEnd(&u->stream);
    free(u);
    free(bytes);
    return status;
}
