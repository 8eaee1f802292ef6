/* SPDX-License-Identifier: Apache-2.0 */
#include "io/packed/bgzf.h"

#include <libdeflate.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/threads.h"
#include "base/array.h"
#include "base/status.h"

enum {
    HEADER = 18, /* bytes before the deflate stream: gzip's 10 and the extra field */
    TRAILER = 8
};

static uint32_t get32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put32(uint8_t *p, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(x >> 8 * i);
}

/* The length of the member at p, 0 where it does not say. */
static size_t member_size(const uint8_t *p, size_t left)
{
    if (left < HEADER + TRAILER || p[0] != 0x1f || p[1] != 0x8b || p[2] != 8 || p[3] != 4)
        return 0;
    size_t extra = p[10] | (size_t)p[11] << 8;
    if (extra < 6 || p[12] != 'B' || p[13] != 'C' || p[14] != 2 || p[15] != 0)
        return 0;
    size_t size = (p[16] | (size_t)p[17] << 8) + 1;
    return size > left || size < 12 + extra + TRAILER || get32(p + size - 4) > CLV_BGZF_MOST ? 0 : size;
}

int clv_bgzf_walk(const uint8_t *file, size_t size, clv_bgzf_index *out)
{
    size_t room = 0;
    *out = (clv_bgzf_index){0};
    for (size_t at = 0; at < size;) {
        size_t length = member_size(file + at, size - at);
        if (!length) {
            clv_bgzf_index_free(out);
            break;
        }
        if (out->count + 2 > room) {
            room = room ? 2 * room : 64;
            size_t *in = clv_array_moved(out->in, room, sizeof *in);
            out->in = in ? in : out->in;
            uint64_t *made = in ? clv_array_moved(out->out, room, sizeof *made) : NULL;
            out->out = made ? made : out->out;
            if (!in || !made) {
                clv_bgzf_index_free(out);
                return clvox_fail(CLVOX_ERROR_MEMORY, "out of memory for the index of a compressed file");
            }
            if (!at)
                in[0] = made[0] = 0;
        }
        out->in[out->count + 1] = at + length;
        out->out[out->count + 1] = out->out[out->count] + get32(file + at + length - 4);
        out->count++;
        at += length;
    }
    return CLVOX_OK;
}

void clv_bgzf_index_free(clv_bgzf_index *index)
{
    free(index->in);
    free(index->out);
    *index = (clv_bgzf_index){0};
}

/* One member; returns its length, 0 on failure. to has CLV_BGZF_MOST bytes. */
static size_t pack(struct libdeflate_compressor *compressor, const uint8_t *from, size_t size, uint8_t *to)
{
    static const uint8_t start[HEADER] = {0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, 'B', 'C', 2, 0};
    size_t packed = libdeflate_deflate_compress(compressor, from, size, to + HEADER,
                                                CLV_BGZF_MOST - HEADER - TRAILER);
    if (!packed)
        return 0;
    size_t length = HEADER + packed + TRAILER;
    memcpy(to, start, HEADER);
    to[16] = (uint8_t)(length - 1);
    to[17] = (uint8_t)((length - 1) >> 8);
    put32(to + length - 8, libdeflate_crc32(0, from, size));
    put32(to + length - 4, (uint32_t)size);
    return length;
}

/* Members are stored where each byte of a few pieces tells more bits than this by itself: warps, whose floats
 * are noise in their low bits, are 7% larger then and take half the time. Compressing the pieces to see took
 * six times as long. */
static const double WORTH = 6.5;
enum { PIECES = 3, PIECE = 2048, LANES = 4 };

