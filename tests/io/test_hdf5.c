/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5, files made byte by byte: what ITK's transforms need is read, whatever leads out of the file or around
 * in it is refused. tests/interop has the files of other programs. */
#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "clvox/transform.h"
#include "files.h"

enum { SLOT = 512, SLOTS = 24, SIZE = SLOT * SLOTS };
/* Slots of the file. */
enum {
    SUPER,
    ROOT,
    ALL,
    FIRST,
    CLASS,
    VALUES,
    FIXED,
    CLASS_AT,
    VALUES_AT,
    FIXED_AT,
    TREE_AT,
    CHUNK_AT,
    HEAP_AT = 16
};
enum {
    SPACE = 1,
    LINK_INFO,
    TYPE = 3,
    LINK = 6,
    EXTERNAL = 7,
    LAYOUT = 8,
    FILTERS = 11,
    MORE = 16,
    SYMBOLS = 17
};

/* A file of one affine, and what is wrong with it. */
typedef struct form {
    int link;         /* the type of the link to the parameters: 0 is hard, 1 soft, 64 external */
    bool external;    /* parameters are in other files */
    uint64_t points;  /* of the parameters, 0: 12 */
    uint64_t classes; /* strings of TransformType, 0: 1 */
    bool variable;    /* the string is in a heap, at: */
    uint64_t heap, index, length;
    uint64_t more, more_size; /* the header of the parameters goes on there */
    bool chunked;             /* in two chunks of 7 and 5, shuffled and deflated */
    int filter;               /* in the place of deflate */
    uint64_t second;          /* where the second chunk begins, 0: 7 */
    uint64_t child;           /* the tree's node is of level 1, and this is its child */
    uint64_t chunk;           /* elements of a chunk, 0: 7 */
    bool symbols;             /* the root is a group of old, whose tree is its own child */
} form;

typedef struct built {
    uint8_t b[SIZE];
    size_t at;    /* of the next byte */
    size_t begin; /* of the header that is being written */
} built;

static void put(built *f, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        f->b[f->at++] = (uint8_t)(i < 8 ? value >> 8 * i : 0);
}

static void put_text(built *f, const char *text, size_t bytes)
{
    memcpy(f->b + f->at, text, bytes);
    f->at += bytes;
}

static uint64_t place(int slot)
{
    return (uint64_t)slot * SLOT;
}

static void begin(built *f, int slot)
{
    f->begin = f->at = place(slot);
    put(f, 1, 4), put(f, 1, 12); /* version 1, used once */
}

static size_t message(built *f, int type)
{
    put(f, (uint64_t)type, 2);
    put(f, 0, 6);
    return f->at;
}

/* Ends a message that began there, and the header up to here. */
static void ends(built *f, size_t from)
{
    while (f->at % 8)
        put(f, 0, 1);
    const size_t end = f->at;
    f->b[f->begin + 2]++;
    f->at = from - 6;
    put(f, end - from, 2);
    f->at = f->begin + 8;
    put(f, end - f->begin - 16, 4);
    f->at = end;
}

static void begin_group(built *f, int slot)
{
    begin(f, slot);
    const size_t from = message(f, LINK_INFO);
    put(f, 0, 2), put(f, UINT64_MAX, 8), put(f, UINT64_MAX, 8);
    ends(f, from);
}

static void put_link(built *f, const char *name, int slot, int type)
{
    const size_t from = message(f, LINK);
    put(f, 1, 1);
    put(f, 8, 1);
    put(f, (uint64_t)type, 1);
    put(f, strlen(name), 1);
    put_text(f, name, strlen(name));
    if (type)
        put(f, 2, 2), put_text(f, "/x", 2);
    else
        put(f, place(slot), 8);
    ends(f, from);
}

static void put_space(built *f, uint64_t points)
{
    const size_t from = message(f, SPACE);
    put(f, 1, 1);
    put(f, 1, 7);
    put(f, points, 8);
    ends(f, from);
}

