/* SPDX-License-Identifier: Apache-2.0 */
/* GIFTI files made by hand: encodings, orders, frames, and lies. */
#include "clvox/surface.h"

#include <stdarg.h>
#include <zlib.h>

#include "check.h"
#include "files.h"

enum { I16 = 4, I32 = 8, F32 = 16, F64 = 64, U8 = 2 };

static const double points[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1.5};
static const double corners[12] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};

static char file[1 << 14];
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
    size += (size_t)vsnprintf(file + size, sizeof file - size, format, arguments);
    va_end(arguments);
}

static void base64(const uint8_t *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        unsigned b[3] = {bytes[i], i + 1 < count ? bytes[i + 1] : 0, i + 2 < count ? bytes[i + 2] : 0};
        unsigned bits = b[0] << 16 | b[1] << 8 | b[2];
        text("%c%c%c%c", digits[bits >> 18], digits[bits >> 12 & 63],
             i + 1 < count ? digits[bits >> 6 & 63] : '=', i + 2 < count ? digits[bits & 63] : '=');
        if (i % 30 == 27)
            text("\r\n   ");
    }
}

/* How the arrays of a file are stored. */
typedef struct form {
    const char *encoding;
    int point_type, corner_type;
    bool big, columns, gzip;
} form;

static const char *type_name(int type)
{
    return type == I16   ? "INT16"
           : type == I32 ? "INT32"
           : type == F32 ? "FLOAT32"
           : type == F64 ? "FLOAT64"
                         : "UINT8";
}

static void array(const form *f, const char *intent, int type, const double *values, const char *inner)
{
    uint8_t raw[128], packed[256];
    size_t bytes = 0;
    text("<DataArray Intent=\"%s\" DataType=\"NIFTI_TYPE_%s\" ArrayIndexingOrder=\"%sMajorOrder\" "
         "Dimensionality=\"2\" Dim0=\"4\" Dim1=\"3\" Encoding=\"%s\" Endian=\"%sEndian\" "
         "ExternalFileName=\"\" "
         "ExternalFileOffset=\"\">%s<Data>",
         intent, type_name(type), f->columns ? "Column" : "Row", f->encoding, f->big ? "Big" : "Little",
         inner);
    for (int i = 0; i < 12; i++) {
        double x = values[f->columns ? i % 4 * 3 + i / 4 : i];
        bytes += files_put(raw + bytes, type, f->big, x);
        if (!strcmp(f->encoding, "ASCII"))
            text("%g\n ", x);
    }
    if (f->gzip) {
        base64(packed, files_gzip_member(raw, bytes, packed, sizeof packed));
    } else if (!strcmp(f->encoding, "GZipBase64Binary")) {
        uLongf room = sizeof packed;
        assert_true(compress(packed, &room, raw, bytes) == Z_OK);
        base64(packed, room);
    } else if (!strcmp(f->encoding, "Base64Binary")) {
        base64(raw, bytes);
    }
    text("</Data></DataArray>\n");
}

/* The tetrahedron, with what else the points' array is to hold, and what stands before the arrays. */
static void whole(const form *f, const char *before, const char *inner)
{
    start();
    text("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<!DOCTYPE GIFTI SYSTEM \"http://www.nitrc.org/frs/download.php/115/gifti.dtd\">\n"
         "<GIFTI Version=\"1.0\" NumberOfDataArrays=\"2\"><MetaData/>%s<LabelTable/>\n",
         before);
    array(f, "NIFTI_INTENT_TRIANGLE", f->corner_type, corners, "<MetaData></MetaData>");
    array(f, "NIFTI_INTENT_POINTSET", f->point_type, points, inner);
    text("</GIFTI>\n");
}

