/* SPDX-License-Identifier: Apache-2.0 */
/* Curves: VTK files of both forms and encodings, what stands beside lines, tracks, damage, there and back. */
#include <math.h>
#include <stdio.h>

#include "clvox/shape.h"

#include "check.h"
#include "files.h"

static void write_text(const char *name, const char *text)
{
    assert_true(!files_write(files_in(name), text, strlen(text)));
}

#define HEAD                                                                                                \
    "# vtk DataFile Version 4.2\nt\nASCII\nDATASET POLYDATA\nPOINTS 5 float\n0 0 0 1 0 0 1 2 0 1 2 3 -4 5 " \
    "6\n"

static void is(const char *name, int elements, const int32_t *corners)
{
    clvox_shape *s = NULL;
    assert_ok(clvox_curves_read(files_in(name), 0, &s));
    assert_true(s->kind == CLVOX_SHAPE_CURVES && s->vertices == 5 && s->elements == (size_t)elements);
    assert_memory_equal(s->corners, corners, 2 * (size_t)elements * sizeof *corners);
    assert_true(s->points[12] == -4 && s->points[14] == 6);
    clvox_shape_destroy(&s);
}

static void lines_become_segments(void **state)
{
    (void)state;
    const int32_t want[] = {0, 1, 1, 2, 2, 3, 4, 0};
    write_text("old.vtk", HEAD "POLYGONS 1 4\n3 0 1 2\nLINES 3 10\n4 0 1 2 3\n2 4 0\n1 3\nCELL_DATA 4\n");
    is("old.vtk", 4, want);
    write_text("new.vtk",
               HEAD "LINES 4 7\nOFFSETS vtktypeint64\n0 4 6 7\nCONNECTIVITY vtktypeint64\n0 1 2 3 4 0 3\n"
                    "TRIANGLE_STRIPS 1 4\n3 0 1 2\n");
    is("new.vtk", 4, want);
    /* A surface is read beside lines, as ever. */
    clvox_surface *s = NULL;
    assert_ok(clvox_surface_read(files_in("old.vtk"), &s));
    assert_true(s->triangles == 1);
    clvox_surface_destroy(&s);
    clvox_shape *lps = NULL;
    assert_ok(clvox_curves_read(files_in("old.vtk"), 1, &lps));
    assert_true(lps->points[12] == 4 && lps->points[13] == -5 && lps->points[14] == 6);
    clvox_shape_destroy(&lps);
}

static void there_and_back(void **state)
{
    (void)state;
    const int32_t want[] = {0, 1, 1, 2, 2, 3, 4, 0};
    clvox_shape *s = NULL, *again = NULL;
    write_text("old.vtk", HEAD "LINES 2 8\n4 0 1 2 3\n2 4 0\n");
    assert_ok(clvox_curves_read(files_in("old.vtk"), 0, &s));
    assert_ok(clvox_curves_write(s, 0, files_in("out.vtk")));
    is("out.vtk", 4, want);
    assert_ok(clvox_curves_write(s, 1, files_in("out.vtk")));
    assert_ok(clvox_curves_read(files_in("out.vtk"), 1, &again));
    assert_memory_equal(s->points, again->points, 15 * sizeof(double));
    clvox_shape_destroy(&again);
    /* Two lines are two lines in the file, not four. */
    size_t size;
    uint8_t *text = files_read(files_in("out.vtk"), &size);
    assert_non_null(memmem(text, size, "LINES 2 8\n", 10));
    free(text);
    assert_int_equal(clvox_curves_write(s, 0, files_in("out.obj")), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_curves_check_name("a.vtk.gz"), CLVOX_ERROR_ARGUMENT);
    s->points[0] = 1e300;
    assert_int_equal(clvox_curves_write(s, 0, files_in("out.vtk")), CLVOX_ERROR_DATA);
    s->points[0] = 0;
    s->corners[3] = 5;
    assert_int_equal(clvox_curves_write(s, 0, files_in("out.vtk")), CLVOX_ERROR_ARGUMENT);
    s->kind = CLVOX_SHAPE_CLOUD;
    assert_int_equal(clvox_curves_write(s, 0, files_in("out.vtk")), CLVOX_ERROR_ARGUMENT);
    clvox_shape_destroy(&s);
}

