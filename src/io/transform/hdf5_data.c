/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5: data sets of numbers and of a string. */
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "base/status.h"
#include "io/transform/hdf5_parts.h"

enum { RATIO = 1032 }; /* no deflate stream expands further */

enum { DEFLATE = 1, SHUFFLE = 2, MOST_FILTERS = 4 };

typedef struct data {
    const char *name;
    bool has_space, has_type, has_layout;
    int rank;
    uint64_t points;
    enum { REAL, TEXT, TEXT_ELSEWHERE, OTHER } type;
    bool big;      /* most significant byte first */
    uint64_t each; /* bytes of an element */
    bool chunked;
    uint64_t address, size; /* of the values, or of the tree of chunks */
    uint64_t chunk;         /* elements of a chunk */
    int filters, filter[MOST_FILTERS];
} data;

static int see_space(clv_hdf5 *f, data *d, clv_hdf5_bytes b)
{
    enum { NONE = 2 };
    const uint64_t version = clv_hdf5_number(&b, 1);
    d->rank = (int)clv_hdf5_number(&b, 1);
    clv_hdf5_number(&b, 1);
    const uint64_t kind = clv_hdf5_number(&b, 1);
    if (version == 1)
        clv_hdf5_take(&b, 4);
    d->points = version == 2 && kind == NONE ? 0 : 1;
    for (int i = 0; i < d->rank; i++)
        if (__builtin_mul_overflow(d->points, clv_hdf5_number(&b, 8), &d->points))
            b.bad = true;
    d->has_space = true;
    return b.bad || (version != 1 && version != 2) ? clv_hdf5_damaged(f, d->name) : CLVOX_OK;
}

static int see_type(clv_hdf5 *f, data *d, clv_hdf5_bytes b)
{
    enum { FLOATING = 1, STRING = 3, VARIABLE = 9 };
    /* Positions of the bits, exponent and mantissa, and the exponent's bias. */
    static const uint64_t form[2][8] = {{31, 0, 32, 23, 8, 0, 23, 127}, {63, 0, 64, 52, 11, 0, 52, 1023}};
    static const int width[8] = {1, 2, 2, 1, 1, 1, 1, 4};
    const int class = (int)(clv_hdf5_number(&b, 1) & 15);
    const uint64_t bits = clv_hdf5_number(&b, 1);
    clv_hdf5_bytes rest = b;
    clv_hdf5_take(&b, 2);
    d->each = clv_hdf5_number(&b, 4);
    d->has_type = true;
    d->type = OTHER;
    if (class == STRING)
        d->type = TEXT;
    if (class == VARIABLE && (bits & 15) == 1 && d->each == 16)
        d->type = TEXT_ELSEWHERE;
    if (class == FLOATING && (d->each == 4 || d->each == 8)) {
        const uint64_t *wanted = form[d->each == 8];
        bool usual = !(bits & 0x4e) && (bits & 0x30) == 0x20 && clv_hdf5_number(&rest, 1) == wanted[0];
        for (int i = 1; i < 8; i++)
            usual = clv_hdf5_number(&b, width[i]) == wanted[i] && usual;
        d->type = usual ? REAL : OTHER;
        d->big = bits & 1;
    }
    return b.bad || !d->each ? clv_hdf5_damaged(f, d->name) : CLVOX_OK;
}

static int see_layout(clv_hdf5 *f, data *d, clv_hdf5_bytes b)
{
    enum { COMPACT = 0, CONTIGUOUS = 1, CHUNKED = 2 };
    const uint64_t version = clv_hdf5_number(&b, 1), class = clv_hdf5_number(&b, 1);
    if ((version != 3 && version != 4) || class > CHUNKED || (version == 4 && class == CHUNKED))
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: its %s is laid out in a way that ITK does not use; write the transform again with ITK",
            f->path, d->name);
    d->has_layout = true;
    d->chunked = class == CHUNKED;
    if (class == COMPACT) {
        d->size = clv_hdf5_number(&b, 2);
        d->address = b.address;
        clv_hdf5_take(&b, d->size);
    } else if (class == CONTIGUOUS) {
        d->address = clv_hdf5_number(&b, 8);
        d->size = clv_hdf5_number(&b, 8);
    } else {
        const uint64_t dimensions = clv_hdf5_number(&b, 1);
        d->address = clv_hdf5_number(&b, 8);
        d->chunk = clv_hdf5_number(&b, 4);
        if (dimensions != 2 || !d->chunk)
            return clv_hdf5_damaged(f, d->name);
    }
    return b.bad ? clv_hdf5_damaged(f, d->name) : CLVOX_OK;
}