static void put_layout(built *f, uint64_t address, uint64_t size)
{
    const size_t from = message(f, LAYOUT);
    put(f, 3, 1);
    put(f, 1, 1);
    put(f, address, 8);
    put(f, size, 8);
    ends(f, from);
}

static void put_doubles(built *f)
{
    const size_t from = message(f, TYPE);
    put_text(f, "\x11\x20\x3f\0\x08\0\0\0\0\0\x40\0\x34\x0b\0\x34\xff\x03\0\0", 20);
    ends(f, from);
}

static const double affine[12] = {1, 0.25, 0, 0, 1, 0, 0, 0, 2, 3, 4, 5};
static const char name[32] = "AffineTransform_double_3_3";

static void put_chunks(built *f, const form *o)
{
    struct libdeflate_compressor *deflate = libdeflate_alloc_compressor(1);
    const uint64_t chunk = o->chunk ? o->chunk : 7;
    size_t from = message(f, LAYOUT), at[3] = {place(CHUNK_AT)};
    put(f, 3, 1);
    put(f, 2, 1);
    put(f, 2, 1);
    put(f, place(TREE_AT), 8);
    put(f, chunk, 4);
    put(f, 8, 4);
    ends(f, from);
    from = message(f, FILTERS);
    put(f, 1, 1);
    put(f, 2, 7);
    put(f, 2, 2), put(f, 0, 4), put(f, 1, 2), put(f, 8, 8);
    put(f, o->filter ? (uint64_t)o->filter : 1, 2), put(f, 0, 4), put(f, 1, 2), put(f, 4, 8);
    ends(f, from);
    for (int k = 0; k < 2; k++) {
        uint8_t mixed[56] = {0};
        for (int i = 0; i < 7 && 7 * k + i < 12; i++)
            for (int byte = 0; byte < 8; byte++)
                mixed[7 * byte + i] = ((const uint8_t *)&affine[7 * k + i])[byte];
        at[k + 1] = at[k] + libdeflate_zlib_compress(deflate, mixed, 56, f->b + at[k], 256);
    }
    libdeflate_free_compressor(deflate);
    f->at = place(TREE_AT);
    put_text(f, "TREE\1", 5);
    put(f, o->child != 0, 1);
    put(f, o->child ? 1 : 2, 2);
    put(f, UINT64_MAX, 8), put(f, UINT64_MAX, 8);
    for (int k = 0; k < 2; k++) {
        put(f, at[k + 1] - at[k], 4), put(f, 0, 4);
        put(f, k ? (o->second ? o->second : 7) : 0, 16);
        put(f, o->child ? o->child : at[k], 8);
    }
    put(f, 0, 8), put(f, 14, 16);
}