/* matrix NULL: none; else four rows of four numbers, RAS = matrix points. */
static void is_tetrahedron(const double *matrix)
{
    clvox_surface *s = NULL;
    assert_true(!files_write(files_in("a.surf.gii"), file, size));
    assert_that(clvox_surface_read(files_in("a.surf.gii"), &s) == 0, "%s", clvox_message());
    if (!s)
        return;
    assert_true(s->vertices == 4 && s->triangles == 4);
    bool turned = false;
    for (size_t i = 0; s->vertices == 4 && i < 12; i++) {
        double y = points[i];
        if (matrix) {
            const double *row = matrix + 4 * (i % 3), *p = points + i - i % 3;
            y = row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3];
        }
        assert_that(fabs(s->points[i] - y) < 1e-9, "%zu: %g, not %g", i, s->points[i], y);
        turned = turned || s->corners[i] != (int32_t)corners[i];
    }
    double det = 1;
    if (matrix)
        det = matrix[0] * (matrix[5] * matrix[10] - matrix[6] * matrix[9]) -
              matrix[1] * (matrix[4] * matrix[10] - matrix[6] * matrix[8]) +
              matrix[2] * (matrix[4] * matrix[9] - matrix[5] * matrix[8]);
    assert_true(turned == (det < 0));
    clvox_surface_destroy(&s);
}

static void refused(const char *word)
{
    clvox_surface *s = (clvox_surface *)1;
    const char *path = files_in("b.gii");
    assert_true(!files_write(path, file, size));
    int status = clvox_surface_read(path, &s);
    assert_that(status < 0 && !s, "with %s: %d", word, status);
    assert_that(strstr(clvox_message(), word) && strstr(clvox_message(), path), "\"%s\" lacks \"%s\"",
                clvox_message(), word);
}

/* Puts `with` where `what` stands first behind `after`. */
static void change(const char *after, const char *what, const char *with)
{
    char tail[sizeof file];
    char *from = strstr(file, after), *at = from ? strstr(from, what) : NULL;
    assert_that(at != NULL, "no %s", what);
    if (!at)
        return;
    strcpy(tail, at + strlen(what));
    size = (size_t)(at - file);
    text("%s%s", with, tail);
}

static const form plain = {"ASCII", F32, I32, false, false, false};

static const form all[] = {
    {"ASCII", F32, I32, false, false, false},           {"ASCII", F64, I16, false, true, false},
    {"Base64Binary", F32, I32, false, false, false},    {"Base64Binary", F64, I16, true, true, false},
    {"Base64Binary", F32, U8, true, false, false},      {"GZipBase64Binary", F32, I32, false, true, false},
    {"GZipBase64Binary", F64, I32, true, false, false}, {"GZipBase64Binary", F32, F32, true, true, true}};

static void and_2(void **state)
{
    const int *given = *state;
    size_t i = (size_t)given[0];
    whole(&all[i], "", "");
    is_tetrahedron(NULL);
}

static void other_arrays_numbers_for_intents_cdata(void **state)
{
    (void)state;
    whole(&plain, "<!-- <DataArray> --><MetaData><MD><Name>x</Name><Value>&lt;&#65;</Value></MD></MetaData>",
          "");
    change("<LabelTable", "<LabelTable/>",
           "<LabelTable><Label Key=\"0\"><![CDATA[<Data>]]></Label></LabelTable>"
           "<DataArray Intent=\"NIFTI_INTENT_SHAPE\" DataType=\"RGB24\" "
           "Encoding=\"odd\"><Data>x y z</Data></DataArray>");
    change("Intent=\"NIFTI_INTENT_POINTSET", "NIFTI_INTENT_POINTSET", "1008");
    change("Intent=\"NIFTI_INTENT_TRIANGLE", "NIFTI_INTENT_TRIANGLE", "1009");
    change("1008", "<Data>", "<Data><![CDATA[");
    change("<![CDATA[0", "</Data>", "]]></Data>");
    is_tetrahedron(NULL);
    change("<?xml", "UTF-8", "UTF-16");
    for (size_t i = size; i--;) {
        file[2 * i + 3] = 0;
        file[2 * i + 2] = file[i];
    }
    file[0] = (char)0xff;
    file[1] = (char)0xfe;
    size = 2 * size + 2;
    is_tetrahedron(NULL);
}

