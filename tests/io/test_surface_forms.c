/* SPDX-License-Identifier: Apache-2.0 */
/* Surface files made by hand, byte by byte: byte orders, odd headers, frames,
 * and lies. */
#include "clvox/surface.h"

#include <stdarg.h>

#include "check.h"
#include "files.h"

static uint8_t bytes[1 << 16];
static size_t size;

static void start(void)
{
    size = 0;
}

static void text(const char *format, ...) CLVOX_PRINTF(1, 2);
static void text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size += (size_t)vsnprintf((char *)bytes + size, sizeof bytes - size, format, arguments);
    va_end(arguments);
}

/* Numbers of a NIfTI datatype; big: high byte first, on this little-endian machine swapped. */
static void put(int type, bool big, int count, const double *x)
{
    for (int i = 0; i < count; i++)
        size += files_put(bytes + size, type, big, x[i]);
}

enum { U8 = 2, I16 = 4, I32 = 8, F32 = 16, F64 = 64, I8 = 256, U16 = 512, U32 = 768, I64 = 1024 };
#define PUT(type, big, ...)                                                                                  \
    put(type, big, (int)(sizeof(double[]){__VA_ARGS__} / sizeof(double)), (double[]){__VA_ARGS__})

/* The surface all good files here hold: a pyramid over a square, its base a
 * quadrangle cut along 0-2. */
static const double pyramid[15] = {0, 0, 0, 2, 0, 0, 2, 2, 0, 0, 2, 0, 1, 1, -1.5};
static const int32_t faces[18] = {0, 1, 2, 0, 2, 3, 0, 4, 1, 1, 4, 2, 2, 4, 3, 3, 4, 0};

static clvox_surface *reads(const char *name)
{
    clvox_surface *s = NULL;
    assert_true(!files_write(files_in(name), bytes, size));
    int status = clvox_surface_read(files_in(name), &s);
    assert_that(status == 0 && s, "%s", clvox_message());
    return s;
}

/* Checks that `bytes` hold the pyramid, its points mapped by y = m x + shift (NULL: as they are). */
static void is_pyramid(const char *name, const double m[3][3], const double shift[3])
{
    clvox_surface *s = reads(name);
    if (!s)
        return;
    assert_that(s->vertices == 5 && s->triangles == 6, "%zu %zu", s->vertices, s->triangles);
    for (size_t i = 0; s->vertices == 5 && i < 15; i++) {
        double y = pyramid[i];
        if (m) {
            y = shift[i % 3];
            for (size_t k = 0; k < 3; k++)
                y += m[i % 3][k] * pyramid[i - i % 3 + k];
        }
        assert_that(fabs(s->points[i] - y) < 1e-6, "%zu: %g, not %g", i, s->points[i], y);
    }
    assert_true(s->triangles != 6 || !memcmp(s->corners, faces, sizeof faces));
    clvox_surface_destroy(&s);
}

static void refused(const char *name, const char *word)
{
    clvox_surface *s = (clvox_surface *)1;
    const char *path = files_in(name);
    assert_true(!files_write(path, bytes, size));
    int status = clvox_surface_read(path, &s);
    assert_that(status < 0 && !s, "%s with %s: %d", name, word, status);
    assert_that(strstr(clvox_message(), word) && strstr(clvox_message(), path), "\"%s\" lacks \"%s\"",
                clvox_message(), word);
}

static void refuses(const char *name, const char *content, const char *word)
{
    start();
    text("%s", content);
    refused(name, word);
}

/* ---- PLY ---------------------------------------------------------------- */

static void ply_text_with_remarks_properties_of_every(void **state)
{
    (void)state;
    start();
    text("ply\r\nformat ascii 1.0\r\ncomment end_header is not yet\r\nobj_info made by hand\r\n"
         "element camera 1\r\nproperty float fov\r\nproperty list uint8 float64 path\r\n"
         "element vertex 5\r\nproperty uchar red\r\nproperty double z\r\nproperty float32 y\r\nproperty "
         "int16 x\r\n"
         "element nothing 1000000000000\r\n"
         "element face 5\r\nproperty float quality\r\nproperty list uchar uint vertex_index\r\n"
         "element edge 1\r\nproperty int vertex1\r\nend_header\r\n45.5 2 1.0 2.0\r\n");
    for (int i = 0; i < 5; i++)
        text("255 %g %g %g\r\n", pyramid[3 * i + 2], pyramid[3 * i + 1], pyramid[3 * i]);
    text("0.5 4 0 1 2 3\n");
    for (int i = 6; i < 18; i += 3)
        text("1e-3 3 %d %d %d\n", faces[i], faces[i + 1], faces[i + 2]);
    text("7");
    is_pyramid("a.ply", NULL, NULL);
}