static const char *build(const form *o)
{
    static built f;
    f = (built){.at = 0};
    put_text(&f, "\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0\x04\0\x10\0\0\0\0\0", 24);
    put(&f, 0, 8), put(&f, UINT64_MAX, 8), put(&f, SIZE, 8), put(&f, UINT64_MAX, 8);
    put(&f, 0, 8), put(&f, place(ROOT), 8);

    begin(&f, ROOT);
    if (o->symbols) {
        const size_t from = message(&f, SYMBOLS);
        put(&f, place(TREE_AT), 8), put(&f, place(CHUNK_AT), 8);
        ends(&f, from);
        f.at = place(TREE_AT);
        put_text(&f, "TREE\0\1\1\0", 8);
        put(&f, UINT64_MAX, 8), put(&f, UINT64_MAX, 8);
        put(&f, 0, 8), put(&f, place(TREE_AT), 8);
        f.at = place(CHUNK_AT);
        put_text(&f, "HEAP\0\0\0\0", 8);
        put(&f, 8, 8), put(&f, UINT64_MAX, 8), put(&f, place(CHUNK_AT) + 32, 8);
    } else {
        begin_group(&f, ROOT);
        put_link(&f, "TransformGroup", ALL, 0);
    }
    begin_group(&f, ALL);
    put_link(&f, "0", FIRST, 0);
    begin_group(&f, FIRST);
    put_link(&f, "TransformType", CLASS, 0);
    put_link(&f, "TransformParameters", VALUES, o->link);
    put_link(&f, "TransformFixedParameters", FIXED, 0);

    begin(&f, CLASS);
    put_space(&f, o->classes ? o->classes : 1);
    size_t from = message(&f, TYPE);
    if (o->variable)
        put_text(&f, "\x19\1\0\0\x10\0\0\0\x13\0\0\0\1\0\0\0", 16);
    else
        put_text(&f, "\x13\0\0\0\x20\0\0\0", 8);
    ends(&f, from);
    put_layout(&f, place(CLASS_AT), (o->classes ? o->classes : 1) * (o->variable ? 16 : 32));
    f.at = place(CLASS_AT);
    if (o->variable) {
        put(&f, o->length ? o->length : strlen(name), 4);
        put(&f, o->heap ? o->heap : place(HEAP_AT), 8), put(&f, o->index ? o->index : 1, 4);
        f.at = place(HEAP_AT);
        put_text(&f, "GCOL\1\0\0\0", 8);
        put(&f, 4096, 8), put(&f, 1, 2), put(&f, 1, 6), put(&f, strlen(name), 8);
        put_text(&f, name, 32);
        put(&f, 0, 8), put(&f, 4096 - 16 - 48, 8);
    } else {
        put_text(&f, name, 32);
    }

    begin(&f, VALUES);
    put_space(&f, o->points ? o->points : 12);
    put_doubles(&f);
    if (o->external) {
        from = message(&f, EXTERNAL);
        put(&f, 1, 4), put(&f, 1, 2), put(&f, 1, 2), put(&f, place(FIXED_AT), 8);
        ends(&f, from);
    }
    if (o->more) {
        from = message(&f, MORE);
        put(&f, o->more, 8), put(&f, o->more_size, 8);
        ends(&f, from);
    }
    const size_t at = f.at;
    memcpy(f.b + place(VALUES_AT), affine, sizeof affine);
    if (o->chunked) {
        f.at = at;
        put_chunks(&f, o);
    } else {
        put_layout(&f, place(VALUES_AT), o->points ? o->points * 8 : sizeof affine);
    }
    begin(&f, FIXED);
    put_space(&f, 3);
    put_doubles(&f);
    put_layout(&f, place(FIXED_AT), 3 * sizeof(double));
    assert_true(!files_write(files_in("made.h5"), f.b, SIZE));
    return files_in("made.h5");
}

static void reads(const form *o)
{
    clvox_transform *t = NULL;
    assert_ok(clvox_transform_read(build(o), &t));
    assert_true(t && !t->is_warp && t->matrix[0][1] == 0.25 && t->matrix[2][2] == 2 &&
                t->matrix[0][3] == -3 && t->matrix[1][3] == -4 && t->matrix[2][3] == 5);
    clvox_transform_destroy(&t);
}

static void refuses(const form *o, const char *says)
{
    clvox_transform *t = NULL;
    assert_that(clvox_transform_read(build(o), &t) == CLVOX_ERROR_FORMAT && !t, "%s", says);
    assert_that(strstr(clvox_message(), says), "\"%s\" lacks \"%s\"", clvox_message(), says);
}

static void what_itk_stores_is_read(void **state)
{
    (void)state;
    reads(&(form){0});
    reads(&(form){.variable = true});
    reads(&(form){.chunked = true});
}

static void ways_out_of_the_file_are_refused(void **state)
{
    (void)state;
    refuses(&(form){.link = 1}, "link to another place");
    refuses(&(form){.link = 64}, "link to another place");
    refuses(&(form){.link = 65}, "link to another place");
    refuses(&(form){.external = true}, "in other files");
    refuses(&(form){.external = true, .points = (UINT64_C(1) << 61) + (UINT64_C(1) << 53)}, "");
    static const int filters[] = {3, 4, 5, 6, 307, 32000, 65535};
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        refuses(&(form){.chunked = true, .filter = filters[i]}, "a filter other than deflate and shuffle");
}

