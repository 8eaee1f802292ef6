/* SPDX-License-Identifier: Apache-2.0 */
/* MGH, NRRD, MIF and MetaImage, headers written by hand: places, orders, and what is refused. tests/interop
 * has them beside the programs that write them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clvox/files.h"

#include "volumes.h"

/* Writes text and behind it count bytes 1, 2, 3 and so on. */
static const char *text_file(const char *name, const char *text, size_t count)
{
    const char *path = files_in(name);
    size_t length = strlen(text);
    uint8_t *bytes = malloc(length + count + 1);
    memcpy(bytes, text, length);
    for (size_t i = 0; i < count; i++)
        bytes[length + i] = (uint8_t)(i + 1);
    assert_true(!files_write(path, bytes, length + count));
    free(bytes);
    return path;
}

/* ---- MGH ---------------------------------------------------------------- */

static void big(uint8_t *b, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        b[i] = (uint8_t)(x >> (24 - 8 * i));
}

/* 3 x 2 x 1 bytes without a place of their own: FreeSurfer's coronal default. */
static size_t mgh(uint8_t *b)
{
    static const uint32_t words[] = {1, 3, 2, 1, 1, 0};
    memset(b, 0, 290);
    for (int i = 0; i < 6; i++)
        big(b + 4 * i, words[i]);
    for (int i = 0; i < 6; i++)
        b[284 + i] = (uint8_t)(i + 1);
    return 290;
}

static void mgh_without_a_place_is_coronal(void **state)
{
    (void)state;
    uint8_t b[290];
    assert_true(!files_write(files_in("a.mgh"), b, mgh(b)));
    clvox_volume *v = reads(files_in("a.mgh"));
    static const double place[3][4] = {{-1, 0, 0, 1.5}, {0, 0, 1, -0.5}, {0, -1, 0, 1}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            assert_that(v->grid.to_ras[i][j] == place[i][j], "%d %d: %g", i, j, v->grid.to_ras[i][j]);
    for (int i = 0; i < 6; i++)
        assert_true(v->data[i] == (float)(i + 1));
    assert_true(v->type == CLVOX_TYPE_UINT8 && v->frames == 1);
    clvox_volume_destroy(&v);
}

static void mgh_that_is_damaged_is_refused(void **state)
{
    (void)state;
    static const struct {
        int at;
        uint32_t word;
        const char *says;
    } harm[] = {{4, 0, "dimension 1"},
                {8, 0x80000000u, "dimension 2"},
                {12, 0x7fffffff, "2^31 / 3"},
                {16, 0x7fffffff, "promises"},
                {20, 9, "data type 9"},
                {0, 0x00000401, "mri_warp_convert"},
                {0, 0x01000000, "not a FreeSurfer"}};
    uint8_t b[290];
    for (size_t i = 0; i < sizeof harm / sizeof *harm; i++) {
        size_t size = mgh(b);
        big(b + harm[i].at, harm[i].word);
        assert_true(!files_write(files_in("b.mgh"), b, size));
        refuses(files_in("b.mgh"), CLVOX_ERROR_FORMAT, harm[i].says);
    }
    mgh(b);
    big(b + 4, 0x7fffffff);
    big(b + 8, 0x7fffffff);
    big(b + 12, 0x7fffffff);
    assert_true(!files_write(files_in("b.mgh"), b, 290));
    refuses(files_in("b.mgh"), CLVOX_ERROR_FORMAT, "any memory");
    mgh(b);
    b[29] = 1; /* a place, of zeros */
    assert_true(!files_write(files_in("b.mgh"), b, 290));
    refuses(files_in("b.mgh"), CLVOX_ERROR_FORMAT, "singular");
    assert_true(!files_write(files_in("b.mgh"), b, mgh(b) - 1));
    refuses(files_in("b.mgh"), CLVOX_ERROR_FORMAT, "cut short");
    assert_true(!files_write(files_in("b.mgh"), b, 283));
    refuses(files_in("b.mgh"), CLVOX_ERROR_FORMAT, "a header has 284");
    clvox_volume *v = made(2, 2, 2, 3, CLVOX_KIND_DISPLACEMENT);
    assert_true(clvox_volume_write(v, files_in("w.mgz")) == CLVOX_ERROR_ARGUMENT && strstr(clvox_message(), "a warp"));
    clvox_volume_destroy(&v);
}

/* ---- NRRD --------------------------------------------------------------- */

#define NRRD "NRRD0004\ntype: uchar\nencoding: raw\n"
#define NRRD3 NRRD "dimension: 3\nsizes: 3 2 1\n"

static void nrrd_says_its_place_in_many_words(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double at[3]; /* of voxel 1, 1, 0 in RAS */
        int frames;
    } good[] = {
        {NRRD3 "\n", {-1, -1, 0}, 1},
        {NRRD3 "spacings: 2 3 4\n\n", {-2, -3, 0}, 1},
        {NRRD3 "space: RAS\nspace directions: (0,2,0) (3,0,0) (0,0,-1)\nspace origin: (5,6,7)\n\n", {8, 8, 7}, 1},
        {NRRD3 "space: left-anterior-superior\nspacedirections: (2,0,0) (0,3,0) (0,0,1)\r\n\n", {-2, 3, 0}, 1},
        {NRRD3 "space dimension: 3\nspace directions: (2,0,0) (0,3,0) (0,0,1)\n\n", {-2, -3, 0}, 1},
        {NRRD3 "space: RAS\nspace units: \"um\" \"um\" \"um\"\nspace directions: (2000,0,0) (0,3000,0) (0,0,1000)\n\n",
         {2, 3, 0}, 1},
        {NRRD "dimension: 2\nsizes: 3 2\nspace: RAS\nspace directions: (0,2,0) (0,0,3)\n\n", {0, 2, 3}, 1},
        {NRRD "dimension: 4\nsizes: 1 3 2 1\nkinds: list domain domain domain\nspacings: nan 2 3 4\n\n", {-2, -3, 0}, 1},
        {NRRD "dimension: 4\nsizes: 3 1 1 2\n# last\n\n", {-1, -1, 0}, 2},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        clvox_volume *v = reads(text_file("a.nrrd", good[i].text, 6));
        double x[3] = {1, 1, 0};
        clv_matrix_apply(CLV_MATRIX(v->grid.to_ras), x, x);
        for (int c = 0; c < 3; c++)
            assert_that(x[c] == good[i].at[c], "case %zu, %d: %g", i, c, x[c]);
        assert_true(v->frames == good[i].frames && v->data[5] == 6 && clv_matrix_regular(CLV_MATRIX(v->grid.to_ras)));
        clvox_volume_destroy(&v);
    }
}