static void ply_binary_byte_first_odd_types_and_order(void **state)
{
    const int *given = *state;
    int big = given[0];
    start();
    text("ply\nformat binary_%s_endian 1.0\nelement face 5\nproperty list ushort short vertex_indices\n"
         "property list int uchar skipped\nelement vertex 5\nproperty double x\nproperty char y\n"
         "property uint flags\nproperty float z\nend_header\n",
         big ? "big" : "little");
    PUT(U16, big, 4);
    PUT(I16, big, 0, 1, 2, 3);
    PUT(I32, big, 2);
    PUT(U8, big, 10, 13);
    for (int i = 6; i < 18; i += 3) {
        PUT(U16, big, 3);
        PUT(I16, big, faces[i], faces[i + 1], faces[i + 2]);
        PUT(I32, big, 0);
    }
    for (int i = 0; i < 15; i += 3) {
        PUT(F64, big, pyramid[i]);
        PUT(I8, big, pyramid[i + 1]);
        PUT(U32, big, 4e9);
        PUT(F32, big, pyramid[i + 2]);
    }
    is_pyramid("a.ply", NULL, NULL);
    size--;
    refused("a.ply", "ends early");
}

static void ply_strips_of_triangles(void **state)
{
    (void)state;
    start();
    text("ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\nproperty float y\nproperty float z\n"
         "element tristrips 1\nproperty list int int vertex_indices\nend_header\n"
         "0 0 0 1 0 0 0 1 0 1 1 0 5 5 5\n9 0 1 2 3 3 -1 4 0 1\n");
    clvox_surface *s = reads("strip.ply");
    static const int32_t strips[9] = {0, 1, 2, 2, 1, 3, 4, 0, 1};
    assert_true(s && s->triangles == 3 && !memcmp(s->corners, strips, sizeof strips));
    clvox_surface_destroy(&s);
}

#define VERTEX "element vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
#define FACE "element face 1\nproperty list uchar int vertex_indices\n"
#define ASCII_PLY "ply\nformat ascii 1.0\n"

static void ply_what_is_refused(void **state)
{
    (void)state;
    refuses("b.ply", ASCII_PLY VERTEX FACE "end_header\n0 0 0 1 0 0 0 1 0\n3 0 1 3\n", "names vertex 3");
    refuses("b.ply", ASCII_PLY VERTEX FACE "end_header\n0 0 0 1 0 0 0 1 0\n3 0 1 -1\n", "no vertex's number");
    refuses("b.ply", ASCII_PLY VERTEX FACE "end_header\n0 0 0 1 0 0 0 1 0\n3 0 1 1.5\n",
            "no vertex's number");
    refuses("b.ply", ASCII_PLY VERTEX FACE "end_header\n0 0 0 1 nan 0 0 1 0\n3 0 1 2\n", "not finite");
    refuses("b.ply", ASCII_PLY VERTEX FACE "end_header\n0 0 0 1 1e999 0 0 1 0\n3 0 1 2\n", "not finite");
    refuses("b.ply", ASCII_PLY VERTEX FACE "end_header\n0 0 0 1 x 0 0 1 0\n3 0 1 2\n", "no number");
    refuses("b.ply", ASCII_PLY VERTEX FACE "end_header\n0 0 0 1 0 0 0 1 0\n4000000000 0 1 2\n", "ends early");
    refuses("b.ply", ASCII_PLY VERTEX FACE "end_header\n0 0 0 1 0 0 0 1 0\n-3 0 1 2\n", "negative length");
    refuses("b.ply", ASCII_PLY VERTEX "end_header\n0 0 0 1 0 0 0 1 0\n", "points without faces");
    refuses("b.ply", ASCII_PLY FACE "end_header\n3 0 1 2\n", "no vertices with x, y and z");
    refuses("b.ply",
            ASCII_PLY "element vertex 4000000000\nproperty float x\nproperty float y\nproperty float z\n" FACE
                      "end_header\n0 0 0\n",
            "promises more");
    refuses("b.ply", ASCII_PLY "element vertex -1\nend_header\n", "without a count");
    refuses("b.ply", ASCII_PLY "property float x\nend_header\n", "of no element");
    refuses("b.ply", ASCII_PLY "element vertex 1\nproperty quaternion x\nend_header\n", "unknown type");
    refuses("b.ply", ASCII_PLY "element face 1\nproperty list float int vertex_indices\nend_header\n",
            "whole number");
    refuses("b.ply", ASCII_PLY "element vertex 1\n", "inside of its header");
    refuses("b.ply", "ply\nformat binary_middle_endian 1.0\nend_header\n", "neither ascii nor binary");
    refuses("b.ply", "ply\nelement vertex 1\nend_header\n", "begin with its format");
}

