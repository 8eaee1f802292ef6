/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5: groups of old, whose names are in a tree and a heap of letters, small ones of Link messages, and
 * large ones, whose Link messages are in a fractal heap. */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "io/transform/hdf5_parts.h"

typedef struct search {
    const char *name;
    uint64_t object; /* 0: not found */
} search;

static int found(clv_hdf5 *f, search *s, uint64_t object, bool hard)
{
    if (!hard)
        return clv_hdf5_refused(f, s->name, "is a link to another place");
    if (!object || object >= f->size)
        return clv_hdf5_damaged(f, s->name);
    s->object = object;
    return CLVOX_OK;
}

/* A Link message, with its name. */
static int see_link(clv_hdf5 *f, search *s, clv_hdf5_bytes b)
{
    const uint64_t version = clv_hdf5_number(&b, 1), flags = clv_hdf5_number(&b, 1),
                   type = flags & 8 ? clv_hdf5_number(&b, 1) : 0;
    clv_hdf5_take(&b, (flags & 4 ? 8 : 0) + (flags & 16 ? 1 : 0));
    const uint64_t length = clv_hdf5_number(&b, 1 << (flags & 3));
    const uint8_t *name = clv_hdf5_take(&b, length);
    if (b.bad || version != 1 || !length)
        return clv_hdf5_damaged(f, "a link of a group");
    if (length != strlen(s->name) || memcmp(name, s->name, length) != 0)
        return CLVOX_OK;
    return found(f, s, clv_hdf5_number(&b, 8), !type);
}

/* A symbol table node: names, which lie in the group's local heap, and objects. */
static int see_symbols(clv_hdf5 *f, search *s, uint64_t address, clv_hdf5_bytes names)
{
    enum { ENTRY = 40, SOFT = 2 };
    int status;
    uint8_t *room = NULL;
    clv_hdf5_bytes b = {0};
    CLV_TRY(clv_hdf5_load(f, address, 8, false, &room, &b));
    const bool good = clv_hdf5_signed(&b, "SNOD");
    clv_hdf5_take(&b, 2);
    const uint64_t count = clv_hdf5_number(&b, 2);
    if (!good || b.bad) {
        status = clv_hdf5_damaged(f, "a table of names");
        goto end;
    }
    if (count)
        CLV_TRY(clv_hdf5_load(f, address + 8, count * ENTRY, false, &room, &b));
    for (uint64_t i = 0; i < count && !s->object; i++) {
        clv_hdf5_bytes name = names;
        const uint64_t at = clv_hdf5_number(&b, 8), object = clv_hdf5_number(&b, 8),
                       kind = clv_hdf5_number(&b, 4);
        clv_hdf5_take(&b, ENTRY - 20);
        clv_hdf5_take(&name, at);
        if (b.bad || name.bad || !memchr(name.at, 0, name.left)) {
            status = clv_hdf5_damaged(f, "a name of a group");
            goto end;
        }
        if (!strcmp((const char *)name.at, s->name))
            CLV_TRY(found(f, s, object, kind != SOFT));
    }
end:
    free(room);
    return status;
}

/* The names below a node; level -1: of whichever level the node is. */
static int see_tree(clv_hdf5 *f, search *s, uint64_t address, int level, clv_hdf5_bytes names)
{
    int status;
    uint8_t *room = NULL;
    uint64_t count;
    clv_hdf5_bytes b = {0};
    CLV_TRY(clv_hdf5_load_node(f, address, 0, level, &room, &b, &count));
    level = status;
    status = CLVOX_OK;
    for (uint64_t i = 0; i < count && !s->object; i++) {
        clv_hdf5_take(&b, 8);
        const uint64_t child = clv_hdf5_number(&b, 8);
        CLV_TRY(level ? see_tree(f, s, child, level - 1, names) : see_symbols(f, s, child, names));
    }
end:
    free(room);
    return status;
}

/* A group of old: a tree of names, and a heap of their letters. */
static int see_old_group(clv_hdf5 *f, search *s, clv_hdf5_bytes message)
{
    int status;
    uint8_t *room = NULL;
    clv_hdf5_bytes b = {0};
    const uint64_t tree = clv_hdf5_number(&message, 8), heap = clv_hdf5_number(&message, 8);
    CLV_TRY(clv_hdf5_load(f, heap, 32, false, &room, &b));
    const bool good = clv_hdf5_signed(&b, "HEAP") && !message.bad;
    clv_hdf5_take(&b, 4);
    const uint64_t size = clv_hdf5_number(&b, 8);
    clv_hdf5_take(&b, 8);
    const uint64_t address = clv_hdf5_number(&b, 8);
    if (!good) {
        status = clv_hdf5_damaged(f, "a group");
        goto end;
    }
    CLV_TRY(clv_hdf5_load(f, address, size, false, &room, &b));
    /* Empty groups have an empty node. */
    uint8_t *first = NULL;
    clv_hdf5_bytes node = {0};
    status = clv_hdf5_load(f, tree, 8, false, &first, &node);
    clv_hdf5_take(&node, 6);
    const bool empty = status >= 0 && !clv_hdf5_number(&node, 2);
    free(first);
    if (status >= 0 && !empty)
        status = see_tree(f, s, tree, -1, b);
end:
    free(room);
    return status;
}

