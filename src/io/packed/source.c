/* SPDX-License-Identifier: Apache-2.0 */
#include "io/packed/source.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/seen.h"
#include "base/spares.h"
#include "clvox/threads.h"
#include "base/status.h"
#include "io/packed/bgzf.h"
#include "io/packed/encoding.h"
#include "io/packed/inflate.h"

enum {
    PIECE = 1 << 20,    /* bytes of a piece of work */
    HEAD = 1 << 16,     /* compressed bytes that a header is looked for in */
    SURPLUS = 1 << 26,  /* bytes behind the values that are read to check them */
    DEFLATE_RATIO = 1032 /* no deflate stream expands further */
};

int clv_source_open(const char *path, clv_source *out)
{
    return clv_source_open_at(path, 0, CLV_PACKED_BY_CONTENT, out);
}

int clv_source_open_at(const char *path, uint64_t start, clv_packing packing, clv_source *out)
{
    unsigned char magic[2] = {0, 0};
    *out = (clv_source){.path = path, .fd = -1, .start = start, .packing = packing};
    int status = clv_file_open(path, &out->fd, &out->size);
    if (status < 0)
        return status;
    if (!out->size)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: is empty", path);
    if (start >= out->size)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: is cut short: its values would begin at byte %llu, get a fresh copy", path,
                          (unsigned long long)start);
    out->size -= start;
    if ((packing == CLV_PACKED_BY_CONTENT || packing == CLV_PACKED_GZIP) && out->size > 2) {
        status = clv_file_read_at(out->fd, path, magic, 2, start);
        if (status < 0)
            return status;
        out->gzip = magic[0] == 0x1f && magic[1] == 0x8b;
    }
    if (packing == CLV_PACKED_GZIP && !out->gzip)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: its values are not compressed, though its header says so",
                          path);
    return CLVOX_OK;
}

void clv_source_close(clv_source *source)
{
    if (source->fd >= 0)
        close(source->fd);
    source->fd = -1;
}

static int damaged(const char *path)
{
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: the compressed data are damaged, get a fresh copy", path);
}

static int truncated(const char *path, uint64_t wanted, uint64_t present)
{
    return clvox_fail(CLVOX_ERROR_FORMAT,
                      "%s: is cut short: its header promises %llu bytes and %llu are there, get a fresh copy",
                      path, (unsigned long long)wanted, (unsigned long long)present);
}

/* Members that follow one another are one stream. to_end: goes on, without keeping what comes, to where the
 * member's check sum is. */
static int inflate_some(const char *path, const uint8_t *in, size_t in_size, uint8_t *out, size_t wanted,
                        bool to_end, size_t *got)
{
    uint8_t beyond[4096];
    size_t surplus = 0, more;
    clv_inflate s;
    clv_inflated how;
    *got = 0;
    int status = clv_inflate_begin(&s, path, in, in_size, false);
    if (status < 0)
        return status;
    do {
        how = clv_inflate_some(&s, out + *got, wanted - *got, &more);
        *got += more;
    } while (how == CLV_INFLATED_MEMBER && *got < wanted);
    for (; to_end && how == CLV_INFLATED_ALL && surplus <= SURPLUS + wanted; surplus += more)
        how = clv_inflate_some(&s, beyond, sizeof beyond, &more);
    if (how == CLV_INFLATED_DAMAGED)
        status = damaged(path);
    else if (to_end && how == CLV_INFLATED_ALL)
        status = clvox_fail(CLVOX_ERROR_FORMAT,
                            "%s: holds far more data than its header promises, get a fresh copy", path);
    else if (to_end && *got == wanted && how == CLV_INFLATED_CUT)
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: is cut short, get a fresh copy", path);
    clv_inflate_end(&s);
    return status;
}

int clv_source_head(const clv_source *source, void *bytes, size_t wanted, size_t *got)
{
    int status;
    uint8_t *packed = NULL;
    size_t size = source->gzip && wanted < HEAD ? HEAD : wanted;
    *got = 0;
    if (size > source->size)
        size = (size_t)source->size;
    if (!source->gzip) {
        CLV_TRY(clv_file_read_at(source->fd, source->path, bytes, size, source->start));
        *got = size;
    } else {
        packed = malloc(size);
        if (!packed) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", source->path);
            goto end;
        }
        CLV_TRY(clv_file_read_at(source->fd, source->path, packed, size, source->start));
        CLV_TRY(inflate_some(source->path, packed, size, bytes, wanted, false, got));
    }
end:
    free(packed);
    return status;
}

/* Shared by the threads of a read. */
typedef struct reading {
    const clv_source *source;
    uint64_t offset;
    size_t total;
    clv_consume consume;
    void *user;
    uint8_t *packed;       /* the compressed file */
    uint8_t *whole;        /* decompressed, where pieces cannot be delivered as they come */
    size_t whole_size;
    uint32_t *crc;         /* of the pieces of the file itself */
    uint8_t **scratch;     /* by worker */
    struct libdeflate_decompressor **decompressors; /* by worker */
    clv_bgzf_index index;
} reading;