static void sizes_and_addresses_that_lie_are_refused(void **state)
{
    (void)state;
    static const uint64_t far[] = {SIZE, SIZE - 8, UINT64_MAX, UINT64_MAX - 8, UINT64_C(1) << 63, 4};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        refuses(&(form){.variable = true, .heap = far[i]}, "damaged");
        refuses(&(form){.chunked = true, .child = far[i]}, "damaged");
        refuses(&(form){.chunked = true, .second = far[i]}, "damaged");
        if (far[i] > 4) {
            refuses(&(form){.more = far[i], .more_size = 64}, "damaged");
            refuses(&(form){.more = 64, .more_size = far[i]}, "damaged");
        }
    }
    static const uint64_t points[] = {13,
                                      11,
                                      UINT64_C(1) << 61,
                                      (UINT64_C(1) << 61) + 12,
                                      (UINT64_C(1) << 61) - 1,
                                      1 << 20,
                                      SIZE,
                                      UINT64_C(1) << 40,
                                      UINT64_MAX,
                                      UINT64_MAX / 8 + 1};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        for (int chunked = 0; chunked < 2; chunked++)
            refuses(&(form){.points = points[i], .chunked = chunked}, "");
    refuses(&(form){.chunked = true, .chunk = UINT32_MAX}, "damaged");
    refuses(&(form){.chunked = true, .chunk = 6}, "damaged");
}

static void one_string_is_read_and_no_other(void **state)
{
    (void)state;
    refuses(&(form){.classes = 2}, "TransformType");
    refuses(&(form){.variable = true, .classes = 2}, "TransformType");
    refuses(&(form){.variable = true, .classes = UINT64_C(1) << 60}, "TransformType");
    refuses(&(form){.variable = true, .index = 2}, "TransformType");
    refuses(&(form){.variable = true, .length = 27}, "TransformType");
    refuses(&(form){.variable = true, .length = UINT32_MAX}, "TransformType");
}

static void circles_end(void **state)
{
    (void)state;
    /* A continuation that is its own, a tree that is its own child, and with it a group. */
    refuses(&(form){.more = place(VALUES) + 16, .more_size = 200}, "endless");
    refuses(&(form){.chunked = true, .child = place(TREE_AT)}, "damaged");
    refuses(&(form){.symbols = true}, "damaged");
}

/* No byte that is wrong does harm; an affine comes out, or a sentence. */
static void every_byte_may_be_wrong(void **state)
{
    (void)state;
    static const form forms[] = {{.variable = true}, {.chunked = true}};
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        size_t size;
        const char *path = build(&forms[k]);
        uint8_t *bytes = files_read(path, &size);
        const int fd = open(path, O_WRONLY);
        assert_true(fd >= 0);
        for (size_t i = 0; i < size; i++) {
            const uint8_t wrong[] = {0, (uint8_t)(bytes[i] + 1), 0x7f, 0xff};
            for (size_t w = 0; w < sizeof wrong && bytes[i]; w++) {
                clvox_transform *t = NULL;
                assert_true(pwrite(fd, &wrong[w], 1, (off_t)i) == 1);
                if (clvox_transform_read(path, &t) < 0)
                    assert_true(!t && *clvox_message());
                clvox_transform_destroy(&t);
            }
            assert_true(pwrite(fd, &bytes[i], 1, (off_t)i) == 1);
        }
        close(fd);
        free(bytes);
    }
}

static int tear_down(void **state)
{
    (void)state;
    files_end();
    return 0;
}

int main(void)
{
    test_case(what_itk_stores_is_read,
              "what ITK stores is read: strings of both kinds, chunks, shuffled and deflated");
    test_case(ways_out_of_the_file_are_refused, "other files, links and filters are refused");
    test_case(sizes_and_addresses_that_lie_are_refused, "sizes and addresses that lie are refused");
    test_case(one_string_is_read_and_no_other, "one string is read, and from within the file");
    test_case(circles_end, "circles end");
    test_case(every_byte_may_be_wrong, "every byte may be wrong");
    return test_run("hdf5", tear_down);
}
