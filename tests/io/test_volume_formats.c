/* SPDX-License-Identifier: Apache-2.0 */
/* MGH, NRRD and MIF, headers written by hand: places, orders, and what is refused. tests/interop has them
 * beside the programs that write them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    } harm[] = {{4, 0, "dimension 1"},          {8, 0x80000000u, "dimension 2"}, {12, 0x7fffffff, "promises"},
                {16, 0x7fffffff, "promises"},   {20, 9, "data type 9"},          {0, 0x00000401, "mri_warp_convert"},
                {0, 0x01000000, "no FreeSurfer"}};
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

/* Of nine components or six, behind a mask or not, in a frame of measurement. */
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

static void nrrd_that_is_damaged_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {NRRD3, "does not end"},
        {"NRRD0004\ntype: uchar\ndimension: 3\nsizes: 3 2 1\n\n", "encoded"},
        {"NRRD0004\ntype: uchar\nencoding: bzip2\ndimension: 3\nsizes: 3 2 1\n\n", "bzip2"},
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
        {NRRD "dimension: 3\nsizes: 2000000 2000000 2\n\n", "cut short"},
        {NRRD "dimension: 3\nsizes: 3 2 2\n\n", "cut short"},
        {NRRD3 "space directions: (1,0,0) (0,1,0)\n\n", "fewer"},
        {NRRD3 "space directions: (1,0,0 (0,1,0) (0,0,1\n\n", "direction"},
        {NRRD3 "space directions: (1,0,0) (0,1,0) (1,1,0)\n\n", "singular"},
        {NRRD3 "space directions: (1,0,0) (0,inf,0) (0,0,1)\n\n", "not finite"},
        {NRRD3 "space directions: none none none\n\n", "no axis"},
        {NRRD "dimension: 4\nsizes: 3 2 1 1\nspace directions: (1,0,0) (0,1,0) (0,0,1) (0,0,1)\n\n", "4 axes"},
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
        {"mrtrix tracks\nEND\n", "no MRtrix image"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuses(text_file("b.mif", bad[i].text, 6), strstr(bad[i].says, "No such") ? CLVOX_ERROR_FILE : CLVOX_ERROR_FORMAT,
                bad[i].says);
}

static int tear_down(void **state)
{
    (void)state;
    files_end();
    return 0;
}

int main(void)
{
    test_case(mgh_without_a_place_is_coronal, "MGH: without a place of its own it is coronal");
    test_case(mgh_that_is_damaged_is_refused, "MGH: what is damaged is refused with its reason");
    test_case(nrrd_says_its_place_in_many_words, "NRRD: spaces, units, spacings, components first and last");
    test_case(nrrd_holds_tensors, "NRRD: tensors in all forms, in their frame of measurement");
    test_case(nrrd_that_is_damaged_is_refused, "NRRD: what is damaged is refused with its reason");
    test_case(mif_without_a_transform_is_centred, "MIF: strides, and the place without a transform");
    test_case(mif_that_is_damaged_is_refused, "MIF: what is damaged is refused with its reason");
    return test_run("volume formats", tear_down);
}