static void refused(const char *text, const char *why)
{
    clvox_shape *s = NULL;
    write_text("bad.vtk", text);
    assert_int_equal(clvox_curves_read(files_in("bad.vtk"), 0, &s), CLVOX_ERROR_FORMAT);
    assert_that(strstr(clvox_message(), why) && strstr(clvox_message(), "bad.vtk"), "%s", clvox_message());
    assert_null(s);
}

static void damage(void **state)
{
    (void)state;
    refused(HEAD "POLYGONS 1 4\n3 0 1 2\n", "has no LINES");
    refused(HEAD "LINES 1 3\n2 0 5\n", "segment 0 names vertex 5, but there are 5");
    refused(HEAD "LINES 1 3\n2 0 -1\n", "no vertex's number");
    refused(HEAD "LINES 1 3\n4 0 1\n", "more corners than it promised");
    refused(HEAD "LINES 2 6\n2 0 1\n2 0", "ends early");
    refused(
        "# vtk DataFile Version 4.2\nt\nASCII\nDATASET POLYDATA\nPOINTS 1 float\n0 nan 0\nLINES 1 3\n2 0 0\n",
        "not finite");
    refused("v 0 0 0\nl 1 1\n", "neither ASCII nor BINARY");
    refused("", "is empty");
    clvox_shape *none = NULL;
    write_text("bad.obj", "v 0 0 0\nv 1 0 0\nl 1 2\n");
    assert_int_equal(clvox_curves_read(files_in("bad.obj"), 0, &none), CLVOX_ERROR_FORMAT);
    assert_non_null(strstr(clvox_message(), "holds no curves that clvox knows"));
    write_text("bad.gii", "<?xml version=\"1.0\"?><GIFTI Version=\"1.0\" NumberOfDataArrays=\"0\"></GIFTI>");
    assert_int_equal(clvox_curves_read(files_in("bad.gii"), 0, &none), CLVOX_ERROR_FORMAT);
    assert_non_null(strstr(clvox_message(),
                           "holds no curves, for which GIFTI has no standard; clvox reads the "
                           "lines of VTK polydata (.vtk), MRtrix's tracks (.tck)"));
}

/* ---- streamlines --------------------------------------------------------- */

static size_t put(uint8_t *to, size_t at, double x, int bytes, bool big)
{
    union {
        float f;
        double d;
        int32_t i;
        uint8_t b[8];
    } u;
    if (bytes == 4)
        u.f = (float)x;
    else
        u.d = x;
    for (int k = 0; k < bytes; k++)
        to[at + (size_t)k] = u.b[big ? bytes - 1 - k : k];
    return at + (size_t)bytes;
}

/* Two lines, and one of a single point between them. */
static const double tracks[] = {0,
                                0,
                                0,
                                1,
                                0,
                                0,
                                1,
                                2,
                                0,
                                (double)NAN,
                                (double)NAN,
                                (double)NAN,
                                9,
                                9,
                                9,
                                (double)NAN,
                                (double)NAN,
                                (double)NAN,
                                -4,
                                5,
                                6,
                                1,
                                2,
                                3,
                                (double)NAN,
                                (double)NAN,
                                (double)NAN,
                                (double)INFINITY,
                                (double)INFINITY,
                                (double)INFINITY};
enum { NUMBERS = sizeof tracks / sizeof *tracks };

