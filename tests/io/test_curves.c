/* SPDX-License-Identifier: Apache-2.0 */
/* Curves in VTK files: both forms of both encodings, what stands beside them, damage, and there and back. */
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
}

int main(void)
{
    test_case(lines_become_segments, "lines become segments, beside faces too");
    test_case(there_and_back, "there and back");
    test_case(damage, "damage is a sentence");
    int failed = test_run("curves", NULL);
    files_end();
    return failed;
}