static int see_filters(clv_hdf5 *f, data *d, clv_hdf5_bytes b)
{
    const uint64_t version = clv_hdf5_number(&b, 1), count = clv_hdf5_number(&b, 1);
    if (version == 1)
        clv_hdf5_take(&b, 6);
    if (b.bad || version < 1 || version > 2 || count > MOST_FILTERS)
        return clv_hdf5_damaged(f, d->name);
    for (d->filters = 0; d->filters < (int)count;) {
        const uint64_t id = clv_hdf5_number(&b, 2),
                       named = version == 1 || id > 255 ? clv_hdf5_number(&b, 2) : 0;
        clv_hdf5_take(&b, 2);
        const uint64_t values = clv_hdf5_number(&b, 2);
        clv_hdf5_take(&b, (version == 1 ? (named + 7) / 8 * 8 : named) + 4 * values +
                              (version == 1 ? values % 2 * 4 : 0));
        if (b.bad)
            return clv_hdf5_damaged(f, d->name);
        if (id != DEFLATE && id != SHUFFLE)
            return clvox_fail(
                CLVOX_ERROR_FORMAT,
                "%s: its %s went through a filter other than deflate and shuffle (number %d); undo it "
                "with h5repack -f NONE",
                f->path, d->name, (int)id);
        d->filter[d->filters++] = (int)id;
    }
    return CLVOX_OK;
}

static int see_data(clv_hdf5 *f, void *user, int type, clv_hdf5_bytes message)
{
    data *d = user;
    switch (type) {
    case CLV_HDF5_SPACE: return see_space(f, d, message);
    case CLV_HDF5_TYPE: return see_type(f, d, message);
    case CLV_HDF5_LAYOUT: return see_layout(f, d, message);
    case CLV_HDF5_FILTERS: return see_filters(f, d, message);
    case CLV_HDF5_EXTERNAL: return clv_hdf5_refused(f, d->name, "has its values in other files");
    default: return CLVOX_OK;
    }
}

/* Chunks follow one another without a gap, each as the tree says. */
typedef struct chunks {
    const data *d;
    uint64_t next; /* the element that the next one begins with */
    uint8_t *out;  /* all elements */
    uint8_t *packed, *plain, *mixed;
    size_t whole; /* of a whole chunk */
    struct libdeflate_decompressor *inflate;
} chunks;

/* The chunk's bytes as they were before the filters; *from receives where they are. */
static int undo(clv_hdf5 *f, chunks *c, uint64_t stored, uint64_t skipped, const uint8_t **from)
{
    const data *d = c->d;
    size_t size = (size_t)stored, got = 0;
    *from = c->packed;
    for (int i = d->filters; i--;) {
        if (skipped >> i & 1)
            continue;
        if (d->filter[i] == DEFLATE) {
            if (libdeflate_zlib_decompress(c->inflate, *from, size, c->plain, c->whole, &got) ||
                got != c->whole || *from == c->plain)
                return clv_hdf5_damaged(f, d->name);
            *from = c->plain;
            size = got;
        } else if (size == c->whole && *from != c->mixed) {
            /* The first bytes of all elements, then the second ones ... */
            const size_t each = (size_t)d->each, count = size / each;
            for (size_t k = 0; k < count; k++)
                for (size_t byte = 0; byte < each; byte++)
                    c->mixed[k * each + byte] = (*from)[byte * count + k];
            *from = c->mixed;
        } else {
            return clv_hdf5_damaged(f, d->name);
        }
    }
    return size == c->whole ? CLVOX_OK : clv_hdf5_damaged(f, d->name);
}