static size_t tck(uint8_t *to, const char *type, int bytes, bool big, int numbers)
{
    size_t at = (size_t)sprintf(
        (char *)to, "mrtrix tracks    \nroi: seed a.mif\ndatatype: %s\ncount: 3\nfile: . 100\nEND\n", type);
    assert_true(at <= 100);
    at = 100;
    for (int i = 0; i < numbers; i++)
        at = put(to, at, tracks[i], bytes, big);
    return at;
}

static void tracks_of_mrtrix(void **state)
{
    (void)state;
    static uint8_t bytes[2000];
    const int32_t want[] = {0, 1, 1, 2, 4, 5};
    static const struct {
        const char *type;
        int bytes;
        bool big;
    } types[] = {
        {"Float32LE", 4, false}, {"Float32BE", 4, true}, {"Float64LE", 8, false}, {"float64be", 8, true}};
    clvox_shape *s = NULL, *again = NULL;
    for (int i = 0; i < 4; i++)
        for (int lps = 0; lps < 2; lps++) { /* its frame is known */
            memset(bytes, 0, sizeof bytes);
            assert_true(!files_write(files_in("a.tck"), bytes,
                                     tck(bytes, types[i].type, types[i].bytes, types[i].big, NUMBERS)));
            assert_ok(clvox_curves_read(files_in("a.tck"), lps, &s));
            assert_true(s->vertices == 6 && s->elements == 3 && s->points[9] == 9 && s->points[12] == -4);
            assert_memory_equal(s->corners, want, sizeof want);
            if (i < 3 || !lps)
                clvox_shape_destroy(&s);
        }
    assert_ok(clvox_curves_write(s, 1, files_in("out.tck")));
    assert_ok(clvox_curves_read(files_in("out.tck"), 0, &again));
    assert_true(again->vertices == 6 && again->elements == 3);
    assert_memory_equal(again->points, s->points, 18 * sizeof(double));
    assert_memory_equal(again->corners, want, sizeof want);
    size_t size;
    uint8_t *text = files_read(files_in("out.tck"), &size);
    assert_true(size > 13 && !memcmp(text, "mrtrix tracks", 13) &&
                memmem(text, size, "count: 0000000003\n", 18));
    free(text);
    clvox_shape_destroy(&again);
    /* As VTK and back. */
    assert_ok(clvox_curves_write(s, 0, files_in("out.vtk")));
    assert_ok(clvox_curves_read(files_in("out.vtk"), 0, &again));
    assert_memory_equal(again->corners, want, sizeof want);
    clvox_shape_destroy(&again);
    clvox_shape_destroy(&s);
    /* By content, whatever the name. */
    memset(bytes, 0, sizeof bytes);
    const size_t whole = tck(bytes, "Float32LE", 4, false, NUMBERS);
    assert_true(!files_write(files_in("a.vtk"), bytes, whole));
    assert_ok(clvox_curves_read(files_in("a.vtk"), 0, &s));
    clvox_shape_destroy(&s);
}

static void refused_bytes(const char *name, const uint8_t *bytes, size_t size, const char *why)
{
    clvox_shape *s = NULL;
    assert_true(!files_write(files_in(name), bytes, size));
    assert_int_equal(clvox_curves_read(files_in(name), 0, &s), CLVOX_ERROR_FORMAT);
    assert_that(strstr(clvox_message(), why) && strstr(clvox_message(), name), "%s", clvox_message());
    assert_null(s);
}

static void refused_head(const char *head, const char *why)
{
    refused_bytes("bad.tck", (const uint8_t *)head, strlen(head), why);
}