/* A fractal heap, in which large groups keep their Link messages, as far as they need it: one direct block,
 * or one indirect block of direct ones. */
typedef struct heap {
    uint64_t root, address; /* of its root block; its own */
    uint64_t start, most;   /* bytes of the first direct blocks and of the largest */
    uint64_t width;         /* blocks of a row */
    int rows;               /* of the root block; 0: it is a direct one */
    int offset_bytes, length_bytes;
} heap;

static int load_heap(clv_hdf5 *f, uint64_t address, heap *out)
{
    int status;
    uint8_t *room = NULL;
    clv_hdf5_bytes b = {0};
    CLV_TRY(clv_hdf5_load(f, address, 146, true, &room, &b));
    bool good = clv_hdf5_signed(&b, "FRHP") && !clv_hdf5_number(&b, 1);
    clv_hdf5_take(&b, 2);
    const uint64_t filters = clv_hdf5_number(&b, 2);
    clv_hdf5_take(&b, 1);
    const uint64_t object = clv_hdf5_number(&b, 4);
    clv_hdf5_take(&b, 12 * 8);
    out->address = address;
    out->width = clv_hdf5_number(&b, 2);
    out->start = clv_hdf5_number(&b, 8);
    out->most = clv_hdf5_number(&b, 8);
    const uint64_t bits = clv_hdf5_number(&b, 2);
    clv_hdf5_take(&b, 2);
    out->root = clv_hdf5_number(&b, 8);
    out->rows = (int)clv_hdf5_number(&b, 2);
    const uint64_t longest = object < out->most ? object : out->most;
    out->offset_bytes = (int)((bits + 7) / 8);
    out->length_bytes = 1;
    while (out->length_bytes < 8 && longest >> 8 * out->length_bytes)
        out->length_bytes++;
    good = good && !b.bad && !filters && bits && bits <= 64 && out->width && out->start &&
           out->most <= UINT32_MAX && out->start <= out->most && out->rows < 64;
    status = good ? CLVOX_OK : clv_hdf5_damaged(f, "the heap of a group");
end:
    free(room);
    return status;
}

/* The address in the file of a byte of the heap, and how many bytes of its block follow. */
static int heap_place(clv_hdf5 *f, const heap *h, uint64_t offset, uint64_t *address, uint64_t *left)
{
    int status = CLVOX_OK;
    uint8_t *room = NULL;
    uint64_t size = h->start, first = 0, block = h->root;
    int row = 0;
    if (h->rows) {
        /* Rows 0 and 1 have blocks of the first size, each that follows twice that of the one before. */
        while (row < h->rows && size <= h->most && offset - first >= size * h->width) {
            first += size * h->width;
            size <<= row++ > 0;
        }
        if (row == h->rows || size > h->most) {
            status = clv_hdf5_damaged(f, "the heap of a group");
            goto end;
        }
        const uint64_t column = (offset - first) / size;
        clv_hdf5_bytes b = {0};
        CLV_TRY(clv_hdf5_load(f, h->root, 4, false, &room, &b));
        if (!clv_hdf5_signed(&b, "FHIB")) {
            status = clv_hdf5_damaged(f, "the heap of a group");
            goto end;
        }
        first += column * size;
        CLV_TRY(clv_hdf5_load(
            f, h->root + 13 + (uint64_t)h->offset_bytes + 8 * ((uint64_t)row * h->width + column), 8, false,
            &room, &b));
        block = clv_hdf5_number(&b, 8);
    }
    clv_hdf5_bytes b = {0};
    CLV_TRY(clv_hdf5_load(f, block, 4, false, &room, &b));
    if (!clv_hdf5_signed(&b, "FHDB") || offset - first >= size) {
        status = clv_hdf5_damaged(f, "the heap of a group");
        goto end;
    }
    *address = block + offset - first;
    *left = size - (offset - first);
end:
    free(room);
    return status;
}