static void forms(void)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        test_case_at(and_2, TEST_AT((int)i), "%s%s, %s and %s, %s, by %s", all[i].encoding,
                     all[i].gzip ? " with gzip's header" : "", type_name(all[i].point_type),
                     type_name(all[i].corner_type), all[i].big ? "high byte first" : "low byte first",
                     all[i].columns ? "columns" : "rows");
    test_case(other_arrays_numbers_for_intents_cdata,
              "other arrays, numbers for intents, CDATA, remarks in the file and in UTF-16");
}

#define PLACE(space, other, rows)                                                                            \
    "<CoordinateSystemTransformMatrix><DataSpace>" space "</DataSpace><TransformedSpace>" other              \
    "</TransformedSpace><MatrixData>" rows "</MatrixData></CoordinateSystemTransformMatrix>"
#define ROWS "0.8 -0.6 0 5 0.6 0.8 0 -7 0 0 1.1 3 0 0 0 1"
#define MIRROR "-1 0 0 5\n0 1 0 -7\n0 0 1 3\n0 0 0 1"
static const double rows[12] = {0.8, -0.6, 0, 5, 0.6, 0.8, 0, -7, 0, 0, 1.1, 3};
static const double mirror[12] = {-1, 0, 0, 5, 0, 1, 0, -7, 0, 0, 1, 3};

/* FreeSurfer's remarks: axes of a volume and its centre. */
static const char *remarks(const double values[12])
{
    static char out[2048];
    size_t at = 0;
    at += (size_t)sprintf(out + at, "<MetaData>");
    for (int i = 0; i < 12; i++)
        at += (size_t)sprintf(out + at, "<MD><Name>VolGeom%c_%c</Name><Value>%g</Value></MD>", "XYZC"[i / 3],
                              "RAS"[i % 3], values[i]);
    sprintf(out + at, "</MetaData>");
    return out;
}

static const double volume[12] = {-0.6, 0.8, 0, 0, 0, -1, 0.8, 0.6, 0, 5, -7, 3};
static const double shifted[12] = {1, 0, 0, 5, 0, 1, 0, -7, 0, 0, 1, 3};
static const double placed[12] = {0.6, 0.8, 0, 5, -0.8, 0.6, 0, -7, 0, 0, 1, 3};

static void a_matrix_from_an_unknown_space_to_scanner(void **state)
{
    (void)state;
    whole(&plain, "", PLACE("NIFTI_XFORM_UNKNOWN", "NIFTI_XFORM_SCANNER_ANAT", ROWS));
    is_tetrahedron(rows);
    whole(&plain, "",
          PLACE("<![CDATA[NIFTI_XFORM_UNKNOWN]]>", "\n <![CDATA[NIFTI_XFORM_ALIGNED_ANAT]]>\n", ROWS));
    is_tetrahedron(rows);
}

static void a_matrix_that_mirrors_turns_the_triangles(void **state)
{
    (void)state;
    whole(&plain, "", PLACE("NIFTI_XFORM_UNKNOWN", "NIFTI_XFORM_SCANNER_ANAT", MIRROR));
    is_tetrahedron(mirror);
}

static void of_several_matrices_the_scanners_counts(void **state)
{
    (void)state;
    whole(&plain, "",
          PLACE("NIFTI_XFORM_UNKNOWN", "NIFTI_XFORM_ALIGNED_ANAT", ROWS)
              PLACE("NIFTI_XFORM_UNKNOWN", "NIFTI_XFORM_SCANNER_ANAT", MIRROR)
                  PLACE("NIFTI_XFORM_UNKNOWN", "NIFTI_XFORM_ALIGNED_ANAT", ROWS));
    is_tetrahedron(mirror);
}

static void points_in_a_known_space_and_matrices(void **state)
{
    (void)state;
    whole(&plain, "", PLACE("NIFTI_XFORM_SCANNER_ANAT", "NIFTI_XFORM_TALAIRACH", ROWS));
    is_tetrahedron(NULL);
    whole(&plain, "", PLACE("NIFTI_XFORM_MNI_152", "NIFTI_XFORM_SCANNER_ANAT", ROWS));
    is_tetrahedron(NULL);
    whole(&plain, "", PLACE("NIFTI_XFORM_UNKNOWN", "NIFTI_XFORM_TALAIRACH", ROWS));
    is_tetrahedron(NULL);
}