/* Bits of a byte, by how often each value is there (Shannon 1948). */
static double entropy(const uint8_t *from)
{
    uint16_t count[LANES][256] = {{0}}; /* lanes: equal bytes do not wait for each other */
    double sum = 0;
    for (size_t i = 0; i < PIECE; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            count[k][from[i + k]]++;
    for (int v = 0; v < 256; v++) {
        const int n = count[0][v] + count[1][v] + count[2][v] + count[3][v];
        sum += n ? n * (double)log2f((float)n) : 0;
    }
    return log2(PIECE) - sum / PIECE;
}

static bool is_noise(const uint8_t *from, size_t size)
{
    for (size_t i = 0; i < PIECES; i++)
        if (size < (size_t)PIECES * PIECE || entropy(from + (size - PIECE) * i / (PIECES - 1)) < WORTH)
            return false;
    return true;
}

typedef struct scratch {
    struct libdeflate_compressor *compressor, *storing;
    uint8_t *plain, *packed;
    pthread_cond_t turn; /* of a run whose number modulo the workers' is this one's */
} scratch;

typedef struct writing {
    clv_file_writer *writer;
    const char *path;
    int level;
    const clv_bgzf_content *content;
    scratch *scratch; /* by worker */
    size_t workers;
    /* Runs are compressed in any order and written in theirs, one at a time: a system has one lock for a
     * file, at which threads would wait with their processors. */
    pthread_mutex_t lock;
    size_t next;
    uint64_t offset;
    size_t failed; /* the first run that failed; those behind it give up */
} writing;

static int prepare(writing *w, scratch *s)
{
    if (!s->compressor)
        s->compressor = libdeflate_alloc_compressor(w->level);
    if (!s->storing)
        s->storing = libdeflate_alloc_compressor(0);
    if (!s->plain)
        s->plain = malloc((size_t)CLV_BGZF_BLOCK * CLV_BGZF_RUN);
    if (!s->packed)
        s->packed = malloc((size_t)CLV_BGZF_MOST * CLV_BGZF_RUN);
    return s->compressor && s->storing && s->plain && s->packed
               ? CLVOX_OK
               : clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", w->path);
}

/* Waits for the runs before this one, and writes it behind them. */
static int place(writing *w, size_t run, const uint8_t *bytes, size_t size)
{
    pthread_mutex_lock(&w->lock);
    while (w->next != run && run < w->failed)
        pthread_cond_wait(&w->scratch[run % w->workers].turn, &w->lock);
    const bool failed = w->next != run;
    pthread_mutex_unlock(&w->lock);
    if (failed)
        return clvox_fail(CLVOX_ERROR_FILE, "%s: cannot be written", w->path);
    const int status =
        clv_file_write_at(w->writer, bytes, size, w->offset); /* whose turn it is has it alone */
    if (status < 0)
        return status;
    pthread_mutex_lock(&w->lock);
    w->offset += size;
    w->next++;
    pthread_cond_signal(&w->scratch[w->next % w->workers].turn); /* no two of those under way have one */
    pthread_mutex_unlock(&w->lock);
    return CLVOX_OK;
}

static int write_run(void *user, size_t run, int worker)
{
    writing *w = user;
    scratch *s = &w->scratch[worker];
    int status;
    size_t from = run * CLV_BGZF_RUN * CLV_BGZF_BLOCK, length = 0;
    size_t left = w->content->total - from, most = (size_t)CLV_BGZF_RUN * CLV_BGZF_BLOCK;
    size_t size = left < most ? left : most;
    CLV_TRY(prepare(w, s));
    CLV_TRY(w->content->produce(w->content->user, from, size, s->plain));
    for (size_t at = 0; at < size; at += CLV_BGZF_BLOCK) {
        size_t block = size - at < CLV_BGZF_BLOCK ? size - at : CLV_BGZF_BLOCK;
        bool stored = is_noise(s->plain + at, block);
        size_t packed = pack(stored ? s->storing : s->compressor, s->plain + at, block, s->packed + length);
        if (!packed) {
            status = clvox_fail(CLVOX_ERROR_FILE, "%s: cannot be compressed", w->path);
            goto end;
        }
        length += packed;
    }
    status = place(w, run, s->packed, length);
end:
    if (status < 0) {
        /* Those who wait for this run must not wait for ever. */
        pthread_mutex_lock(&w->lock);
        if (run < w->failed)
            w->failed = run;
        for (size_t i = 0; i < w->workers; i++)
            pthread_cond_broadcast(&w->scratch[i].turn);
        pthread_mutex_unlock(&w->lock);
    }
    return status;
}

int clv_bgzf_write(clv_file_writer *writer, const char *path, int level, const clv_bgzf_content *content)
{
    /* SAMtools' mark of a complete file: an empty member. */
    static const uint8_t finish[28] = {0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, 'B', 'C', 2, 0, 27, 0, 3};
    int status, workers = clvox_threads();
    writing w = {.writer = writer, .path = path, .level = level, .content = content, .failed = SIZE_MAX};
    pthread_mutex_init(&w.lock, NULL);
    w.workers = (size_t)workers;
    w.scratch = calloc((size_t)workers, sizeof *w.scratch);
    for (int i = 0; w.scratch && i < workers; i++)
        pthread_cond_init(&w.scratch[i].turn, NULL);
    if (!w.scratch) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
        goto end;
    }
    CLV_TRY(prepare(&w, &w.scratch[0]));
    w.offset = pack(w.scratch[0].compressor, content->header, content->header_size, w.scratch[0].packed);
    CLV_TRY(clv_file_write_at(writer, w.scratch[0].packed, (size_t)w.offset, 0));
    size_t run = (size_t)CLV_BGZF_RUN * CLV_BGZF_BLOCK;
    CLV_TRY(clvox_parallel((content->total + run - 1) / run, write_run, &w));
    CLV_TRY(clv_file_write_at(writer, finish, sizeof finish, w.offset));
end:
    for (int i = 0; w.scratch && i < workers; i++) {
        if (w.scratch[i].compressor)
            libdeflate_free_compressor(w.scratch[i].compressor);
        if (w.scratch[i].storing)
            libdeflate_free_compressor(w.scratch[i].storing);
        free(w.scratch[i].plain);
        free(w.scratch[i].packed);
        pthread_cond_destroy(&w.scratch[i].turn);
    }
    free(w.scratch);
    pthread_mutex_destroy(&w.lock);
    return status;
}