/* Records of a tree by name: a hash and the place of the Link message. */
static int see_records(clv_hdf5 *f, search *s, const heap *h, clv_hdf5_bytes b, uint64_t count,
                       uint64_t record)
{
    int status = CLVOX_OK;
    uint8_t *room = NULL;
    for (uint64_t i = 0; i < count && !s->object; i++) {
        clv_hdf5_bytes message = {0}, r = {clv_hdf5_take(&b, record), (size_t)record, 0, b.bad};
        uint64_t address = 0, left = 0;
        clv_hdf5_take(&r, 4);
        const uint64_t kind = clv_hdf5_number(&r, 1), offset = clv_hdf5_number(&r, h->offset_bytes),
                       size = clv_hdf5_number(&r, h->length_bytes);
        if (r.bad || kind) {
            status = clv_hdf5_damaged(f, "a link of a group");
            goto end;
        }
        CLV_TRY(heap_place(f, h, offset, &address, &left));
        CLV_TRY(clv_hdf5_load(f, address, size < left ? size : left, false, &room, &message));
        CLV_TRY(see_link(f, s, message));
    }
end:
    free(room);
    return status;
}

/* A leaf, or a node above leaves, of a version 2 tree. */
static int see_node(clv_hdf5 *f, search *s, const heap *h, uint64_t address, uint64_t count,
                    const uint64_t shape[3])
{
    int status;
    uint8_t *room = NULL;
    clv_hdf5_bytes b = {0};
    const uint64_t node = shape[0], record = shape[1], depth = shape[2], most = (node - 10) / record;
    const int bytes_of = most > 255 ? 2 : 1;
    if (count > most) {
        status = clv_hdf5_damaged(f, "a tree of a group");
        goto end;
    }
    CLV_TRY(clv_hdf5_load(f, address,
                          10 + count * record + (depth ? (count + 1) * (8 + (uint64_t)bytes_of) : 0), true,
                          &room, &b));
    if (!clv_hdf5_signed(&b, depth ? "BTIN" : "BTLF")) {
        status = clv_hdf5_damaged(f, "a tree of a group");
        goto end;
    }
    clv_hdf5_take(&b, 2);
    clv_hdf5_bytes records = {clv_hdf5_take(&b, count * record), (size_t)(count * record), 0, b.bad};
    CLV_TRY(see_records(f, s, h, records, count, record));
    for (uint64_t i = 0; depth && i <= count && !s->object; i++) {
        const uint64_t child = clv_hdf5_number(&b, 8), below = clv_hdf5_number(&b, bytes_of);
        CLV_TRY(see_node(f, s, h, child, below, (uint64_t[]){node, record, 0}));
    }
end:
    free(room);
    return status;
}

/* A large group: a heap of Link messages and a tree that says where they are. */
static int see_large_group(clv_hdf5 *f, search *s, clv_hdf5_bytes message)
{
    int status = CLVOX_OK;
    uint8_t *room = NULL;
    heap h;
    clv_hdf5_bytes b = {0};
    clv_hdf5_number(&message, 1);
    if (clv_hdf5_number(&message, 1) & 1)
        clv_hdf5_take(&message, 8);
    const uint64_t heap_at = clv_hdf5_number(&message, 8), tree = clv_hdf5_number(&message, 8);
    if (message.bad || heap_at == UINT64_MAX)
        return message.bad ? clv_hdf5_damaged(f, "a group") : CLVOX_OK;
    CLV_TRY(load_heap(f, heap_at, &h));
    CLV_TRY(clv_hdf5_load(f, tree, 38, true, &room, &b));
    const bool good =
        clv_hdf5_signed(&b, "BTHD") && clv_hdf5_number(&b, 1) == 0 && clv_hdf5_number(&b, 1) == 5;
    uint64_t shape[3] = {clv_hdf5_number(&b, 4), clv_hdf5_number(&b, 2), clv_hdf5_number(&b, 2)};
    clv_hdf5_take(&b, 2);
    const uint64_t root = clv_hdf5_number(&b, 8), count = clv_hdf5_number(&b, 2);
    if (!good || b.bad || shape[0] < 64 || shape[0] > 1 << 16 || shape[1] < 11 || shape[1] > 32 ||
        shape[2] > 1)
        status = clv_hdf5_damaged(f, "a tree of a group");
    else if (root != UINT64_MAX)
        status = see_node(f, s, &h, root, count, shape);
end:
    free(room);
    return status;
}

static int see_message(clv_hdf5 *f, void *user, int type, clv_hdf5_bytes message)
{
    search *s = user;
    if (s->object)
        return CLVOX_OK;
    return type == CLV_HDF5_SYMBOLS     ? see_old_group(f, s, message)
           : type == CLV_HDF5_LINK_INFO ? see_large_group(f, s, message)
           : type == CLV_HDF5_LINK      ? see_link(f, s, message)
                                        : CLVOX_OK;
}

int clv_hdf5_find(clv_hdf5 *f, uint64_t group, const char *name, uint64_t *object)
{
    search s = {.name = name};
    int status = clv_hdf5_messages(f, group, see_message, &s);
    *object = status < 0 ? 0 : s.object;
    return status;
}