static void freesurfers_remarks_on_the_volume_place(void **state)
{
    (void)state;
    char inner[4096];
    whole(&plain, "", remarks(volume));
    is_tetrahedron(placed);
    snprintf(inner, sizeof inner, "%s%s", remarks(volume),
             PLACE("NIFTI_XFORM_UNKNOWN", "NIFTI_XFORM_TALAIRACH", ROWS));
    whole(&plain, "", inner);
    is_tetrahedron(placed);
    snprintf(inner, sizeof inner, "%s%s", remarks(volume),
             PLACE("NIFTI_XFORM_UNKNOWN", "NIFTI_XFORM_SCANNER_ANAT", ROWS));
    whole(&plain, "", inner);
    is_tetrahedron(rows);
    snprintf(inner, sizeof inner, "%s%s", remarks(volume),
             PLACE("NIFTI_XFORM_SCANNER_ANAT", "NIFTI_XFORM_SCANNER_ANAT", ROWS));
    whole(&plain, "", inner);
    is_tetrahedron(NULL);
    whole(&plain, "", remarks(volume));
    change("<MetaData><MD>", "VolGeomC_S", "VolGeomC_T");
    is_tetrahedron(NULL);
    whole(&plain, "", remarks(volume));
    change("<MetaData><MD>", "VolGeomZ_S", "VolGeomZ_T");
    is_tetrahedron(NULL);
    whole(&plain, "",
          "<MetaData><MD><Name>VolGeomC_R</Name><Value><![CDATA[5]]></Value></MD><MD><Name>VolGeomC_A</Name>"
          "<Value>-7</Value></MD><MD><Name>VolGeomC_S</Name><Value>3</Value></MD></MetaData>");
    is_tetrahedron(shifted);
}

static void matrices_that_place_nothing_are_refused(void **state)
{
    (void)state;
    whole(&plain, "", PLACE("NIFTI_XFORM_UNKNOWN", "NIFTI_XFORM_SCANNER_ANAT", "1 0 0 0 0 1 0 0 0 0"));
    refused("16 numbers");
    whole(&plain, "",
          PLACE("NIFTI_XFORM_UNKNOWN", "NIFTI_XFORM_SCANNER_ANAT", "1 0 0 0 0 1 0 0 0 0 1 0 0 0 0.5 1"));
    refused("not affine");
    whole(&plain, "",
          PLACE("NIFTI_XFORM_UNKNOWN", "NIFTI_XFORM_SCANNER_ANAT", "1 0 0 0 0 1 0 0 0 0 0 0 0 0 0 1"));
    refused("singular");
    whole(&plain, "",
          PLACE("NIFTI_XFORM_UNKNOWN", "NIFTI_XFORM_SCANNER_ANAT", "1 0 0 nan 0 1 0 0 0 0 1 0 0 0 0 1"));
    refused("not finite");
}

static void frames(void)
{
    test_case(a_matrix_from_an_unknown_space_to_scanner,
              "a matrix from an unknown space to scanner or aligned RAS is applied");
    test_case(a_matrix_that_mirrors_turns_the_triangles, "a matrix that mirrors turns the triangles");
    test_case(of_several_matrices_the_scanners_counts, "of several matrices the scanner's counts");
    test_case(points_in_a_known_space_and_matrices,
              "points in a known space, and matrices to a template, stay as they are");
    test_case(freesurfers_remarks_on_the_volume_place,
              "FreeSurfer's remarks on the volume place points of an unknown space without a matrix");
    test_case(matrices_that_place_nothing_are_refused, "matrices that place nothing are refused");
}

static const form lies_packed = {"GZipBase64Binary", F32, I32, false, false, false};
static const form bare = {"Base64Binary", F32, I32, false, false, false};