static void damaged_tracks(void **state)
{
    (void)state;
    static uint8_t bytes[2000];
    refused_head("mrtrix tracks\ndatatype: Float32LE\n", "no END");
    refused_head("mrtrix tracks\ndatatype: Float32LE\nEND\n", "where its points begin");
    refused_head("mrtrix tracks\nfile: . 20\nEND\n", "no datatype");
    refused_head("mrtrix tracks\ndatatype: Int16\nfile: . 20\nEND\n", "of datatype Int16");
    refused_head("mrtrix tracks\ndatatype: Float32LE\nfile: points.dat 0\nEND\n", "in another file");
    refused_head("mrtrix tracks\ndatatype: Float32LE\nfile: . 2000\nEND\n", "where it has ended");
    refused_head("mrtrix tracks\ndatatype: Float32LE\nfile: . -1\nEND\n", "where it has ended");
    refused_head("mrtrix tracks\ndatatype: Float32LE\nfile: . 20\nEND\n", "begin in its header");
    for (int cut = 1; cut < 4; cut++) {
        memset(bytes, 0, sizeof bytes);
        refused_bytes("cut.tck", bytes, tck(bytes, "Float32LE", 4, false, NUMBERS - cut), "ends early");
    }
    memset(bytes, 0, sizeof bytes);
    size_t size = tck(bytes, "Float32LE", 4, false, NUMBERS);
    put(bytes, 104, (double)NAN, 4, false); /* one coordinate alone */
    refused_bytes("nan.tck", bytes, size, "vertex 0 (counted from 0) is not finite");
    assert_int_equal(clvox_curves_check_name("a.trk"), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_curves_check_name("a.tck.gz"), CLVOX_ERROR_ARGUMENT);
    assert_ok(clvox_curves_check_name("a.tck"));
}

static void put_int(uint8_t *to, size_t at, int value, int bytes, bool big)
{
    for (int k = 0; k < bytes; k++)
        to[at + (size_t)k] = (uint8_t)((unsigned)value >> 8 * (big ? bytes - 1 - k : k));
}

/* A line of two points with a scalar each and two properties; dim 10 x 20 x 30, voxels of 2 x 3 x 4 mm. */
static size_t trk(uint8_t *to, const char *order, const float matrix[16], bool big)
{
    memset(to, 0, 2000);
    memcpy(to, "TRACK", 5);
    for (int k = 0; k < 3; k++) {
        put_int(to, 6 + 2 * (size_t)k, 10 * (k + 1), 2, big);
        put(to, 12 + 4 * (size_t)k, k + 2, 4, big);
    }
    put_int(to, 36, 1, 2, big);
    put_int(to, 238, 2, 2, big);
    for (int i = 0; i < 16; i++)
        put(to, 440 + 4 * (size_t)i, (double)matrix[i], 4, big);
    memcpy(to + 948, order, strlen(order));
    put_int(to, 996, 1000, 4, big);
    put_int(to, 1000, 2, 4, big);
    const double numbers[] = {3, 4.5, 6, 7, 5, 7.5, 14, 8, 1, 2};
    size_t at = 1004;
    for (int i = 0; i < 10; i++)
        at = put(to, at, numbers[i], 4, big);
    return at;
}