static int read_chunk(clv_hdf5 *f, chunks *c, uint64_t address, uint64_t stored, uint64_t skipped)
{
    int status;
    const uint8_t *from;
    const uint64_t rest = c->d->points - c->next, count = rest < c->d->chunk ? rest : c->d->chunk;
    /* Nothing that was stored is much longer than the chunk, and no chunk longer than deflate could have made
     * it. */
    if (address > f->size || stored > f->size - address || stored > c->whole + c->whole / 8 + 64 ||
        c->whole / RATIO > stored) {
        status = clv_hdf5_damaged(f, c->d->name);
        goto end;
    }
    if (!c->packed) {
        c->packed = clv_array(c->whole + c->whole / 8 + 64, 1);
        c->plain = clv_array(c->whole, 1);
        c->mixed = clv_array(c->whole, 1);
        c->inflate = libdeflate_alloc_decompressor();
        if (!c->packed || !c->plain || !c->mixed || !c->inflate) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", f->path);
            goto end;
        }
    }
    CLV_TRY(clv_file_read_at(f->fd, f->path, c->packed, (size_t)stored, address));
    CLV_TRY(undo(f, c, stored, skipped, &from));
    memcpy(c->out + c->next * c->d->each, from, (size_t)(count * c->d->each));
    c->next += count;
end:
    return status;
}

static int read_chunks(clv_hdf5 *f, chunks *c, uint64_t address, int level)
{
    int status;
    uint8_t *room = NULL;
    uint64_t count;
    clv_hdf5_bytes b = {0};
    CLV_TRY(clv_hdf5_load_node(f, address, 1, level, &room, &b, &count));
    level = status;
    status = CLVOX_OK;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t stored = clv_hdf5_number(&b, 4), skipped = clv_hdf5_number(&b, 4),
                       first = clv_hdf5_number(&b, 8);
        clv_hdf5_take(&b, 8);
        const uint64_t child = clv_hdf5_number(&b, 8);
        if (first != c->next || c->next >= c->d->points) {
            status = clv_hdf5_damaged(f, c->d->name);
            goto end;
        }
        CLV_TRY(level ? read_chunks(f, c, child, level - 1) : read_chunk(f, c, child, stored, skipped));
    }
end:
    free(room);
    return status;
}

/* All elements of a data set, as they lie in the file; *out is the caller's to free. */
static int read_data(clv_hdf5 *f, const data *d, uint8_t **out)
{
    int status = CLVOX_OK;
    size_t size;
    chunks c = {.d = d};
    *out = NULL;
    bool good = !__builtin_mul_overflow(d->points, d->each, &size);
    if (d->chunked)
        good = good && d->rank == 1 && size / RATIO <= f->size &&
               !__builtin_mul_overflow(d->chunk, d->each, &c.whole) && c.whole / RATIO <= f->size;
    else
        good = good && !d->filters &&
               (!size || (d->size >= size && d->address <= f->size && size <= f->size - d->address));
    if (!good)
        return clv_hdf5_damaged(f, d->name);
    *out = clv_array(size, 1);
    if (!*out)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory: %.1f GB for its parameters", f->path,
                          (double)size * 1e-9);
    c.out = *out;
    if (size && d->chunked)
        CLV_TRY(read_chunks(f, &c, d->address, -1));
    else if (size)
        CLV_TRY(clv_file_read_at(f->fd, f->path, *out, size, d->address));
    if (size && d->chunked && c.next != d->points)
        status = clv_hdf5_damaged(f, d->name);
end:
    if (c.inflate)
        libdeflate_free_decompressor(c.inflate);
    free(c.packed);
    free(c.plain);
    free(c.mixed);
    if (status < 0) {
        free(*out);
        *out = NULL;
    }
    return status;
}