static void one_surface_a_file_points_and_triangles(void **state)
{
    (void)state;
    whole(&plain, "", "");
    change("POINTSET", "</DataArray>", "</DataArray>\n");
    array(&plain, "NIFTI_INTENT_POINTSET", F32, points, "");
    refused("junk after");
    whole(&plain, "", "");
    size -= strlen("</GIFTI>\n");
    array(&plain, "NIFTI_INTENT_POINTSET", F32, points, "");
    text("</GIFTI>");
    refused("more than one surface");
    whole(&plain, "", "");
    change("<DataArray", "TRIANGLE", "SHAPE");
    refused("points without triangles");
    whole(&plain, "", "");
    change("<DataArray", "POINTSET", "LABEL");
    refused("holds no points");
}

static void numbers_in_another_file(void **state)
{
    (void)state;
    whole(&plain, "", "");
    change("POINTSET", "ASCII", "ExternalFileBinary");
    refused("ExternalFileBinary");
}

static void unknown_types_encodings_and_shapes(void **state)
{
    (void)state;
    whole(&plain, "", "");
    change("POINTSET", "FLOAT32", "FLOAT128");
    refused("unknown DataType");
    whole(&plain, "", "");
    change("POINTSET", "ASCII", "base85");
    refused("unknown DataType or Encoding");
    whole(&plain, "", "");
    change("POINTSET", "Dim1=\"3\"", "Dim1=\"2\"");
    refused("rows of three");
    whole(&plain, "", "");
    change("POINTSET", "Dim0=\"4\"", "Dim0=\"-4\"");
    refused("rows of three");
}

static void counts_that_do_not_fit(void **state)
{
    (void)state;
    for (int f = 0; f < 3; f++) {
        const form *one = f == 0 ? &plain : f == 1 ? &bare : &lies_packed;
        whole(one, "", "");
        change("POINTSET", "Dim0=\"4\"", "Dim0=\"5\"");
        refused(f ? "as many numbers" : "ends early");
        whole(one, "", "");
        change("POINTSET", "Dim0=\"4\"", "Dim0=\"400000000000000\"");
        refused("as many numbers");
        whole(one, "", "");
        change("POINTSET", "Dim0=\"4\"", "Dim0=\"3\"");
        refused(f ? "as many numbers" : "more numbers");
    }
}

static void damage_2(void **state)
{
    (void)state;
    whole(&lies_packed, "", "");
    change("POINTSET", "<Data>eJ", "<Data>eA");
    refused("damaged");
    whole(&bare, "", "");
    change("POINTSET", "<Data>AA", "<Data>*A");
    refused("not base64");
    whole(&bare, "", "");
    change("POINTSET", "<Data>AA", "<Data>A=");
    refused("not base64");
    whole(&plain, "", "");
    change("POINTSET", "1.5", "nan");
    refused("not finite");
    whole(&plain, "", "");
    change("POINTSET", "1.5", "one");
    refused("no number");
    whole(&plain, "", "");
    change("TRIANGLE", "<Data>0", "<Data>-1");
    refused("no vertex's number");
    whole(&plain, "", "");
    change("TRIANGLE", "<Data>0", "<Data>4");
    refused("names vertex 4");
    whole(&plain, "", "");
    size -= 3;
    refused("the GIFTI file is damaged (");
}

static void entities_are_refused_before_they_grow(void **state)
{
    (void)state;
    whole(&plain, "", "");
    change("<!DOCTYPE", ">", " [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;\">]>");
    refused("entities");
}

static void lies(void)
{
    test_case(one_surface_a_file_points_and_triangles, "one surface a file, points and triangles both");
    test_case(numbers_in_another_file, "numbers in another file");
    test_case(unknown_types_encodings_and_shapes, "unknown types, encodings and shapes");
    test_case(counts_that_do_not_fit, "counts that do not fit");
    test_case(damage_2, "damaged GIFTI is refused");
    test_case(entities_are_refused_before_they_grow, "entities are refused before they grow");
}

static int tear_down(void **state)
{
    (void)state;
    files_end();
    return 0;
}

int main(void)
{
    forms();
    frames();
    lies();
    return test_run("surface gifti", tear_down);
}
