/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5: the file, its bytes, and the headers of its objects. */
#include "io/transform/hdf5_parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/status.h"

enum {
    MOST_LEVELS = 8, /* of a tree */
    MOST_BLOCKS = 32 /* of an object's header */
};
static const uint64_t STRUCTURE = 64 << 20;

int clv_hdf5_damaged(const clv_hdf5 *file, const char *what)
{
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: is not an ITK transform, or is damaged (%s), get a fresh copy",
                      file->path, what);
}

int clv_hdf5_refused(const clv_hdf5 *file, const char *name, const char *what)
{
    return clvox_fail(CLVOX_ERROR_FORMAT,
                      "%s: its %s %s, which clvox does not follow; write the transform again with ITK",
                      file->path, name, what);
}

/* ---- bytes -------------------------------------------------------------- */

const uint8_t *clv_hdf5_take(clv_hdf5_bytes *b, uint64_t size)
{
    const uint8_t *at = b->at;
    if (b->bad || size > b->left) {
        b->bad = true;
        return NULL;
    }
    b->at += size;
    b->left -= (size_t)size;
    b->address += size;
    return at;
}

uint64_t clv_hdf5_number(clv_hdf5_bytes *b, int size)
{
    const uint8_t *at = clv_hdf5_take(b, (uint64_t)size);
    uint64_t value = 0;
    for (int i = size; at && i--;)
        value = value << 8 | at[i];
    return value;
}

bool clv_hdf5_signed(clv_hdf5_bytes *b, const char *signature)
{
    const uint8_t *at = clv_hdf5_take(b, 4);
    return at && !memcmp(at, signature, 4);
}