/* Tensors of nine components or six, behind a mask or not, in a measurement frame. */
static void nrrd_holds_tensors(void **state)
{
    (void)state;
    static const char form[] = NRRD "dimension: 4\nsizes: %d 1 1 1\nspace: %s\nkinds: %s domain domain domain\n"
                                    "space directions: none (1,0,0) (0,1,0) (0,0,1)\n%s\n";
    static const struct {
        int frames;
        const char *space, *kind, *more;
        float want[6];
    } good[] = {{6, "RAS", "3D-symmetric-matrix", "", {1, 2, 3, 4, 5, 6}},
                {6, "LAS", "3D-symmetric-matrix", "", {1, -2, -3, 4, 5, 6}},
                {7, "RAS", "3D-masked-symmetric-matrix", "", {2, 3, 4, 5, 6, 7}},
                {9, "RAS", "3D-matrix", "", {1, 3, 5, 5, 7, 9}},
                {6, "RAS", "3D-symmetric-matrix", "measurement frame: (0,1,0) (1,0,0) (0,0,1)\n", {4, 2, 5, 1, 3, 6}}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[512];
        snprintf(text, sizeof text, form, good[i].frames, good[i].space, good[i].kind, good[i].more);
        clvox_volume *v = reads(text_file("t.nrrd", text, (size_t)good[i].frames));
        assert_true(v->kind == CLVOX_KIND_TENSOR && v->frames == 6);
        for (int c = 0; c < 6; c++)
            assert_that(v->data[c] == good[i].want[c], "case %zu, %d: %g", i, c, (double)v->data[c]);
        clvox_volume_destroy(&v);
    }
}

#define SHORTS(encoding) "NRRD0004\ntype: short\nencoding: " encoding "\ndimension: 3\nsizes: 3 2 1\n"

/* Bytes 1 to 6, compressed by bzip2's own program. */
static const uint8_t packed[] = {0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0xa6, 0x19, 0x2c, 0x5a,
                                 0x00, 0x00, 0x00, 0x40, 0x00, 0x3f, 0x00, 0x20, 0x00, 0x21, 0x80, 0x0c, 0x03, 0x27,
                                 0x2e, 0xe2, 0xee, 0x48, 0xa7, 0x0a, 0x12, 0x14, 0xc3, 0x25, 0x8b, 0x40};

/* The header, so many bytes of that, and what follows. */
static const char *bzip2_file(const char *header, size_t bytes, const char *behind)
{
    uint8_t all[512];
    size_t length = strlen(header);
    memcpy(all, header, length);
    memcpy(all + length, packed, bytes);
    memcpy(all + length + bytes, behind, strlen(behind));
    const char *path = files_in("p.nrrd");
    assert_true(!files_write(path, all, length + bytes + strlen(behind)));
    return path;
}