static int open_data(clv_hdf5 *f, uint64_t object, const char *name, data *d)
{
    *d = (data){.name = name};
    int status = clv_hdf5_messages(f, object, see_data, d);
    if (status >= 0 && !(d->has_space && d->has_type && d->has_layout))
        status = clv_hdf5_damaged(f, name);
    return status;
}

/* Finds an object of a global heap. */
static int find_text(clv_hdf5 *f, const char *name, uint64_t address, uint64_t wanted, clv_hdf5_bytes *out,
                     uint8_t **room)
{
    int status;
    CLV_TRY(clv_hdf5_load(f, address, 16, false, room, out));
    const bool good = clv_hdf5_signed(out, "GCOL") && clv_hdf5_number(out, 1) == 1;
    clv_hdf5_take(out, 3);
    const uint64_t size = clv_hdf5_number(out, 8);
    if (!good || size < 16) {
        status = clv_hdf5_damaged(f, name);
        goto end;
    }
    CLV_TRY(clv_hdf5_load(f, address, size, false, room, out));
    clv_hdf5_take(out, 16);
    while (out->left >= 16) {
        const uint64_t index = clv_hdf5_number(out, 2);
        clv_hdf5_take(out, 6);
        const uint64_t length = clv_hdf5_number(out, 8);
        if (!index || length > out->left)
            break;
        if (index == wanted) {
            out->left = (size_t)length;
            goto end;
        }
        const uint64_t padded = (length + 7) / 8 * 8;
        clv_hdf5_take(out, padded < out->left ? padded : out->left);
    }
    status = clv_hdf5_damaged(f, name);
end:
    return status;
}

int clv_hdf5_text(clv_hdf5 *f, uint64_t object, const char *name, char *out, size_t room)
{
    int status;
    data d;
    uint8_t *element = NULL, *collection = NULL;
    *out = 0;
    CLV_TRY(open_data(f, object, name, &d));
    bool good = d.points == 1 && (d.type == TEXT || d.type == TEXT_ELSEWHERE) && d.each < room;
    if (good) {
        CLV_TRY(read_data(f, &d, &element));
        clv_hdf5_bytes text = {element, (size_t)d.each, 0, false};
        uint64_t length = d.each;
        if (d.type == TEXT_ELSEWHERE) {
            length = clv_hdf5_number(&text, 4);
            const uint64_t address = clv_hdf5_number(&text, 8), index = clv_hdf5_number(&text, 4);
            CLV_TRY(find_text(f, name, address, index, &text, &collection));
        }
        good = length < room && length <= text.left;
        if (good)
            snprintf(out, room, "%.*s", (int)length, (const char *)text.at);
        for (const char *at = out; *at; at++)
            good = good && *at > ' ' && *at < 127;
    }
    status = good && *out ? CLVOX_OK : clv_hdf5_damaged(f, name);
end:
    free(element);
    free(collection);
    return status;
}

int clv_hdf5_numbers(clv_hdf5 *f, uint64_t object, const char *name, double **out, size_t *count)
{
    int status;
    data d;
    uint8_t *raw = NULL;
    *out = NULL;
    *count = 0;
    CLV_TRY(open_data(f, object, name, &d));
    if (d.type != REAL) {
        status = clv_hdf5_damaged(f, name);
        goto end;
    }
    CLV_TRY(read_data(f, &d, &raw));
    *out = clv_array((size_t)d.points, sizeof **out);
    if (!*out) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory: %.1f GB for its parameters", f->path,
                            (double)d.points * 8e-9);
        goto end;
    }
    *count = (size_t)d.points;
    const bool other = d.big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    const size_t each = d.each == 4 ? 4 : 8;
    for (size_t i = 0; i < *count; i++) {
        uint8_t *at = raw + i * each, turned[8];
        for (size_t k = 0; k < each; k++)
            turned[k] = at[other ? each - 1 - k : k];
        float single;
        memcpy(each == 4 ? (void *)&single : (void *)&(*out)[i], turned, each);
        if (each == 4)
            (*out)[i] = single;
    }
end:
    free(raw);
    return status;
}