/* Jenkins' lookup3, of which HDF5 makes its check sums. */
static uint32_t turned(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static uint32_t word(const uint8_t *at, size_t left)
{
    uint32_t value = 0;
    for (size_t i = 0; i < left && i < 4; i++)
        value |= (uint32_t)at[i] << 8 * i;
    return value;
}

static uint32_t check_sum(const uint8_t *at, size_t size)
{
    uint32_t a = 0xdeadbeef + (uint32_t)size, b = a, c = a;
    for (;; at += 12, size -= 12) {
        a += word(at, size);
        b += size > 4 ? word(at + 4, size - 4) : 0;
        c += size > 8 ? word(at + 8, size - 8) : 0;
        if (size <= 12)
            break;
        a = (a - c) ^ turned(c, 4), c += b;
        b = (b - a) ^ turned(a, 6), a += c;
        c = (c - b) ^ turned(b, 8), b += a;
        a = (a - c) ^ turned(c, 16), c += b;
        b = (b - a) ^ turned(a, 19), a += c;
        c = (c - b) ^ turned(b, 4), b += a;
    }
    if (!size)
        return c;
    c = (c ^ b) - turned(b, 14);
    a = (a ^ c) - turned(c, 11);
    b = (b ^ a) - turned(a, 25);
    c = (c ^ b) - turned(b, 16);
    a = (a ^ c) - turned(c, 4);
    b = (b ^ a) - turned(a, 14);
    return (c ^ b) - turned(b, 24);
}

int clv_hdf5_load(clv_hdf5 *f, uint64_t address, uint64_t size, bool summed, uint8_t **room,
                  clv_hdf5_bytes *out)
{
    const uint64_t cost = 64; /* of any read */
    free(*room);
    *room = NULL;
    if (address > f->size || size > f->size - address || size < (summed ? 4 : 1))
        return clv_hdf5_damaged(f, "a part of it would lie beyond its end");
    if (size + cost > f->left)
        return clv_hdf5_damaged(f, "its structure is endless");
    f->left -= size + cost;
    *room = clv_array(size, 1);
    if (!*room)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", f->path);
    int status = clv_file_read_at(f->fd, f->path, *room, (size_t)size, address);
    if (status < 0)
        return status;
    *out = (clv_hdf5_bytes){*room, (size_t)size - (summed ? 4 : 0), address, false};
    if (summed && check_sum(*room, out->left) != word(*room + out->left, 4))
        return clv_hdf5_damaged(f, "a check sum is wrong");
    return CLVOX_OK;
}

int clv_hdf5_load_node(clv_hdf5 *f, uint64_t address, int type, int level, uint8_t **room,
                       clv_hdf5_bytes *out, uint64_t *count)
{
    int status;
    const uint64_t key = type ? 24 : 8;
    CLV_TRY(clv_hdf5_load(f, address, 24, false, room, out));
    const bool good = clv_hdf5_signed(out, "TREE");
    const uint64_t is = clv_hdf5_number(out, 1), at = clv_hdf5_number(out, 1);
    *count = clv_hdf5_number(out, 2);
    if (!good || is != (uint64_t)type || (level >= 0 ? at != (uint64_t)level : at > MOST_LEVELS) || !*count) {
        status = clv_hdf5_damaged(f, "a tree");
        goto end;
    }
    CLV_TRY(clv_hdf5_load(f, address + 24, *count * (key + 8) + key, false, room, out));
    status = (int)at;
end:
    return status;
}

/* ---- messages of an object ---------------------------------------------- */

typedef struct header {
    int version;
    bool ordered; /* messages say when they were made */
    int blocks;
    struct {
        uint64_t address, size;
    } block[MOST_BLOCKS];
} header;

/* The first block of an object's header. */
static int begin_header(clv_hdf5 *f, uint64_t address, header *h)
{
    int status;
    uint8_t *room = NULL;
    clv_hdf5_bytes b = {0};
    *h = (header){.version = 2, .blocks = 1};
    if (address >= f->size) {
        status = clv_hdf5_damaged(f, "an object would lie beyond its end");
        goto end;
    }
    const uint64_t rest = f->size - address;
    CLV_TRY(clv_hdf5_load(f, address, rest < 48 ? rest : 48, false, &room, &b));
    clv_hdf5_bytes old = b;
    if (clv_hdf5_signed(&b, "OHDR")) {
        const uint64_t version = clv_hdf5_number(&b, 1), flags = clv_hdf5_number(&b, 1);
        h->ordered = flags & 4;
        clv_hdf5_take(&b, (flags & 32 ? 16 : 0) + (flags & 16 ? 4 : 0));
        h->block[0].size = clv_hdf5_number(&b, 1 << (flags & 3));
        h->block[0].address = address;
        const uint64_t prefix = b.address - address;
        /* The sum is over the prefix, too. */
        if (b.bad || version != 2 || __builtin_add_overflow(h->block[0].size, prefix + 4, &h->block[0].size))
            status = clv_hdf5_damaged(f, "the header of an object");
    } else {
        h->version = (int)clv_hdf5_number(&old, 1);
        clv_hdf5_take(&old, 7);
        h->block[0].size = clv_hdf5_number(&old, 4);
        h->block[0].address = address + 16;
        if (old.bad || h->version != 1)
            status = clv_hdf5_damaged(f, "the header of an object");
    }
end:
    free(room);
    return status;
}

/* Passes over what comes before the messages of a block of version 2. */
static bool pass_prefix(clv_hdf5_bytes *b, bool first)
{
    if (!first)
        return clv_hdf5_signed(b, "OCHK");
    clv_hdf5_take(b, 5);
    const uint64_t flags = clv_hdf5_number(b, 1);
    clv_hdf5_take(b, (flags & 32 ? 16 : 0) + (flags & 16 ? 4 : 0) + (1u << (flags & 3)));
    return !b->bad;
}

int clv_hdf5_messages(clv_hdf5 *f, uint64_t object, clv_hdf5_receive to, void *user)
{
    int status;
    header h;
    uint8_t *room = NULL;
    clv_hdf5_bytes b = {0};
    CLV_TRY(begin_header(f, object, &h));
    for (int i = 0; i < h.blocks; i++) {
        const bool new = h.version == 2;
        const size_t head = new ? (h.ordered ? 6 : 4) : 8;
        if (!h.block[i].size)
            continue;
        CLV_TRY(clv_hdf5_load(f, h.block[i].address, h.block[i].size, new, &room, &b));
        if (new && !pass_prefix(&b, !i)) {
            status = clv_hdf5_damaged(f, "the header of an object");
            goto end;
        }
        while (b.left >= head) {
            const int type = (int)clv_hdf5_number(&b, new ? 1 : 2);
            const uint64_t size = clv_hdf5_number(&b, 2), flags = clv_hdf5_number(&b, 1);
            clv_hdf5_take(&b, head - (new ? 4 : 5));
            clv_hdf5_bytes message = {b.at, (size_t)size, b.address, false};
            const bool ours = type == CLV_HDF5_SPACE || type == CLV_HDF5_LINK_INFO || type == CLV_HDF5_TYPE ||
                              type == CLV_HDF5_LINK || type == CLV_HDF5_LAYOUT || type == CLV_HDF5_FILTERS ||
                              type == CLV_HDF5_SYMBOLS;
            if (!clv_hdf5_take(&b, size) || (flags & 2 && ours)) {
                status = clv_hdf5_damaged(f, "a message of an object");
                goto end;
            }
            if (type == CLV_HDF5_CONTINUATION) {
                if (h.blocks == MOST_BLOCKS) {
                    status = clv_hdf5_damaged(f, "the header of an object is endless");
                    goto end;
                }
                h.block[h.blocks].address = clv_hdf5_number(&message, 8);
                h.block[h.blocks++].size = clv_hdf5_number(&message, 8);
            } else if (ours || type == CLV_HDF5_EXTERNAL) {
                CLV_TRY(to(f, user, type, message));
            }
        }
    }
end:
    free(room);
    return status;
}

/* ---- the file ----------------------------------------------------------- */

int clv_hdf5_open(const char *path, clv_hdf5 *f)
{
    int status;
    uint8_t *room = NULL;
    clv_hdf5_bytes b = {0};
    *f = (clv_hdf5){.path = path, .fd = -1};
    CLV_TRY(clv_file_open(path, &f->fd, &f->size));
    f->left = STRUCTURE + f->size;
    CLV_TRY(clv_hdf5_load(f, 0, f->size < 96 ? f->size : 96, false, &room, &b));
    const uint8_t *magic = clv_hdf5_take(&b, 8);
    const uint64_t version = clv_hdf5_number(&b, 1);
    const bool old = version < 2;
    if (b.bad || memcmp(magic, "\x89HDF\r\n\x1a\n", 8) != 0 || version > 3) {
        status = clv_hdf5_damaged(f, "HDF5");
        goto end;
    }
    if (old)
        clv_hdf5_take(&b, 4);
    const uint64_t offsets = clv_hdf5_number(&b, 1), lengths = clv_hdf5_number(&b, 1);
    clv_hdf5_take(&b, old ? 1 + 4 + 4 + (version == 1 ? 4 : 0) : 1);
    const uint64_t base = clv_hdf5_number(&b, 8);
    clv_hdf5_take(&b, 8);
    const uint64_t end = clv_hdf5_number(&b, 8);
    if (old)
        clv_hdf5_take(&b, 16);
    f->root = clv_hdf5_number(&b, 8);
    if (!b.bad && !old)
        CLV_TRY(clv_hdf5_load(f, 0, 48, true, &room, &b));
    if (b.bad || offsets != 8 || lengths != 8 || base || end > f->size || f->root >= f->size)
        status = clv_hdf5_damaged(f, end > f->size && !b.bad ? "cut short" : "HDF5");
end:
    free(room);
    return status;
}

void clv_hdf5_close(clv_hdf5 *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}