static void nrrd_in_every_encoding(void **state)
{
    (void)state;
    static const float want[6] = {258, -2, 0, 32767, -32768, 7};
    static const char *const same[] = {
        SHORTS("ascii") "\n258 -2 0\n32767 -32768 7\n",
        SHORTS("text") "endian: little\n\n 258,-2,\t0 +32767\r\n-32768 7 8 9",
        SHORTS("txt") "byte skip: 5\nline skip: 1\n\n1 2 3\nabcde258 -2 0 32767 -32768 7",
        SHORTS("hex") "endian: big\n\n0102FFFE 0000\n7fff80000007\n",
        SHORTS("hex") "endian: little\n\n0201feff0000ff7f00800700",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        clvox_volume *v = reads(text_file("e.nrrd", same[i], 0));
        assert_true(v->type == CLVOX_TYPE_INT16 && v->grid.size[0] == 3);
        for (int k = 0; k < 6; k++)
            assert_that(v->data[k] == want[k], "file %zu, value %d: %g", i, k, (double)v->data[k]);
        clvox_volume_destroy(&v);
        assert_ok(clvox_labels_read(files_in("e.nrrd"), &v));
        clvox_volume_destroy(&v);
    }
    /* Every type by text, its last numbers exact. */
    static const struct {
        const char *type, *text;
        float want;
    } typed[] = {{"signed char", "-128", -128},     {"uchar", "255", 255},       {"ushort", "65535", 65535},
                 {"int", "-2147483648", -0x1p31f},  {"uint", "4294967295", 0x1p32f}, {"longlong", "-9223372036854775808", -0x1p63f},
                 {"ulonglong", "18446744073709551615", 0x1p64f}, {"float", "-1.5e-3", -1.5e-3f}, {"double", "0.1", 0.1f}};
    for (size_t i = 0; i < sizeof typed / sizeof *typed; i++) {
        char text[512];
        snprintf(text, sizeof text, "NRRD0004\ntype: %s\nencoding: ascii\ndimension: 3\nsizes: 1 1 1\n\n%s", typed[i].type,
                 typed[i].text);
        clvox_volume *v = reads(text_file("e.nrrd", text, 0));
        assert_that(v->data[0] == typed[i].want, "%s: %g", typed[i].type, (double)v->data[0]);
        clvox_volume_destroy(&v);
    }
    clvox_volume *exact = reads(text_file("e.nrrd", "NRRD0004\ntype: float\nencoding: ascii\ndimension: 3\nsizes: 2 1 1\n\nnan -inf", 0));
    assert_true(isnan(exact->data[0]) && isinf(exact->data[1]));
    clvox_volume_destroy(&exact);
    /* Detached, behind the lines of another format. */
    text_file("d.pgm", "P2\n# remark\n3 2\n255\n1 2 3\n4 5 6\n", 0);
    clvox_volume *v = reads(text_file("d.nhdr", "NRRD0004\ntype: uchar\nencoding: ascii\ndimension: 3\nsizes: 3 2 1\n"
                                                "line skip: 4\ndata file: d.pgm\n", 0));
    assert_true(v->data[0] == 1 && v->data[5] == 6);
    clvox_volume_destroy(&v);
    static const struct {
        const char *text, *says;
    } bad[] = {
        {SHORTS("ascii") "\n258 -2 0 32767 -32768", "6 values and 5 are there"},
        {SHORTS("ascii") "\n1 2", "more than 3 characters"},
        {SHORTS("ascii") "\n", "would begin"},
        {SHORTS("ascii") "\n1 2 3 x4 5 6", "value 4 is 'x4', which is not a whole number"},
        {SHORTS("ascii") "\n1 2 3 4.5 5 6", "'4.5', which is not a whole number"},
        {SHORTS("ascii") "\n1 2 3 32768 5 6", "in the range of its type"},
        {SHORTS("ascii") "\n1 2 3 -99999999999999999999999 5 6", "in the range"},
        {"NRRD0004\ntype: ushort\nencoding: ascii\ndimension: 3\nsizes: 3 1 1\n\n1 2 -3 0", "in the range"},
        {"NRRD0004\ntype: float\nencoding: ascii\ndimension: 3\nsizes: 3 1 1\n\n1 2 3f 0",
         "'3f', which is not a number"},
        {"NRRD0004\ntype: uchar\nencoding: ascii\ndimension: 3\nsizes: 2000 2000 100\n\n1 2 3",
         "characters can say"},
        {"NRRD0004\ntype: uchar\nencoding: hex\ndimension: 3\nsizes: 2000 2000 100\n\n00",
         "characters can say"},
        {SHORTS("hex") "endian: big\n\n0102030405060708090a0b", "12 bytes and 11 are there"},
        {SHORTS("hex") "endian: big\n\n0102030405060708090a0b0", "12 bytes and 11"},
        {SHORTS("hex") "endian: big\n\n010203040506070809x00b0c", "'x00b0c', which is not of hexadecimal"},
        {SHORTS("hex") "\n0102030405060708090a0b0c", "endian"},
        {SHORTS("base64") "\n0102", "base64, which is none"},
        {SHORTS("ascii") "line skip: 3\n\n1 2 3\n4 5 6\n", "line skip is more than"},
        {SHORTS("ascii") "line skip: -3\n\n1 2 3 4 5 6\n", "line skip is -3"},
        {SHORTS("ascii") "byte skip: -1\n\n1 2 3 4 5 6\n", "byte skip is -1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuses(text_file("b.nrrd", bad[i].text, 0), CLVOX_ERROR_FORMAT, bad[i].says);
    char gz[128];
    assert_true(!files_write_gzip(files_in("t.nrrd.gz"), same[0], strlen(same[0])));
    snprintf(gz, sizeof gz, "%s", files_in("t.nrrd.gz"));
    refuses(gz, CLVOX_ERROR_FORMAT, "encoded already");
}

static void nrrd_in_bzip2(void **state)
{
    (void)state;
    static const char
        head[] = "NRRD0004\ntype: uchar\nencoding: bzip2\ndimension: 3\nsizes: 3 2 1\n\n",
        twice[] = "NRRD0004\ntype: uchar\nencoding: bz2\ndimension: 3\nsizes: 5 2 1\nbyte skip: 2\n\n",
        longer[] = "NRRD0004\ntype: uchar\nencoding: bz2\ndimension: 3\nsizes: 7 1 1\n\n",
        absurd[] = "NRRD0004\ntype: uchar\nencoding: bz2\ndimension: 3\nsizes: 2000 2000 100\n\n";
    clvox_volume *v;
    if (clvox_volume_read(bzip2_file(head, sizeof packed, ""), &v) < 0 && strstr(clvox_message(), "built without")) {
        test_skip("clvox is built without libbz2");
        return;
    }
    assert_true(v && v->data[0] == 1 && v->data[5] == 6);
    clvox_volume_destroy(&v);
    v = reads(bzip2_file(head, sizeof packed, "\n\n")); /* padding */
    clvox_volume_destroy(&v);
    uint8_t all[512];
    size_t length = strlen(twice);
    memcpy(all, twice, length);
    memcpy(all + length, packed, sizeof packed);
    memcpy(all + length + sizeof packed, packed, sizeof packed);
    assert_true(!files_write(files_in("p.nrrd"), all, length + 2 * sizeof packed));
    v = reads(files_in("p.nrrd"));
    assert_true(v->data[0] == 3 && v->data[3] == 6 && v->data[4] == 1 && v->data[9] == 6);
    clvox_volume_destroy(&v);
    for (size_t cut = 1; cut < sizeof packed; cut++)
        refuses(bzip2_file(head, cut, ""), CLVOX_ERROR_FORMAT, "get a fresh copy");
    refuses(bzip2_file(longer, sizeof packed, ""), CLVOX_ERROR_FORMAT, "promises 7 bytes and 6 are there");
    refuses(bzip2_file(absurd, sizeof packed, ""), CLVOX_ERROR_FORMAT, "can hold");
    refuses(bzip2_file(longer, sizeof packed, "BZh"), CLVOX_ERROR_FORMAT, "cut short");
    refuses(bzip2_file(longer, sizeof packed, "BZx9"), CLVOX_ERROR_FORMAT, "damaged");
    /* A byte that changed is noticed by the check sum. */
    bzip2_file(head, sizeof packed, "");
    uint8_t *bytes = files_read(files_in("p.nrrd"), &length);
    bytes[length - 12] ^= 4;
    assert_true(!files_write(files_in("p.nrrd"), bytes, length));
    refuses(files_in("p.nrrd"), CLVOX_ERROR_FORMAT, "damaged");
    free(bytes);
}

static void nrrd_that_is_damaged_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {NRRD3, "does not end"},
        {"NRRD0004\ntype: uchar\ndimension: 3\nsizes: 3 2 1\n\n", "encoded"},
        {"NRRD0004\ntype: short\nencoding: raw\ndimension: 3\nsizes: 3 1 1\n\n", "endian"},
        {"NRRD0004\ntype: block\nencoding: raw\ndimension: 3\nsizes: 3 1 1\n\n", "type block"},
        {"NRRD0004\nencoding: raw\ndimension: 3\nsizes: 3 1 1\n\n", "missing"},
        {NRRD "dimension: 4\nsizes: 3 2 1\n\n", "dimensions"},
        {NRRD "dimension: 9\nsizes: 1 1 1 1 1 1 1 1 1\n\n", "dimensions"},
        {NRRD "dimension: 3\nsizes: 3 0 1\n\n", "dimension 2 is 0"},
        {NRRD "dimension: 3\nsizes: 3 -2 1\n\n", "dimension 2"},
        {NRRD "dimension: 3\nsizes: 3 2.5 1\n\n", "dimension 2"},
        {NRRD "dimension: 3\nsizes: 1e300 nan 1\n\n", "dimension 1"},
        {NRRD "dimension: 3\nsizes: 2000000000 2000000000 2000000000\n\n", "any memory"},
        {NRRD "dimension: 3\nsizes: 2000 2000 100\n\n", "cut short"},
        {NRRD "dimension: 3\nsizes: 3 2 2\n\n", "cut short"},
        {NRRD3 "space directions: (1,0,0) (0,1,0)\n\n", "fewer"},
        {NRRD3 "space directions: (1,0,0 (0,1,0) (0,0,1\n\n", "direction"},
        {NRRD3 "space directions: (1,0,0) (0,1,0) (1,1,0)\n\n", "singular"},
        {NRRD3 "space directions: (1,0,0) (0,inf,0) (0,0,1)\n\n", "not finite"},
        {NRRD3 "space directions: none none none\n\n", "no axis"},
        {NRRD "dimension: 4\nsizes: 3 2 1 1\nspace directions: (1,0,0) (0,1,0) (0,0,1) (0,0,1)\n\n",
         "4 axes"},
        {NRRD3 "space origin: here\n\n", "origin"},
        {NRRD3 "line skip: 2\n\n", "lines"},
        {NRRD3 "byte skip: -7\n\n", "byte skip"},
        {NRRD3 "byte skip: 1000\n\n", "cut short"},
        {NRRD3 "data file: LIST\n\n", "several"},
        {NRRD3 "data file: x%03d.raw 1 9 1\n\n", "several"},
        {NRRD3 "data file: none.raw\n\n", "No such file"},
        {"NRRD0004\ntype: uchar\nencoding: gzip\ndimension: 3\nsizes: 3 2 1\n\n", "not compressed"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuses(text_file("b.nrrd", bad[i].text, 6), strstr(bad[i].says, "No such") ? CLVOX_ERROR_FILE : CLVOX_ERROR_FORMAT,
                bad[i].says);
    clvox_volume *v = reads(text_file("a.nrrd", NRRD3 "byte skip: -1\n\n", 9));
    assert_true(v->data[0] == 4 && v->data[5] == 9);
    clvox_volume_destroy(&v);
}

/* ---- MIF ---------------------------------------------------------------- */

#define MIF "mrtrix image\n"
#define MIF3 MIF "dim: 3,2,1\nvox: 1,1,1\ndatatype: UInt8\n"

static void mif_without_a_transform_is_centred(void **state)
{
    (void)state;
    clvox_volume *v = reads(text_file("a.mif", MIF "dim: 3,2,1\nvox: 2,nan,1\ndatatype: UInt8\nlayout: -1,+0,+2\n"
                                               "file: . 89\nEND\n    ", 6));
    static const float want[6] = {5, 3, 1, 6, 4, 2}; /* y fastest, x backwards */
    for (int i = 0; i < 6; i++)
        assert_that(v->data[i] == want[i], "%d: %g", i, (double)v->data[i]);
    assert_true(v->grid.to_ras[0][3] == -2 && v->grid.to_ras[1][3] == -0.5 && v->grid.to_ras[2][3] == 0);
    clvox_volume_destroy(&v);
}

static void mif_is_scaled(void **state)
{
    (void)state;
    clvox_volume *v = reads(text_file(
        "s.mif", MIF3 "layout: +0,+1,+2\nscaling: 3,2\nfile: . 99\nEND\n   ", 6));
    for (int i = 0; i < 6; i++) /* offset and factor */
        assert_that(v->data[i] == (float)(3 + 2 * (i + 1)), "%d: %g", i, (double)v->data[i]);
    clvox_volume_destroy(&v);
}

static void mif_that_is_damaged_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {MIF3 "layout: +0,+1,+2\nfile: . 4\n", "does not end"},
        {MIF3 "layout: +0,+1,+2\nfile: . 4\nEND\n", "inside"},
        {MIF3 "layout: +0,+1,+2\nfile: . 4000\nEND\n", "cut short"},
        {MIF3 "layout: +0,+1,+2\nfile: . 18446744073709551615\nEND\n", "start at byte"},
        {MIF3 "layout: +0,+1,+2\nfile: . x\nEND\n", "start at byte"},
        {MIF3 "layout: +0,+1,+2\nfile: none.dat 0\nEND\n", "No such file"},
        {MIF3 "layout: +0,+1,+2\nfile: a.dat 0\nfile: b.dat 0\nEND\n", "2 files"},
        {MIF3 "layout: +0,+1,+2\nEND\n", "\"file\""},
        {MIF3 "layout: +0,+1,+1\nfile: . 99\nEND\n", "layout"},
        {MIF3 "layout: +0,+1\nfile: . 99\nEND\n", "layout"},
        {MIF3 "layout: +0,+1,+2,+3\nfile: . 99\nEND\n", "layout"},
        {MIF3 "layout: 99999999999999999999,0,1\nfile: . 99\nEND\n", "layout"},
        {MIF3 "file: . 99\nEND\n", "\"layout\""},
        {MIF3 "layout: +0,+1,+2\ntransform: 1,0,0,0\nfile: . 99\nEND\n", "1 rows"},
        {MIF3 "layout: +0,+1,+2\ntransform: 1,0,0\nfile: . 99\nEND\n", "four numbers"},
        {MIF3 "layout: +0,+1,+2\ntransform: 1,0,0,0\ntransform: 1,0,0,0\ntransform: 0,0,1,0\nfile: . 99\nEND\n",
         "singular"},
        {MIF3 "layout: +0,+1,+2\nscaling: 1\nfile: . 99\nEND\n", "scaling"},
        {MIF "dim: 3,2,1\nvox: 1,1,1\ndatatype: CFloat32\nlayout: +0,+1,+2\nfile: . 99\nEND\n", "CFloat32"},
        {MIF "dim: 3,2,1\nvox: 1,1,1\nlayout: +0,+1,+2\nfile: . 99\nEND\n", "\"datatype\""},
        {MIF "dim: 3,0,1\ndatatype: Bit\nlayout: +0,+1,+2\nfile: . 99\nEND\n", "dimension 2 is 0"},
        {MIF "dim: 2e9,2e9,2e9\ndatatype: Bit\nlayout: +0,+1,+2\nfile: . 99\nEND\n", "any memory"},
        {MIF "dim: 1,1,1,1,1,1,1,1\ndatatype: Bit\nlayout: +0\nfile: . 99\nEND\n", "1 to 7"},
        {"mrtrix tracks\nEND\n", "not an MRtrix image"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuses(text_file("b.mif", bad[i].text, 6), strstr(bad[i].says, "No such") ? CLVOX_ERROR_FILE : CLVOX_ERROR_FORMAT,
                bad[i].says);
}

/* ---- headers that name their values -------------------------------------- */

/* The header in either format, its values in `name`; reads a.raw's bytes. */
static const char *header_of(bool nrrd, const char *name)
{
    char text[800];
    if (nrrd)
        snprintf(text, sizeof text, NRRD3 "data file: %s\n", name);
    else
        snprintf(text, sizeof text, MIF3 "layout: +0,+1,+2\nfile: %s 0\nEND\n", name);
    return text_file(nrrd ? "n.nhdr" : "n.mih", text, 0);
}

static void a_header_names_files_in_its_folder_only(void **state)
{
    (void)state;
    char full[512];
    text_file("a.raw", "", 6);
    snprintf(full, sizeof full, "%s", files_in("a.raw"));
    const char *folder = strrchr(full, '/');
    while (folder > full && folder[-1] != '/')
        folder--;
    char up[600], through[600];
    snprintf(up, sizeof up, "../%s", folder);
    snprintf(through, sizeof through, "./../%s", folder);
    const char *const bad[] = {full, up,     through,      "/dev/zero",   "/proc/self/environ",
                               "..", "x/..", "x/../a.raw", "x//../a.raw", ""};
    static const char *const good[] = {"a.raw", "./a.raw", "..a.raw", "b..raw"};
    text_file("..a.raw", "", 6);
    text_file("b..raw", "", 6);
    assert_true(!mkfifo(files_in("pipe"), 0600) && !symlink("/dev/zero", files_in("zero")));
    for (int nrrd = 0; nrrd < 2; nrrd++) {
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            if (!*bad[i] && !nrrd)
                continue; /* MRtrix's offset would be the name */
            refuses(header_of(nrrd, bad[i]), CLVOX_ERROR_FORMAT, "may only name a file in its own folder");
            assert_that(strstr(clvox_message(), nrrd ? "n.nhdr" : "n.mih") && strstr(clvox_message(), bad[i]),
                        "%s", clvox_message());
        }
        for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
            clvox_volume *v = reads(header_of(nrrd, good[i]));
            assert_true(v->data[0] == 1 && v->data[5] == 6);
            clvox_volume_destroy(&v);
        }
        refuses(header_of(nrrd, "pipe"), CLVOX_ERROR_FILE, "pipe: is a pipe or a device");
        refuses(header_of(nrrd, "zero"), CLVOX_ERROR_FILE, "zero: is a pipe or a device");
    }
}