static void tracks_of_trackvis(void **state)
{
    (void)state;
    static uint8_t bytes[2000];
    /* In voxels the points are 1, 1, 1 and 2, 2, 3. */
    static const struct {
        const char *order;
        float matrix[16];
        double first[3], second[3];
    } cases[] = {
        {"RAS", {2, 0, 0, -10, 0, 3, 0, 20, 0, 0, 4, 5, 0, 0, 0, 1}, {-8, 23, 9}, {-6, 26, 17}},
        {"LPS", {-2, 0, 0, 50, 0, -3, 0, 60, 0, 0, 4, 5, 0, 0, 0, 1}, {48, 57, 9}, {46, 54, 17}},
        /* Stored the other way round: voxel 10 - 1 - 1 along x. */
        {"LAS", {2, 0, 0, -10, 0, 3, 0, 20, 0, 0, 4, 5, 0, 0, 0, 1}, {6, 23, 9}, {4, 26, 17}},
        /* None is LPS, as TrackVis has it. */
        {"", {-2, 0, 0, 50, 0, -3, 0, 60, 0, 0, 4, 5, 0, 0, 0, 1}, {48, 57, 9}, {46, 54, 17}},
        /* The matrix' first axis runs along A: the file's second axis. */
        {"RAS", {0, 2, 0, -10, 3, 0, 0, 20, 0, 0, 4, 5, 0, 0, 0, 1}, {-8, 23, 9}, {-6, 26, 17}},
    };
    for (int c = 0; c < 5; c++)
        for (int big = 0; big < 2; big++) {
            clvox_shape *s = NULL;
            assert_true(
                !files_write(files_in("a.trk"), bytes, trk(bytes, cases[c].order, cases[c].matrix, big)));
            assert_ok(clvox_curves_read(files_in("a.trk"), 0, &s));
            assert_true(s->vertices == 2 && s->elements == 1 && s->corners[0] == 0 && s->corners[1] == 1);
            for (int k = 0; k < 3; k++)
                assert_that(fabs(s->points[k] - cases[c].first[k]) < 1e-5 &&
                                fabs(s->points[3 + k] - cases[c].second[k]) < 1e-5,
                            "case %d, axis %d: %g, %g", c, k, s->points[k], s->points[3 + k]);
            clvox_shape_destroy(&s);
        }
    const float none[16] = {0};
    refused_bytes("no.trk", bytes, trk(bytes, "RAS", none, false), "does not say where it lies");
    size_t size = trk(bytes, "RAS", cases[0].matrix, false);
    refused_bytes("cut.trk", bytes, size - 1, "ends early");
    refused_bytes("cut.trk", bytes, 900, "ends early");
    refused_bytes("cut.trk", bytes, size + 2, "ends early");
    put_int(bytes, 1000, -1, 4, false);
    refused_bytes("less.trk", bytes, size, "ends early");
    /* In which nibabel and the matrix differ: three axes exchanged, or two with one of them turned. */
    const float three[16] = {0, 2, 0, -10, 0, 0, 3, 20, 4, 0, 0, 5, 0, 0, 0, 1};
    size = trk(bytes, "RAS", three, false);
    refused_bytes("three.trk", bytes, size, "order RAS of the TrackVis file is not the SRA of its matrix");
    const float two[16] = {0, 2, 0, -10, -3, 0, 0, 20, 0, 0, 4, 5, 0, 0, 0, 1};
    size = trk(bytes, "RAS", two, false);
    refused_bytes("two.trk", bytes, size, "order RAS of the TrackVis file is not the PRS of its matrix");
    size = trk(bytes, "PRS", two, false);
    clvox_shape *same = NULL;
    assert_true(!files_write(files_in("same.trk"), bytes, size));
    assert_ok(clvox_curves_read(files_in("same.trk"), 0, &same));
    clvox_shape_destroy(&same);
    const float flat[16] = {2, 0, 0, -10, 0, 3, 0, 20, 0, 0, 0, 5, 0, 0, 0, 1};
    size = trk(bytes, "RAS", flat, false);
    refused_bytes("flat.trk", bytes, size, "without an inverse");
    size = trk(bytes, "RRS", cases[0].matrix, false);
    refused_bytes("order.trk", bytes, size, "voxel order");
    size = trk(bytes, "RAS", cases[0].matrix, false);
    put_int(bytes, 996, 7, 4, false);
    refused_bytes("size.trk", bytes, size, "another size");
    size = trk(bytes, "RAS", cases[0].matrix, false);
    put(bytes, 16, 0, 4, false);
    refused_bytes("edge.trk", bytes, size, "no size");
}

int main(void)
{
    test_case(lines_become_segments, "lines become segments, beside faces too");
    test_case(there_and_back, "there and back");
    test_case(damage, "damage is a sentence");
    test_case(tracks_of_mrtrix, "MRtrix's tracks of all types, there and back");
    test_case(damaged_tracks, "damaged tracks are a sentence");
    test_case(tracks_of_trackvis, "TrackVis' tracks by matrix and voxel order");
    int failed = test_run("curves", NULL);
    files_end();
    return failed;
}