static void ply(void)
{
    test_case(ply_text_with_remarks_properties_of_every,
              "PLY: text with remarks, properties of every kind and elements that are skipped");

    for (int big = 0; big < 2; big++)
        test_case_at(ply_binary_byte_first_odd_types_and_order, TEST_AT(big),
                     "PLY: binary, %s byte first, odd types and order", big ? "high" : "low");
    test_case(ply_strips_of_triangles, "PLY: strips of triangles");
    test_case(ply_what_is_refused, "PLY: what is refused");
}

/* ---- VTK ---------------------------------------------------------------- */

#define VTK(version, form)                                                                                   \
    "# vtk DataFile Version " version "\ntitle, with POINTS 3 float\n" form "\nDATASET POLYDATA\n"

static void vtk_points(int type, const char *name)
{
    text("POINTS 5 %s\n", name);
    put(type, true, 15, pyramid);
    text("\n");
}

static void vtk_text_polygons_of_several_corners(void **state)
{
    (void)state;
    start();
    text("%s", VTK("4.2", "ASCII") "FIELD FieldData 1\nTimeValue 1 2 double\n0 1\nPOINTS 5 float\n");
    for (int i = 0; i < 15; i++)
        text("%g%c", pyramid[i], i % 6 == 5 ? '\n' : ' ');
    text("\nVERTICES 1 3\n2 0 1\nLINES 1 4\n3 0 1 2\npolygons 5 21\n4 0 1 2 3\n");
    for (int i = 6; i < 18; i += 3)
        text("3 %d %d %d\n", faces[i], faces[i + 1], faces[i + 2]);
    text("POINT_DATA 5\nSCALARS whatever float\nLOOKUP_TABLE default\n1 2 3 4 5\n");
    is_pyramid("a.vtk", NULL, NULL);
}

static void vtk_binary_float_and_double_with_fields(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        start();
        text("%s", VTK("4.2", "BINARY"));
        text("FIELD FieldData 2\na 2 2 short\n");
        PUT(I16, 1, 1, 2, 3, 4);
        text("\nMETADATA\nINFORMATION 0\n\nb 1 1 double\n");
        PUT(F64, 1, 0.5);
        text("\n");
        vtk_points(wide ? F64 : F32, wide ? "double" : "float");
        text("METADATA\nINFORMATION 2\nNAME L2_NORM_RANGE LOCATION vtkDataArray\nDATA 2 0 3\n\nPOLYGONS 5 "
             "21\n");
        PUT(I32, 1, 4, 0, 1, 2, 3);
        for (int i = 6; i < 18; i += 3)
            PUT(I32, 1, 3, faces[i], faces[i + 1], faces[i + 2]);
        text("\nCELL_DATA 5\nNORMALS n float\n");
        is_pyramid("a.vtk", NULL, NULL);
    }
}