static int scratch_of(reading *r, int worker, size_t size, uint8_t **out)
{
    if (!r->scratch[worker])
        r->scratch[worker] = malloc(size);
    *out = r->scratch[worker];
    return *out ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", r->source->path);
}

static int read_piece(void *user, size_t index, int worker)
{
    reading *r = user;
    uint8_t *bytes;
    size_t at = index * PIECE, size = r->total - at < PIECE ? r->total - at : PIECE;
    int status;
    CLV_TRY(scratch_of(r, worker, PIECE, &bytes));
    CLV_TRY(clv_file_read_at(r->source->fd, r->source->path, bytes, size,
                             r->source->start + r->offset + at));
    r->crc[index] = libdeflate_crc32(0, bytes, size);
    CLV_TRY(r->consume(r->user, bytes, size, at));
end:
    return status;
}

static int deliver_piece(void *user, size_t index, int worker)
{
    (void)worker;
    reading *r = user;
    size_t at = index * PIECE, size = r->total - at < PIECE ? r->total - at : PIECE;
    return r->consume(r->user, r->whole + r->offset + at, size, at);
}

static int load_piece(void *user, size_t index, int worker)
{
    (void)worker;
    reading *r = user;
    size_t file = (size_t)r->source->size, at = index * PIECE, size = file - at < PIECE ? file - at : PIECE;
    const int status =
        clv_file_read_at(r->source->fd, r->source->path, r->packed + at, size, r->source->start + at);
    r->crc[index] = status < 0 ? 0 : libdeflate_crc32(0, r->packed + at, size);
    return status;
}

/* Decompresses a run of blocks, each to its place in `whole`, or to scratch
 * from where the part inside of the range is delivered at once. */
static int inflate_blocks(void *user, size_t run, int worker)
{
    reading *r = user;
    int status = CLVOX_OK;
    uint8_t *scratch = NULL;
    const clv_bgzf_index *index = &r->index;
    size_t last = (run + 1) * CLV_BGZF_RUN < index->count ? (run + 1) * CLV_BGZF_RUN : index->count;
    if (!r->whole)
        CLV_TRY(scratch_of(r, worker, CLV_BGZF_MOST, &scratch));
    if (!r->decompressors[worker])
        r->decompressors[worker] = libdeflate_alloc_decompressor();
    if (!r->decompressors[worker]) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", r->source->path);
        goto end;
    }
    for (size_t i = run * CLV_BGZF_RUN; i < last; i++) {
        uint64_t from = index->out[i], to = index->out[i + 1];
        if (to <= r->offset || from >= r->offset + r->total)
            continue;
        uint8_t *bytes = r->whole ? r->whole + from : scratch;
        if (libdeflate_gzip_decompress(r->decompressors[worker], r->packed + index->in[i],
                                       index->in[i + 1] - index->in[i], bytes, (size_t)(to - from),
                                       NULL) != LIBDEFLATE_SUCCESS) {
            status = damaged(r->source->path);
            goto end;
        }
        if (!r->whole) {
            size_t skip = from < r->offset ? (size_t)(r->offset - from) : 0;
            size_t at = (size_t)(from + skip - r->offset), size = (size_t)(to - from) - skip;
            if (size > r->total - at)
                size = r->total - at;
            CLV_TRY(r->consume(r->user, bytes + skip, size, at));
        }
    }
end:
    return status;
}

/* Decompresses any gzip file into `whole`, member by member. */
static int inflate_members(reading *r)
{
    const char *path = r->source->path;
    size_t needed = (size_t)r->offset + r->total, in = 0, out = 0, size = (size_t)r->source->size;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    int status = d ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
    while (status >= 0 && out < needed) {
        size_t used = 0, made = 0;
        if (libdeflate_gzip_decompress_ex(d, r->packed + in, size - in, r->whole + out, r->whole_size - out,
                                          &used, &made) != LIBDEFLATE_SUCCESS) {
            /* Damaged, cut, or longer than the image: zlib says which. */
            size_t got = 0;
            status = inflate_some(path, r->packed + in, size - in, r->whole + out, needed - out, true, &got);
            out += got;
            break;
        }
        in += used;
        out += made;
        if (size - in < 18 || r->packed[in] != 0x1f || r->packed[in + 1] != 0x8b)
            break;
    }
    if (status >= 0 && out < needed)
        status = truncated(path, needed, out);
    libdeflate_free_decompressor(d);
    return status;
}