/* ---- MetaImage ---------------------------------------------------------- */

#define META "ObjectType = Image\nNDims = 3\nDimSize = 3 2 1\n"
#define PLACE "ElementSpacing = 2 3 4\nOffset = 1 2 3\nTransformMatrix = 0 1 0 1 0 0 0 0 1\n"

static void meta_is_read_as_itk_writes_it(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double place[3]; /* of voxel (1, 0, 0), RAS */
        int frames;
    } good[] = {
        {META PLACE "ElementType = MET_UCHAR\nElementDataFile = LOCAL\n", {-1, -4, 3}, 1},
        {META "ElementSpacing=2 3 4\r\nPosition =1 2 3\r\nRotation= 0 1 0 1 0 0 0 0 1\r\nElementType = "
              "MET_UCHAR\r\n"
              "ElementDataFile = LOCAL\r\n",
         {-1, -4, 3},
         1},
        {META
         "Origin = 1 2 3\nOrientation = 0 1 0 1 0 0 0 0 1\nElementSize = 2 3 4\nElementType = MET_UCHAR\n"
         "ElementDataFile = LOCAL\n",
         {-1, -4, 3},
         1},
        {META "ElementType = MET_UCHAR\nBinaryData = True\nElementDataFile = LOCAL\n", {-1, 0, 0}, 1},
        {"NDims = 2\nDimSize = 3 2\nElementSpacing = 2 3\nElementType = MET_UCHAR\nElementDataFile = LOCAL\n",
         {-2, 0, 0},
         1},
        {"ObjectType = Image\nNDims = 4\nDimSize = 3 1 1 2\nElementSpacing = 2 3 4 .5\nElementType = "
         "MET_UCHAR\n"
         "ElementDataFile = LOCAL\n",
         {-2, 0, 0},
         2},
        {META "BinaryData = False\nElementType = MET_FLOAT\nElementDataFile = LOCAL\n1 2 3\n4 5 6e0 ",
         {-1, 0, 0},
         1},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        clvox_volume *v = reads(text_file("m.mha", good[i].text, 6));
        if (!v)
            continue;
        double x[3] = {1, 0, 0};
        clv_matrix_apply(CLV_MATRIX(v->grid.to_ras), x, x);
        assert_true(v->frames == good[i].frames);
        for (int k = 0; k < 3; k++)
            assert_that(x[k] == good[i].place[k], "header %zu: axis %d lies at %g", i, k, x[k]);
        for (int k = 0; k < 6; k++)
            assert_true(v->data[k] == (float)(k + 1));
        clvox_volume_destroy(&v);
    }
}