static void vtk_version_5_offsets_and_connectivity(void **state)
{
    const int *given = *state;
    int binary = given[0];
    start();
    if (binary) {
        text("%s", VTK("5.1", "BINARY"));
        vtk_points(F32, "float");
        text("POLYGONS 6 16\nOFFSETS vtktypeint64\n");
        PUT(I64, 1, 0, 4, 7, 10, 13, 16);
        text("\nCONNECTIVITY vtktypeint32\n");
        PUT(I32, 1, 0, 1, 2, 3, 0, 4, 1, 1, 4, 2, 2, 4, 3, 3, 4, 0);
    } else {
        text("%s", VTK("5.1", "ASCII") "POINTS 5 float\n0 0 0 2 0 0 2 2 0 0 2 0 1 1 -1.5\n"
                                       "METADATA\nINFORMATION 0\n\nLINES 2 2\nOFFSETS vtktypeint64\n0 2\n"
                                       "CONNECTIVITY vtktypeint64\n0 1\nPOLYGONS 6 16\n"
                                       "OFFSETS vtktypeint64\n0 4 7 10 13 16\n"
                                       "CONNECTIVITY vtktypeint64\n0 1 2 3 0 4 1 1 4 2 2 4 3 3 4 0");
    }
    is_pyramid("a.vtk", NULL, NULL);
}

static void vtk_strips_of_triangles(void **state)
{
    (void)state;
    refuses("s.vtk",
            VTK("3.0", "ASCII") "TRIANGLE_STRIPS 1 6\n5 0 1 2 3 4\nPOINTS 4 float\n0 0 0 0 0 0 0 0 0 0 0 0",
            "names vertex 4");
    start();
    text("%s",
         VTK("3.0",
             "ASCII") "TRIANGLE_STRIPS 1 6\n5 0 1 2 3 4\nPOINTS 5 int\n0 0 0 1 0 0 0 1 0 1 1 0 5 5 5\n");
    clvox_surface *s = reads("s.vtk");
    static const int32_t strip[9] = {0, 1, 2, 2, 1, 3, 2, 3, 4};
    assert_true(s && s->triangles == 3 && !memcmp(s->corners, strip, sizeof strip));
    clvox_surface_destroy(&s);
}

#define THREE "POINTS 3 float\n0 0 0 1 0 0 0 1 0\n"

static void vtk_what_is_refused(void **state)
{
    (void)state;
    refuses("b.vtk", VTK("3.0", "ASCII") THREE "POLYGONS 1 4\n3 0 1 3\n", "names vertex 3");
    refuses("b.vtk", VTK("3.0", "ASCII") THREE "POLYGONS 1 4\n3 0 -1 2\n", "no vertex's number");
    refuses("b.vtk", VTK("3.0", "ASCII") THREE "POLYGONS 1 4\n9 0 1 2\n", "more corners");
    refuses("b.vtk", VTK("3.0", "ASCII") THREE "POLYGONS 1 5\n3 0 1 2\n", "fewer corners");
    refuses("b.vtk", VTK("3.0", "ASCII") THREE "POLYGONS 1 4\n3 0 1\n", "ends early");
    refuses("b.vtk", VTK("3.0", "ASCII") THREE "POLYGONS 1 4000000000\n3 0 1 2\n", "promises more");
    refuses("b.vtk", VTK("3.0", "ASCII") "POINTS 900 float\n0 0 0\n", "promises more");
    refuses("b.vtk", VTK("3.0", "ASCII") "POINTS 1 float\n0 inf 0\n", "not finite");
    refuses("b.vtk", VTK("3.0", "ASCII") "POINTS 1 bit\n0\n", "\"bit\"");
    refuses("b.vtk", VTK("3.0", "ASCII") THREE, "no POLYGONS");
    refuses("b.vtk", VTK("3.0", "ASCII") "POLYGONS 0 0\n", "no POINTS");
    refuses("b.vtk", VTK("3.0", "ASCII") THREE "CUBES 1 1\n", "unknown name");
    refuses("b.vtk",
            VTK("5.1", "ASCII") THREE "POLYGONS 2 3\nOFFSETS vtktypeint64\n0 4\nCONNECTIVITY int\n0 1 2\n",
            "OFFSETS that fall");
    refuses("b.vtk",
            VTK("5.1", "ASCII") THREE "POLYGONS 3 3\nOFFSETS vtktypeint64\n0 3 2\nCONNECTIVITY int\n0 1 2\n",
            "OFFSETS that fall");
    refuses("b.vtk",
            VTK("5.1", "ASCII") THREE "POLYGONS 2 3\nOFFSETS vtktypeint64\n1 3\nCONNECTIVITY int\n0 1 2\n",
            "begin with 0");
    refuses("b.vtk", VTK("5.1", "ASCII") THREE "POLYGONS 2 3\nOFFSETS vtktypeint64\n0 3\n0 1 2\n",
            "without CONN");
    refuses("b.vtk", "# vtk DataFile Version 3.0\nt\nASCII\nDATASET STRUCTURED_POINTS\n",
            "STRUCTURED_POINTS");
    refuses("b.vtk", "# vtk DataFile Version 3.0\nt\nHEX\n", "neither ASCII nor BINARY");
    refuses("b.vtk", "# vtk DataFile Version 3.0\nt\nASCII\nPOINTS\n", "no DATASET");
}