static int read_gzip(reading *r)
{
    int status;
    const char *path = r->source->path;
    uint64_t needed = r->offset + r->total;
    r->packed = clv_large((size_t)r->source->size);
    if (!r->packed) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
        goto end;
    }
    CLV_TRY(clvox_parallel(((size_t)r->source->size + PIECE - 1) / PIECE, load_piece, r));
    CLV_TRY(clv_bgzf_walk(r->packed, (size_t)r->source->size, &r->index));
    bool blocks = r->index.count > 0, direct = blocks;
    if (blocks && r->index.out[r->index.count] < needed) {
        status = truncated(path, needed, r->index.out[r->index.count]);
        goto end;
    }
    for (size_t i = 0; i < r->index.count; i++)
        if (r->index.out[i] > r->offset && r->index.out[i] < needed && (r->index.out[i] - r->offset) % 16)
            direct = false;
    if (!direct) {
        /* A little more than needed takes in what some writers append. */
        r->whole_size = blocks ? (size_t)r->index.out[r->index.count] : (size_t)needed + PIECE;
        r->whole = clv_large(r->whole_size);
        if (!r->whole) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory: %.1f GB to decompress it", path,
                                (double)r->whole_size * 1e-9);
            goto end;
        }
    }
    if (blocks)
        CLV_TRY(clvox_parallel((r->index.count + CLV_BGZF_RUN - 1) / CLV_BGZF_RUN, inflate_blocks, r));
    else
        CLV_TRY(inflate_members(r));
    if (!direct)
        CLV_TRY(clvox_parallel((r->total + PIECE - 1) / PIECE, deliver_piece, r));
end:
    return status;
}

/* Leaves the CRC-32 of the file for its log: of the pieces that were read, and of what stands before and
 * behind them, unless that is much. */
static void leave_crc(const reading *r, uint64_t first, uint64_t length)
{
    const clv_source *s = r->source;
    const uint64_t from = s->start + first, to = from + length, end = s->start + s->size;
    uint32_t crc = 0;
    uint8_t *bytes = end - length > 16 * PIECE ? NULL : malloc(PIECE);
    if (!bytes)
        return;
    for (uint64_t at = 0, size; at < end; at += size) {
        const bool inside = at >= from && at < to;
        const uint64_t limit = at < from ? from : inside ? to : end;
        size = limit - at < PIECE ? limit - at : PIECE;
        if (inside)
            crc = (uint32_t)crc32_combine(crc, r->crc[(at - from) / PIECE], (z_off_t)size);
        else if (clv_file_read_at(s->fd, s->path, bytes, (size_t)size, at) >= 0)
            crc = libdeflate_crc32(crc, bytes, (size_t)size);
        else
            goto end;
    }
    clv_seen_add(s->path, &(clvox_input_facts){.has_crc = true, .crc = crc});
end:
    free(bytes);
}

int clv_source_check(const clv_source *source, uint64_t offset, size_t total)
{
    uint64_t needed;
    if (source->packing > CLV_PACKED_GZIP)
        return clv_encoding_check(source, offset, total);
    if (__builtin_add_overflow(offset, (uint64_t)total, &needed))
        needed = UINT64_MAX;
    if (!source->gzip && needed > source->size)
        return truncated(source->path, needed, source->size);
    if (source->gzip && needed / DEFLATE_RATIO > source->size)
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: its header promises %llu bytes, more than a file of %llu bytes can hold, get a fresh "
            "copy",
            source->path, (unsigned long long)needed, (unsigned long long)source->size);
    return CLVOX_OK;
}

int clv_source_read(const clv_source *source, uint64_t offset, size_t total, clv_consume consume, void *user)
{
    int status = CLVOX_OK, workers = clvox_threads();
    reading r = {.source = source, .offset = offset, .total = total, .consume = consume, .user = user};
    CLV_TRY(clv_source_check(source, offset, total));
    if (source->packing > CLV_PACKED_GZIP)
        return clv_encoding_read(source, offset, total, consume, user);
    const uint64_t first = source->gzip ? 0 : offset, length = source->gzip ? source->size : total;
    r.crc = calloc((size_t)(length / PIECE) + 1, sizeof *r.crc);
    r.scratch = calloc((size_t)workers, sizeof *r.scratch);
    r.decompressors = calloc((size_t)workers, sizeof *r.decompressors);
    if (!r.crc || !r.scratch || !r.decompressors)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", source->path);
    else if (source->gzip)
        status = read_gzip(&r);
    else
        status = clvox_parallel((total + PIECE - 1) / PIECE, read_piece, &r);
    if (status >= 0)
        leave_crc(&r, first, length);
end:
    for (int i = 0; i < workers; i++) {
        if (r.scratch)
            free(r.scratch[i]);
        if (r.decompressors && r.decompressors[i])
            libdeflate_free_decompressor(r.decompressors[i]);
    }
    free(r.crc);
    free(r.scratch);
    free(r.decompressors);
    clv_large_free(r.packed);
    clv_large_free(r.whole);
    clv_bgzf_index_free(&r.index);
    return status;
}