static void meta_with_its_values_elsewhere(void **state)
{
    (void)state;
    const uint8_t zlibbed[] = {0x78, 0x9c, 0x63, 0x64, 0x62, 0x66, 0x61,
                               0x65, 0x03, 0x00, 0x00, 0x3e, 0x00, 0x16};
    const uint8_t raw[] = {9, 9, 1, 2, 3, 4, 5, 6}, big[] = {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6};
    static const char *const same[] = {
        "ElementType = MET_UCHAR\nHeaderSize = 2\nElementDataFile = v.raw\n",
        "ElementType = MET_UCHAR\nHeaderSize = -1\nElementDataFile = v.raw\n",
        "ElementType = MET_CHAR\nCompressedData = True\nElementDataFile = v.zraw",
        "ElementType = MET_SHORT\nBinaryDataByteOrderMSB = True\nElementDataFile = v.big\n"};
    assert_true(!files_write(files_in("v.raw"), raw, 8) &&
                !files_write(files_in("v.zraw"), zlibbed, sizeof zlibbed) &&
                !files_write(files_in("v.big"), big, 12));
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        char text[512];
        snprintf(text, sizeof text, META "%s", same[i]);
        clvox_volume *v = reads(text_file("m.mhd", text, 0));
        for (int k = 0; v && k < 6; k++)
            assert_that(v->data[k] == (float)(k + 1), "header %zu: value %d is %g", i, k, (double)v->data[k]);
        clvox_volume_destroy(&v);
    }
    const size_t sizes[] = {1, 3, 8, sizeof zlibbed - 1};
    text_file("m.mhd", META "ElementType = MET_UCHAR\nCompressedData = True\nElementDataFile = v.zraw\n", 0);
    for (int i = 0; i < 4; i++) { /* cut */
        assert_true(!files_write(files_in("v.zraw"), zlibbed, sizes[i]));
        refuses(files_in("m.mhd"), CLVOX_ERROR_FORMAT, "cut short");
    }
    uint8_t harmed[sizeof zlibbed];
    memcpy(harmed, zlibbed, sizeof zlibbed);
    harmed[sizeof zlibbed - 1]++; /* the check sum */
    assert_true(!files_write(files_in("v.zraw"), harmed, sizeof harmed));
    refuses(files_in("m.mhd"), CLVOX_ERROR_FORMAT, "damaged");
    assert_true(!files_write(files_in("v.zraw"), zlibbed, sizeof zlibbed));
    refuses(text_file("m.mhd",
                      "NDims = 3\nDimSize = 5 1 1\nElementType = MET_UCHAR\nCompressedData = True\n"
                      "ElementDataFile = v.zraw\n",
                      0),
            CLVOX_ERROR_FORMAT, "more data");
    refuses(text_file("m.mhd",
                      "NDims = 3\nDimSize = 800 800 800\nElementType = MET_UCHAR\nCompressedData = True\n"
                      "ElementDataFile = v.zraw\n",
                      0),
            CLVOX_ERROR_FORMAT, "can hold");
}