static void vtk(void)
{
    test_case(vtk_text_polygons_of_several_corners,
              "VTK: text, polygons of several corners, and what is skipped");
    test_case(vtk_binary_float_and_double_with_fields,
              "VTK: binary, float and double, with fields and metadata");

    for (int binary = 0; binary < 2; binary++)
        test_case_at(vtk_version_5_offsets_and_connectivity, TEST_AT(binary),
                     "VTK: version 5 offsets and connectivity, %s", binary ? "binary" : "text");
    test_case(vtk_strips_of_triangles, "VTK: strips of triangles");
    test_case(vtk_what_is_refused, "VTK: what is refused");
}

/* ---- STL, OBJ, BYU ------------------------------------------------------ */

static void stl_text_two_solids_polygons_odd_names(void **state)
{
    (void)state;
    start();
    text("solid facet of vertex 1 2 3\n FACET NORMAL nan nan nan\n  outer loop\n   vertex 0 0 0\n   vertex 2 "
         "0 0\n"
         "   vertex 2 2 0\n   vertex -0 2e0 0.0\n  endloop\n endfacet\nendsolid facet\nsolid\n");
    for (int i = 6; i < 18; i += 3) {
        text("facet normal 0 0 1\nouter loop\n");
        for (int k = 0; k < 3; k++)
            text("vertex %g %g %g\n", pyramid[3 * faces[i + k]], pyramid[3 * faces[i + k] + 1],
                 pyramid[3 * faces[i + k] + 2]);
        text("endloop endfacet\n");
    }
    text("endsolid");
    is_pyramid("a.stl", NULL, NULL);
    is_pyramid("solid.dat", NULL, NULL);
}

static void stl_binary_even_where_it_begins_with_solid(void **state)
{
    (void)state;
    start();
    memset(bytes, 0, 80);
    memcpy(bytes, "solid facet", 11);
    size = 80;
    PUT(U32, 0, 6);
    for (int i = 0; i < 18; i++) {
        if (i % 3 == 0)
            PUT(F32, 0, 0, 0, 0);
        for (int k = 0; k < 3; k++)
            PUT(F32, 0, pyramid[3 * faces[i] + k] == 0 && i % 2 ? -0.0 : pyramid[3 * faces[i] + k]);
        if (i % 3 == 2)
            PUT(U16, 0, 0xffff);
    }
    is_pyramid("a.stl", NULL, NULL);
    is_pyramid("a.dat", NULL, NULL);
    bytes[0] = 'x';
    text("trailing");
    is_pyramid("a.stl", NULL, NULL);
    size -= 9;
    refused("a.stl", "cut short");
    size = 60;
    refused("a.stl", "cut short");
}

static void stl_what_is_refused(void **state)
{
    (void)state;
    refuses(
        "b.stl",
        "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nendloop\nendfacet\nendsolid\n",
        "what no STL file does");
    refuses("b.stl",
            "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0\nvertex 1 0 0\nendloop\nendfacet\nendsolid\n",
            "what no STL file does");
    refuses("b.stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 inf\n", "not finite");
    refuses("b.stl", "solid\nfacet normal 0 0 1\nouter loop\n", "no endsolid");
}

static void stl(void)
{
    test_case(stl_text_two_solids_polygons_odd_names,
              "STL: text, two solids, polygons, odd names and normals");
    test_case(stl_binary_even_where_it_begins_with_solid,
              "STL: binary, even where it begins with solid; corners at equal places become one");
    test_case(stl_what_is_refused, "STL: what is refused");
}

static void obj_colours_textures_normals_negative(void **state)
{
    (void)state;
    start();
    text("# made by hand\nmtllib x.mtl\no body\nv 0 0 0 0.5 0.5 0.5\n  v 2 0 0 1\nv 2\t2 0 # right\nvt 0 "
         "0\nvn 0 0 1\n"
         "v 0 2 0\ns off\nf 1 2 3/1 4//1\nv 1 1 \\\n -1.5\nusemtl y\nf 1/1/1 5/1/1 2/1/1\nf -4 -1 -3\r\n"
         "f 3 5 \\\r\n4\nl 1 2\np 1\nf 4 5 1#end");
    is_pyramid("a.obj", NULL, NULL);
}

static void obj_what_is_refused(void **state)
{
    (void)state;
    refuses("b.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "names vertex 3");
    refuses("b.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n", "no vertex's number");
    refuses("b.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -4 1 2\n", "no vertex's number");
    refuses("b.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 99999999999999999999\n", "no vertex's number");
    refuses("b.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3.5\n", "no number");
    refuses("b.obj", "v 0 0 0\nv 1 0\nv 0 1 0\nf 1 2 3\n", "three coordinates");
    refuses("b.obj", "v 0 0 0\nv 1 0 x\n", "three coordinates");
    refuses("b.obj", "v 0 0 nan\n", "not finite");
    refuses("b.obj", "f 1 2 3\n", "names vertex 0");
}

static void obj(void)
{
    test_case(obj_colours_textures_normals_negative,
              "OBJ: colours, textures, normals, negative and joined lines, polygons");
    test_case(obj_what_is_refused, "OBJ: what is refused");
}

static void byu_two_parts_quadrangles_fortrans_columns(void **state)
{
    (void)state;
    start();
    text("       2       5       5      16\n       1       1       2       5\n"
         " 0.00000E+00 0.00000E+00 0.00000E+00 2.00000E+00 0.00000E+00 0.00000E+00\n"
         " 2.00000E+00 2.00000E+00 0.00000E+00 0.00000E+00 2.00000E+00 0.00000E+00\n"
         " 1.00000E+00 1.00000E+00-1.50000E+00\n"
         "       1       2       3      -4       1       5      -2       2       5      -3\n"
         "       3       5      -4       4       5      -1\n");
    is_pyramid("a.byu", NULL, NULL);
}

static void byu_what_is_refused(void **state)
{
    (void)state;
    refuses("b.byu", "1 3 1 3\n1 1\n0 0 0\n1 0 0\n0 1 0\n1 2 -4\n", "names vertex 3");
    refuses("b.byu", "1 3 1 3\n1 1\n0 0 0\n1 0 0\n0 1 0\n1 2 0\n", "no vertex's number");
    refuses("b.byu", "1 3 1 3\n1 1\n0 0 0\n1 0 0\n0 1 0\n1 2 3\n", "another number of polygons");
    refuses("b.byu", "1 3 2 3\n1 1\n0 0 0\n1 0 0\n0 1 0\n1 2 -3\n", "another number of polygons");
    refuses("b.byu", "1 3 1 3\n1 1\n0 0 0\n1 0 0\n0 1 nan\n1 2 -3\n", "not finite");
    refuses("b.byu", "1 3 1 3\n1 1\n0 0 0\n1 0 0\n0 1\n", "promises more");
    refuses("b.byu", "1 1e18 1 3\n1 1\n0 0 0\n", "promises more");
    refuses("b.byu", "1 -3 1 3\n", "four counts");
    refuses("b.byu", "hello\n", "four counts");
}

static void byu(void)
{
    test_case(byu_two_parts_quadrangles_fortrans_columns,
              "BYU: two parts, quadrangles, Fortran's columns without spaces");
    test_case(byu_what_is_refused, "BYU: what is refused");
}

/* ---- FreeSurfer --------------------------------------------------------- */

static void freesurfer_body(const char *stamp)
{
    start();
    bytes[0] = bytes[1] = 0xff;
    bytes[2] = 0xfe;
    size = 3;
    text("%s", stamp);
    PUT(I32, 1, 5, 6);
    put(F32, true, 15, pyramid);
    for (int i = 0; i < 18; i++)
        PUT(I32, 1, faces[i]);
}

static void geometry(const char *valid, const char *axes, const char *centre)
{
    text("valid = %s  # volume info valid\nfilename = ../mri/filled.mgz\nvolume = 256 256 256\nvoxelsize = 1 "
         "1 1\n"
         "%scras   = %s\n",
         valid, axes, centre);
}

static const double one[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, freesurfer_shift[3] = {5.5, -17, 19.25};

static void freesurfer_without_geometry_tkras_stands(void **state)
{
    (void)state;
    freesurfer_body("created by me on Sat Nov 21\n\n");
    is_pyramid("lh.a", NULL, NULL);
    freesurfer_body("created by me on Sat Nov 21\n");
    is_pyramid("a.fs", NULL, NULL);
}

#define STANDARD "xras   = -1 0 0\nyras   = 0 0 -1\nzras   = 0 1 0\n"

static void freesurfer_the_volumes_centre_moves_tkras(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        freesurfer_body("created by me\n\n");
        if (form != 1)
            PUT(I32, 1, 2, form == 2);
        PUT(I32, 1, 20);
        geometry(form == 3 ? "0" : "1", STANDARD, "5.5 -17 19.25");
        if (form == 1)
            PUT(I32, 1, 3, 4, 0);
        is_pyramid("lh.a", form < 2 ? one : NULL, freesurfer_shift);
    }
}

static void freesurfer_axes_of_another_volume_count_too(void **state)
{
    (void)state;
    static const double turned[3][3] = {{0.6, 0.8, 0}, {-0.8, 0.6, 0}, {0, 0, 1}};
    freesurfer_body("created by me\n\n");
    PUT(I32, 1, 2, 0, 20);
    geometry("1", "xras = -0.6 0.8 0\nyras = 0 0 -1\nzras = 0.8 0.6 0\n", "5.5 -17 19.25");
    is_pyramid("lh.a", turned, freesurfer_shift);
}

static void freesurfer_a_volume_of_the_other_hand_turns(void **state)
{
    (void)state;
    freesurfer_body("created by me\n\n");
    PUT(I32, 1, 2, 0, 20);
    geometry("1", "xras = 1 0 0\nyras = 0 0 -1\nzras = 0 1 0\n", "0 0 0");
    clvox_surface *s = reads("lh.a");
    assert_true(s && s->points[3] == -2 && s->corners[0] == 0 && s->corners[1] == 2 && s->corners[2] == 1);
    clvox_surface_destroy(&s);
}

static void freesurfer_what_is_refused(void **state)
{
    (void)state;
    freesurfer_body("created by me\n\n");
    PUT(I32, 1, 2, 0, 20);
    geometry("1", "xras = -1 0 0\nyras = 0 0\nzras = 0 1 0\n", "0 0 0");
    refused("lh.a", "geometry");
    freesurfer_body("created by me\n\n");
    PUT(I32, 1, 2, 0, 20);
    geometry("1", "xras = -1 0 0\nyras = 0 0 0\nzras = 0 1 0\n", "0 0 0");
    refused("lh.a", "singular");
    freesurfer_body("created by me\n\n");
    size--;
    refused("lh.a", "promises 5 vertices");
    bytes[18] = 0x7f;
    refused("lh.a", "promises");
    bytes[2] = 0xff;
    refused("lh.a", "mris_convert");
    size = 12;
    bytes[2] = 0xfe;
    refused("lh.a", "ends early");
}

static void freesurfer(void)
{
    test_case(freesurfer_without_geometry_tkras_stands,
              "FreeSurfer: without geometry tkRAS stands; an old stamp has one line");
    test_case(freesurfer_the_volumes_centre_moves_tkras,
              "FreeSurfer: the volume's centre moves tkRAS to RAS");
    test_case(freesurfer_axes_of_another_volume_count_too, "FreeSurfer: axes of another volume count too");
    test_case(freesurfer_a_volume_of_the_other_hand_turns,
              "FreeSurfer: a volume of the other hand turns triangles, so that outward stays outward");
    test_case(freesurfer_what_is_refused, "FreeSurfer: what is refused");
}

static int tear_down(void **state)
{
    (void)state;
    files_end();
    return 0;
}

int main(void)
{
    ply();
    vtk();
    stl();
    obj();
    byu();
    freesurfer();
    return test_run("surface forms", tear_down);
}