static void meta_that_is_damaged_is_refused(void **state)
{
    (void)state;
#define UCHAR "ElementType = MET_UCHAR\n"
#define LOCAL "ElementDataFile = LOCAL\n"
    static const struct {
        const char *text, *says;
    } bad[] = {
        {META UCHAR, "does not end"},
        {"hello", "no MetaImage"},
        {"ObjectType = Tube\nNDims = 3\n" LOCAL, "another kind"},
        {"ObjectType = Image\nNDims = 5\nDimSize = 1 1 1 1 1\n" UCHAR LOCAL, "5 dimensions"},
        {"ObjectType = Image\n" UCHAR LOCAL, "0 dimensions"},
        {"NDims = 3\nDimSize = 3 2\n" UCHAR LOCAL, "DimSize"},
        {"NDims = 3\nDimSize = 3 2 0\n" UCHAR LOCAL, "dimension 3 is 0"},
        {"NDims = 3\nDimSize = 30000 30000 1\n" UCHAR LOCAL, "2^31 / 3"},
        {META "ElementType = MET_STRING\n" LOCAL, "MET_STRING"},
        {META LOCAL, "is missing"},
        {META UCHAR "ElementNumberOfChannels = 0\n" LOCAL, "channels"},
        {META UCHAR "ElementNumberOfChannels = nan\n" LOCAL, "channels"},
        {META UCHAR "ElementSpacing = 1 2\n" LOCAL, "spacing"},
        {META UCHAR "ElementSpacing = 1 0 1\n" LOCAL, "singular"},
        {META UCHAR "TransformMatrix = 1 0 0 1 0 0 0 0 1\n" LOCAL, "singular"},
        {META UCHAR "Offset = 1 nan 1\n" LOCAL, "not finite"},
        {META UCHAR "HeaderSize = -2\nElementDataFile = v.raw\n", "HeaderSize"},
        {META UCHAR "ElementDataFile = LIST\n", "several files"},
        {META UCHAR "ElementDataFile = a%03d.raw 1 3 1\n", "several files"},
        {META UCHAR "ElementDataFile =\n", "several files"},
        {META UCHAR "ElementDataFile = /etc/passwd\n", "/etc/passwd\"; a header may only name"},
        {META UCHAR "ElementDataFile = ../v.raw\n", "may only name"},
        {META UCHAR "ElementDataFile = a/../v.raw\n", "may only name"},
        {META UCHAR "ElementDataFile = ..\n", "may only name"},
        {META UCHAR LOCAL "12345", "cut short"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuses(text_file("b.mha", bad[i].text, 0), CLVOX_ERROR_FORMAT, bad[i].says);
    assert_true(!mkfifo(files_in("v.pipe"), 0600));
    refuses(text_file("b.mhd", META UCHAR "ElementDataFile = v.pipe\n", 0), CLVOX_ERROR_FILE,
            "a pipe or a device");
    refuses(text_file("b.mhd", META UCHAR "ElementDataFile = none.raw\n", 0), CLVOX_ERROR_FILE, "none.raw");
}

static void meta_goes_round(void **state)
{
    (void)state;
    static const clvox_grid grid = {
        {5, 3, 2}, {{0.3, -1.5, 0, 7}, {2, 0.1, 0.2, -8}, {0, 0.25, -3, 1.0 / 3}, {0, 0, 0, 1}}};
    static const struct {
        clvox_kind kind;
        int frames;
    } of[] = {{CLVOX_KIND_SCALAR, 1},       {CLVOX_KIND_SCALAR, 3}, {CLVOX_KIND_LABEL, 1},
              {CLVOX_KIND_DISPLACEMENT, 3}, {CLVOX_KIND_COLOUR, 3}, {CLVOX_KIND_COLOUR, 4},
              {CLVOX_KIND_VECTOR, 3}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++)
        for (int type = CLVOX_TYPE_FLOAT32; type <= CLVOX_TYPE_UINT64; type++) {
            clvox_volume *v;
            assert_ok(clvox_volume_create(&grid, of[k].frames, of[k].kind, &v));
            v->type = (clvox_type)type;
            for (int i = 0; i < 30 * v->frames; i++)
                v->data[i] = (float)(i % 100);
            assert_ok(clvox_volume_write(v, files_in("r.mha")));
            clvox_volume *w = reads(files_in("r.mha"));
            assert_true(w && clvox_grid_equal(&v->grid, &w->grid) && v->frames == w->frames);
            for (int i = 0; w && i < 12; i++)
                assert_true(fabs(w->grid.to_ras[i / 4][i % 4] - grid.to_ras[i / 4][i % 4]) < 1e-14);
            const bool field = of[k].kind == CLVOX_KIND_DISPLACEMENT,
                       colour = of[k].kind == CLVOX_KIND_COLOUR;
            assert_true(!w || w->kind == (field || colour ? of[k].kind : CLVOX_KIND_SCALAR));
            if (!field && !colour)
                assert_true(w && w->type == v->type);
            assert_true(w && !memcmp(v->data, w->data, 30 * (size_t)v->frames * sizeof *v->data));
            clvox_volume_destroy(&v);
            clvox_volume_destroy(&w);
        }
    clvox_volume *v = made(2, 2, 2, 6, CLVOX_KIND_TENSOR);
    assert_true(clvox_volume_write(v, files_in("t.mha")) == CLVOX_ERROR_ARGUMENT &&
                strstr(clvox_message(), "tensors"));
    assert_true(clvox_volume_write(v, files_in("t.mhd")) == CLVOX_ERROR_ARGUMENT &&
                strstr(clvox_message(), ".mha"));
    clvox_volume_destroy(&v);
}

/* ---- what is not read --------------------------------------------------- */

static void foreign_formats_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *says;
    } of[] = {
        {"a.mnc", "\211HDF\r\n", "MINC file, which clvox does not read; convert it with mnc2nii"},
        {"a", "CDF\1 and so on", "mnc2nii"},
        {"a+orig.BRIK.gz", "what",
         "AFNI dataset (BRIK/HEAD), which clvox does not read; convert it with 3dAFNItoNIFTI"},
        {"a+orig.HEAD", "\ntype  = string-attribute", "3dAFNItoNIFTI"},
        {"header", "\ntype  = string-attribute", "3dAFNItoNIFTI"},
        {"a.REC", "what", "Philips file (PAR/REC), which clvox does not read; convert it with dcm2niix"},
        {"a.PAR", "# === DATA DESCRIPTION FILE ====", "dcm2niix"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const char *path = text_file(of[i].name, of[i].text, 0);
        refuses(path, CLVOX_ERROR_FORMAT, of[i].says);
        assert_true(clvox_volume_is_file(path));
    }
    assert_true(!clvox_volume_is_file(text_file("mcflirt.par", "0 0 0 1 2 3\n", 0)));
}

static int tear_down(void **state)
{
    (void)state;
    files_end();
    return 0;
}

/* A small file could unpack to such a number of zeros. */
static void more_voxels_than_are_counted_are_refused_by_every_format(void **state)
{
    (void)state;
    uint8_t b[290];
    size_t size = mgh(b);
    big(b + 4, 30000);
    big(b + 8, 30000);
    assert_true(!files_write_gzip(files_in("l.mgz"), b, size));
    refuses(files_in("l.mgz"), CLVOX_ERROR_FORMAT, "2^31 / 3");
    refuses(text_file("l.nrrd",
                      "NRRD0004\ntype: uchar\nencoding: gzip\ndimension: 3\nsizes: 30000 30000 1\n\n", 0),
            CLVOX_ERROR_FORMAT, "2^31 / 3");
    refuses(text_file("l.mif",
                      "mrtrix image\ndim: 30000,30000,1\nvox: 1,1,1\nlayout: +0,+1,+2\ndatatype: UInt8\n"
                      "file: . 200\nEND\n",
                      0),
            CLVOX_ERROR_FORMAT, "2^31 / 3");
}

/* ---- endings ------------------------------------------------------------ */

static void endings_say_what_a_file_is(void **state)
{
    static const struct {
        const char *path, *end, *of_volume;
    } names[] = {{"a/T1.nii.gz", ".nii.gz", ".nii.gz"},
                 {"a/T1.NII.GZ", ".NII.GZ", ".NII.GZ"},
                 {"T1.run-2.mhd", ".mhd", ".mhd"},
                 {"T1.mif.gz", ".mif.gz", ".mif.gz"},
                 {"T1.img", ".img", ".img"},
                 {"a.mgz", ".mgz", ".mgz"},
                 {"a.surf.gii", ".surf.gii", NULL},
                 {"a.vtk.gz", ".vtk.gz", NULL},
                 {"a.tck", ".tck", NULL},
                 {"0GenericAffine.mat", ".mat", NULL},
                 {"a.hdf5", ".hdf5", NULL},
                 {"a.txt.gz", NULL, NULL},
                 {"a.nii.json", ".json", NULL},
                 {"a.nii/b", NULL, NULL},
                 {"nii", NULL, NULL},
                 {"", NULL, NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *end = clvox_file_ending(names[i].path), *of_volume = clvox_volume_ending(names[i].path);
        assert_string_equal(end ? end : "none", names[i].end ? names[i].end : "none");
        assert_string_equal(of_volume ? of_volume : "none", names[i].of_volume ? names[i].of_volume : "none");
    }
    assert_true(clvox_file_ends("a.TXT", ".txt"));
    assert_false(clvox_file_ends(".txt", ".txt"));
}

static void names_that_cannot_be_written_are_told_before(void **state)
{
    (void)state;
    assert_int_equal(clvox_volume_check_name("a.Mha"), CLVOX_OK);
    assert_int_equal(clvox_volume_check_name("a.nrrd"), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "a.nrrd: volumes are written as"));
    assert_int_equal(clvox_volume_check_name("a.hdr"), CLVOX_ERROR_ARGUMENT);
}

int main(void)
{
    test_case(endings_say_what_a_file_is, "endings of all formats, in letters of either case, compressed or not");
    test_case(names_that_cannot_be_written_are_told_before,
              "a name that no volume is written under is refused before");
    test_case(mgh_without_a_place_is_coronal, "MGH: without a place of its own it is coronal");
    test_case(mgh_that_is_damaged_is_refused, "MGH: what is damaged is refused with its reason");
    test_case(nrrd_says_its_place_in_many_words, "NRRD: spaces, units, spacings, components first and last");
    test_case(nrrd_holds_tensors, "NRRD: tensors in all forms, in their frame of measurement");
    test_case(nrrd_in_every_encoding, "NRRD: text and hexadecimal digits, of every type; what is no number is refused");
    test_case(nrrd_in_bzip2, "NRRD: bzip2, cut at every byte, in two streams, damaged");
    test_case(nrrd_that_is_damaged_is_refused, "NRRD: what is damaged is refused with its reason");
    test_case(meta_is_read_as_itk_writes_it,
              "MetaImage: places under all names, two and four dimensions, text");
    test_case(meta_with_its_values_elsewhere,
              "MetaImage: values in a file beside it, compressed, cut, with a header of their own");
    test_case(meta_that_is_damaged_is_refused,
              "MetaImage: what is damaged, or names files elsewhere, is refused");
    test_case(meta_goes_round, "MetaImage: of every type and kind it is read as it was written");
    test_case(foreign_formats_are_named, "formats that are not read are named, with what converts them");
    test_case(more_voxels_than_are_counted_are_refused_by_every_format,
              "more voxels than 2^31 / 3 are refused by every format before they are unpacked");
    test_case(mif_without_a_transform_is_centred, "MIF: strides, and the place without a transform");
    test_case(mif_is_scaled, "MIF: offset and factor of its values");
    test_case(mif_that_is_damaged_is_refused, "MIF: what is damaged is refused with its reason");
    test_case(a_header_names_files_in_its_folder_only, "NRRD, MIF: a header names files in its folder only");
    return test_run("volume formats", tear_down);
}
