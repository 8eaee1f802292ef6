/* SPDX-License-Identifier: Apache-2.0 */
/* Affines and warps in the forms of ITK, greedy, MRtrix, NiftyReg and SPM. */
#include "clvox/transform.h"

#include <locale.h>
#include <unistd.h>

#include "base/matrix.h"
#include "check.h"
#include "files.h"

static clvox_transform *reads(const char *path)
{
    clvox_transform *t = NULL;
    int status = clvox_transform_read(path, &t);
    assert_that(status == 0 && t, "%s", clvox_message());
    return t;
}

static void refuses(const char *path, const char *word)
{
    clvox_transform *t = (clvox_transform *)1;
    int status = clvox_transform_read(path, &t);
    assert_that(status < 0 && !t, "%d", status);
    assert_that(strstr(clvox_message(), word) && strstr(clvox_message(), path), "\"%s\" lacks \"%s\"",
                clvox_message(), word);
}

static void refuses_text(const char *text, const char *word)
{
    assert_true(!files_write(files_in("bad.txt"), text, strlen(text)));
    refuses(files_in("bad.txt"), word);
}

/* ---- affines ------------------------------------------------------------ */

static const double some[4][4] = {
    {0.98, -0.17, 0.05, 12.25}, {0.1, 1.07, -0.3, -33.3}, {0.02, 0.25, 0.9, 1.0 / 3}, {0, 0, 0, 1}};

/* Checks where an ITK file sends an LPS point; `to` is ITK's own answer. */
static void sends(const char *text, const double from[3], const double to[3])
{
    assert_true(!files_write(files_in("a.txt"), text, strlen(text)));
    clvox_transform *t = reads(files_in("a.txt"));
    if (!t)
        return;
    double x[3] = {-from[0], -from[1], from[2]};
    clv_matrix_apply(CLV_MATRIX(t->matrix), x, x);
    assert_true(!t->is_warp && !t->warp);
    assert_that(fabs(-x[0] - to[0]) + fabs(-x[1] - to[1]) + fabs(x[2] - to[2]) < 1e-9,
                "%.12g %.12g %.12g, not %.12g %.12g %.12g", -x[0], -x[1], x[2], to[0], to[1], to[2]);
    clvox_transform_destroy(&t);
    assert_true(!t);
}

#define HEAD "#Insight Transform File V1.0\n#Transform 0\nTransform: "

static const double point[3] = {10, 20, 30};

static void an_affine_with_a_centre_goes_where_itk_says(void **state)
{
    (void)state;
    sends(HEAD "AffineTransform_double_3_3\n"
               "Parameters: 0.98 -0.17 0.05 0.1 1.07 -0.3 0.02 0.25 0.9 1 -2 3.5\n"
               "FixedParameters: 5 -7 11\n",
          point, (const double[]){7.26, 14.69, 38.45});
}

static void a_rotation_by_euler_angles_goes_where_itk(void **state)
{
    (void)state;
    sends(HEAD "Euler3DTransform_double_3_3\n"
               "Parameters: 0.3 -0.2 0.5 1 2 3\n"
               "FixedParameters: 4 5 -6 0\n",
          point, (const double[]){2.18148312151586, 9.50671840485486, 36.2781405548234});
}

static void a_rotation_by_euler_angles_in_the_other(void **state)
{
    (void)state;
    sends(HEAD "Euler3DTransform_double_3_3\n"
               "Parameters: 0.3 -0.2 0.5 1 2 3\n"
               "FixedParameters: 4 5 -6 1\n",
          point, (const double[]){1.62174767950408, 9.36068895252274, 36.2430192381843});
}

static void a_rotation_by_a_versor_goes_where_itk_says(void **state)
{
    (void)state;
    sends(HEAD "VersorRigid3DTransform_double_3_3\n"
               "Parameters: 0.0916432938695913 0.1832865877391826 0.2749298816087739 1 2 3\n"
               "FixedParameters: 4 5 -6\n",
          point, (const double[]){16.6565285144858, 20.2110254118021, 32.3071402206367});
}

static void a_similarity_goes_where_itk_says(void **state)
{
    (void)state;
    sends(HEAD "Similarity3DTransform_double_3_3\n"
               "Parameters: 0.0916432938695913 0.1832865877391826 0.2749298816087739 1 2 3 1.25\n"
               "FixedParameters: 4 5 -6\n",
          point, (const double[]){19.5706606431072, 23.5137817647527, 41.1339252757958});
}

static void a_translation_goes_where_itk_says(void **state)
{
    (void)state;
    sends(HEAD "TranslationTransform_double_3_3\n"
               "Parameters: 1 -2 3\n"
               "FixedParameters: \n",
          point, (const double[]){11, 18, 33});
}

static void a_versor_alone_goes_where_itk_says(void **state)
{
    (void)state;
    sends(HEAD "VersorTransform_double_3_3\n"
               "Parameters: 0.0916432938695913 0.1832865877391826 0.2749298816087739\n"
               "FixedParameters: 4 5 -6\n",
          point, (const double[]){15.6565285144858, 18.2110254118021, 29.3071402206367});
}

static void a_change_of_scale_goes_where_itk_says(void **state)
{
    (void)state;
    sends(HEAD "ScaleTransform_double_3_3\n"
               "Parameters: 1.1 0.9 1.2\n"
               "FixedParameters: 4 5 -6\n",
          point, (const double[]){10.6, 18.5, 37.2});
}

static void a_versor_with_scales_goes_where_itk_says(void **state)
{
    (void)state;
    sends(HEAD "ScaleVersor3DTransform_double_3_3\n"
               "Parameters: 0.0916432938695913 0.1832865877391826 0.2749298816087739 "
               "1 2 3 1.1 0.9 1.2\n"
               "FixedParameters: 4 5 -6\n",
          point, (const double[]){17.2565285144858, 18.7110254118021, 39.5071402206366});
}

static void a_versor_with_scales_and_skews_goes(void **state)
{
    (void)state;
    sends(HEAD "ScaleSkewVersor3DTransform_double_3_3\n"
               "Parameters: 0.0916432938695913 0.1832865877391826 0.2749298816087739 "
               "1 2 3 1.1 0.9 1.2 0.01 -0.02 0.03 0.04 -0.05 0.06\n"
               "FixedParameters: 4 5 -6\n",
          point, (const double[]){16.6865285144858, 20.3310254118021, 40.1071402206367});
}

static void a_product_of_versor_scales_and_skews_goes(void **state)
{
    (void)state;
    sends(HEAD "ComposeScaleSkewVersor3DTransform_double_3_3\n"
               "Parameters: 0.0916432938695913 0.1832865877391826 0.2749298816087739 "
               "1 2 3 1.1 0.9 1.2 0.05 -0.04 0.03\n"
               "FixedParameters: 4 5 -6\n",
          point, (const double[]){19.629361094751, 19.1702188656784, 38.805067057964});
}

static void lines_may_end_as_on_windows_and_a_last_line(void **state)
{
    (void)state;
    sends(HEAD "TranslationTransform_double_3_3\r\nParameters: 1 2 3\r\nFixedParameters:\r\n", point,
          (const double[]){11, 22, 33});
    sends(HEAD "TranslationTransform_double_3_3\nParameters: 1 2 3", point, (const double[]){11, 22, 33});
}

static void what_is_damaged_or_of_another_kind(void **state)
{
    (void)state;
    refuses_text(HEAD "BSplineTransform_double_3_3\nParameters: 1 2 3\nFixedParameters: 1\n",
                 "BSplineTransform");
    refuses_text(HEAD "AffineTransform_double_2_2\nParameters: 1 0 0 1 0 0\nFixedParameters: 0 0\n",
                 "three dimensions");
    refuses_text(HEAD
                 "AffineTransform_double_3_3\nParameters: 1 0 0 0 1 0 0 0 1 0 0\nFixedParameters: 0 0 0\n",
                 "11");
    refuses_text(HEAD
                 "AffineTransform_double_3_3\nParameters: 1 0 0 0 1 0 0 0 1 0 0 0\nFixedParameters: 0 0\n",
                 "2 fixed");
    refuses_text(
        HEAD "AffineTransform_double_3_3\nParameters: 1 0 0 0 1 0 0 0 1 0 0 x\nFixedParameters: 0 0 0\n",
        "damaged");
    refuses_text(
        HEAD "AffineTransform_double_3_3\nParameters: 1 0 0 0 1 0 0 0 1 0 0 nan\nFixedParameters: 0 0 0\n",
        "damaged");
    refuses_text(
        HEAD "AffineTransform_double_3_3\nParameters: 1 0 0 0 1 0 0 0 0 0 0 0\nFixedParameters: 0 0 0\n",
        "singular");
    refuses_text(HEAD "AffineTransform_double_3_3\nParameters: 1 0 0 0 1 0 0 0 1e300 1e300 0 0 1 2 3 4 5\n",
                 "17 parameters");
    refuses_text(
        HEAD "VersorRigid3DTransform_double_3_3\nParameters: 1 1 1 0 0 0\nFixedParameters: 0 0 0\n", "fit");
    refuses_text(
        HEAD "CompositeTransform_double_3_3\n#Transform 1\nTransform: TranslationTransform_double_3_3\n",
        "0 parameters");
    refuses_text(HEAD "TranslationTransform_double_3_3\nParameters: 1 2 3\nFixedParameters:\n#Transform 1\n"
                      "Transform: TranslationTransform_double_3_3\nParameters: 1 2 3\nFixedParameters:\n",
                 "disassemble");
    refuses_text("#Insight Transform File V1.0\n", "no transform");
}

static void itk_text(void)
{
    test_case(an_affine_with_a_centre_goes_where_itk_says, "an affine with a centre goes where ITK says");
    test_case(a_rotation_by_euler_angles_goes_where_itk, "a rotation by Euler angles goes where ITK says");
    test_case(a_rotation_by_euler_angles_in_the_other,
              "a rotation by Euler angles in the other order goes where ITK says");
    test_case(a_rotation_by_a_versor_goes_where_itk_says, "a rotation by a versor goes where ITK says");
    test_case(a_similarity_goes_where_itk_says, "a similarity goes where ITK says");
    test_case(a_translation_goes_where_itk_says, "a translation goes where ITK says");
    test_case(a_versor_alone_goes_where_itk_says, "a versor alone goes where ITK says");
    test_case(a_change_of_scale_goes_where_itk_says, "a change of scale goes where ITK says");
    test_case(a_versor_with_scales_goes_where_itk_says, "a versor with scales goes where ITK says");
    test_case(a_versor_with_scales_and_skews_goes, "a versor with scales and skews goes where ITK says");
    test_case(a_product_of_versor_scales_and_skews_goes,
              "a product of versor, scales and skews goes where ITK says");
    test_case(lines_may_end_as_on_windows_and_a_last_line,
              "lines may end as on Windows, and a last line may lack its end");
    test_case(what_is_damaged_or_of_another_kind, "what is damaged or of another kind is refused");
}

/* A remark of AFNI, the matrix from the base to the source in LPS, one row: x and y change their signs. */
static void a_row_of_twelve_is_afni_s(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
    } afni[] = {{"a.aff12.1D",
                 "# 3dAllineate matrices (DICOM-to-DICOM, row-by-row):\n 2 .1 .2 5 .3 1 .4 6 .5 .6 3 7\n"},
                {"a.txt", "2 .1 .2 5 .3 1 .4 6 .5 .6 3 7"},
                {"a.1D", "# any name\n2 .1 .2 5\n.3 1 .4 6\n.5 .6 3 7\n"},
                {"a.mat", "\n\t2 .1 .2 5 .3 1 .4 6 .5 .6 3 7 # last\r\n\n"}};
    static const double want[4][4] = {{2, .1, -.2, -5}, {.3, 1, -.4, -6}, {-.5, -.6, 3, 7}, {0, 0, 0, 1}};
    for (size_t i = 0; i < sizeof afni / sizeof *afni; i++) {
        assert_true(!files_write(files_in(afni[i].name), afni[i].text, strlen(afni[i].text)));
        clvox_transform *t = reads(files_in(afni[i].name));
        for (int k = 0; t && k < 16; k++)
            assert_that(t->matrix[k / 4][k % 4] == want[k / 4][k % 4], "file %zu: entry %d is %g", i, k,
                        t->matrix[k / 4][k % 4]);
        clvox_transform_destroy(&t);
    }
    refuses_text("# x\n1 0 0 5 0 1 0 6 0 0 1 7\n1 0 0 5 0 1 0 6 0 0 1 7\n", "holds 2 matrices");
    refuses_text("1 0 0 5 0 1 0 6 0 0 1 7\n1 0 0 5 0 1 0 6 0 0 1 7\n1 0 0 5 0 1 0 6 0 0 1 7",
                 "holds 3 matrices");
    refuses_text("1 0 0 5 0 1 0 6 0 0 1 7 1 0 0 5\n1 0 0 5 0 1 0 6", "no transform");
}

static void four_rows_of_four_numbers_are_ras(void **state)
{
    (void)state;
    const char *text = "# from somewhere 1 2 3\n1 0 0 5\n0\t1 0 -6\r\n\n 0 0 2e0 7\n0 0 0 1\n";
    assert_true(!files_write(files_in("r.mat"), text, strlen(text)));
    clvox_transform *t = reads(files_in("r.mat"));
    assert_true(t && t->matrix[0][3] == 5 && t->matrix[1][3] == -6 && t->matrix[2][2] == 2 &&
                t->matrix[3][3] == 1);
    clvox_transform_destroy(&t);
}

static void three_rows_will_do(void **state)
{
    (void)state;
    const char *text = "1 0 0 5\n0 1 0 -6\n0 0 1 7";
    assert_true(!files_write(files_in("r.txt"), text, strlen(text)));
    clvox_transform *t = reads(files_in("r.txt"));
    assert_true(t && t->matrix[2][3] == 7 && t->matrix[3][3] == 1);
    clvox_transform_destroy(&t);
}

static void other_text_is_refused(void **state)
{
    (void)state;
    refuses_text("1 0 0 0 0 1 0 0 0 0 1 0 0 0 1 1\n", "last row");
    refuses_text("1 0 0 0 0 1 0 0 0 0 0 0 0 0 0 1\n", "singular");
    refuses_text("1 0 0 0 0 1 0 0 0 0 1\n", "no transform");
    refuses_text("1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1 1\n", "no transform");
    refuses_text("hello\n", "no transform");
    refuses_text("1 0 0 0 0 1 0 0 0 0 1 1x\n", "no transform");
    refuses_text("\x89HDF\r\n\032\n", "HDF5");
    assert_true(!files_write(files_in("e.txt"), "", 0));
    refuses(files_in("e.txt"), "empty");
    char *long_text = malloc(2000000);
    memset(long_text, ' ', 2000000);
    assert_true(!files_write(files_in("l.txt"), long_text, 2000000));
    free(long_text);
    refuses(files_in("l.txt"), "large");
    refuses(files_in("none.txt"), "No such file");
}

static void an_affine_and_its_inverse(void **state)
{
    (void)state;
    const double flat[4][4] = {{1, 2, 3, 0}, {2, 4, 6, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    double inverse[4][4], product[4][4];
    assert_ok(clvox_affine_invert(some, inverse));
    clv_matrix_multiply(some, CLV_MATRIX(inverse), product);
    for (int i = 0; i < 16; i++)
        assert_that(fabs(product[i / 4][i % 4] - (i % 5 == 0)) < 1e-12, "%d: %g", i, product[i / 4][i % 4]);
    assert_ok(clvox_affine_invert(CLV_MATRIX(inverse), inverse));
    for (int i = 0; i < 16; i++)
        assert_true(fabs(inverse[i / 4][i % 4] - some[i / 4][i % 4]) < 1e-12);
    assert_int_equal(clvox_affine_invert(flat, inverse), CLVOX_ERROR_DATA);
}

static void rows(void)
{
    test_case(an_affine_and_its_inverse, "an affine and its inverse");
    test_case(four_rows_of_four_numbers_are_ras,
              "four rows of four numbers are RAS, with remarks and any spaces");
    test_case(three_rows_will_do, "three rows will do");
    test_case(a_row_of_twelve_is_afni_s, "a row of twelve numbers is AFNI's, in LPS; several are a series");
    test_case(other_text_is_refused, "other text is refused");
}

static const struct {
    const char *name;
    clvox_affine_form form;
} forms[] = {{"w.txt", CLVOX_AFFINE_ITK}, {"w.mat", CLVOX_AFFINE_ITK}, {"w.mat", CLVOX_AFFINE_RAS}};

static void an_affine_survives_to_the_last_bit_form(void **state)
{
    const int *given = *state;
    int i = given[0];
    assert_true(clvox_affine_write(some, forms[i].form, files_in(forms[i].name)) == 0);
    clvox_transform *t = reads(files_in(forms[i].name));
    assert_true(t && !memcmp(t->matrix, some, sizeof some));
    clvox_transform_destroy(&t);
}

static void a_language_with_decimal_commas_changes(void **state)
{
    (void)state;
    const char *const languages[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    int found = 0;
    for (int i = 0; i < 4 && !found; i++)
        found = setlocale(LC_ALL, languages[i]) != NULL;
    if (!found)
        test_skip("no such language is installed");
    for (int i = 0; i < 3; i++) {
        assert_true(clvox_affine_write(some, forms[i].form, files_in(forms[i].name)) == 0);
        clvox_transform *t = reads(files_in(forms[i].name));
        assert_true(t && !memcmp(t->matrix, some, sizeof some));
        clvox_transform_destroy(&t);
    }
    setlocale(LC_ALL, "C");
}

static void a_singular_matrix_and_a_bad_place(void **state)
{
    (void)state;
    const double flat[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 1}};
    assert_int_equal(clvox_affine_write(flat, CLVOX_AFFINE_ITK, files_in("f.txt")), CLVOX_ERROR_ARGUMENT);
    assert_true(access(files_in("f.txt"), F_OK));
    assert_int_equal(clvox_affine_write(some, CLVOX_AFFINE_ITK, files_in("no/f.txt")), CLVOX_ERROR_FILE);
}

static void written(void)
{
    for (int i = 0; i < 3; i++)
        test_case_at(an_affine_survives_to_the_last_bit_form, TEST_AT(i),
                     "an affine survives to the last bit, form %d", i);
    test_case(a_language_with_decimal_commas_changes, "a language with decimal commas changes nothing");
    test_case(a_singular_matrix_and_a_bad_place, "a singular matrix and a bad place are refused");
}

/* A MATLAB 4 record in either byte order. */
static size_t put_record(uint8_t *to, int swapped, int single, int rows, int columns, const char *name,
                         const double *values)
{
    const int order =
        swapped ? __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ : __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    int head[5] = {1000 * order + (single ? 10 : 0), rows, columns, 0, (int)strlen(name) + 1};
    size_t at = 0;
    for (int i = 0; i < 5; i++)
        at += files_put(to + at, 8, swapped, head[i]);
    memcpy(to + at, name, strlen(name) + 1);
    at += strlen(name) + 1;
    for (int i = 0; i < rows * columns; i++)
        at += files_put(to + at, single ? 16 : 64, swapped, values[i]);
    return at;
}

static const double parameters[12] = {1.5, 0, 0, 0, 1, 0.25, 0, 0, 1, 3, 4, 5}, center[3] = {8, 16, 32};

enum { VOXELS = 7 * 6 * 5 };

static void itks_binary_form(void **state)
{
    const int *given = *state;
    int swapped = given[0], single = given[1];
    uint8_t bytes[1000];
    size_t size = put_record(bytes, swapped, single, 12, 1, "AffineTransform_double_3_3", parameters);
    size += put_record(bytes + size, swapped, single, 3, 1, "fixed", center);
    assert_true(!files_write(files_in("b.mat"), bytes, size));
    clvox_transform *t = reads(files_in("b.mat"));
    /* y = M (x - c) + c + t of the LPS origin: (-1, -4, 5), in RAS (1, 4, 5). */
    if (t) {
        assert_true(t->matrix[0][3] == 1 && t->matrix[1][3] == 4 && t->matrix[2][3] == 5);
        assert_true(t->matrix[0][0] == 1.5 && t->matrix[1][2] == -0.25);
    }
    clvox_transform_destroy(&t);
    for (size_t length = 1; length < size; length++) {
        assert_true(!files_write(files_in("b.mat"), bytes, length));
        refuses(files_in("b.mat"), "");
    }
    bytes[3 + (swapped ? 0 : 1)] = 200;
    assert_true(!files_write(files_in("b.mat"), bytes, size));
    refuses(files_in("b.mat"), "");
}

static void a_translation_in_itks_binary_form(void **state)
{
    (void)state;
    uint8_t bytes[1000];
    size_t size = put_record(bytes, 0, 0, 3, 1, "TranslationTransform_double_3_3", center);
    size += put_record(bytes + size, 0, 0, 0, 1, "fixed", NULL);
    assert_true(!files_write(files_in("b.mat"), bytes, size));
    clvox_transform *t = reads(files_in("b.mat"));
    assert_true(t && t->matrix[0][3] == -8 && t->matrix[1][3] == -16 && t->matrix[2][3] == 32);
    clvox_transform_destroy(&t);
}

static void binary(void)
{
    for (int swapped = 0; swapped < 2; swapped++)
        for (int single = 0; single < 2; single++)
            test_case_at(itks_binary_form, TEST_AT(swapped, single), "ITK's binary form, %s, %s",
                         swapped ? "swapped" : "native", single ? "single" : "double");
    test_case(a_translation_in_itks_binary_form,
              "a translation in ITK's binary form, whose list of fixed parameters is empty");
}

/* ---- warps -------------------------------------------------------------- */

static const clvox_grid grid = {
    {7, 6, 5}, {{-2, 0.3, 0, 40}, {0.2, 2.5, 0, -50}, {0, 0.1, 3, 60}, {0, 0, 0, 1}}};
static float displacement[3 * VOXELS], position[3 * VOXELS];

static void make_field(void)
{
    for (int at = 0; at < VOXELS; at++) {
        double x[3] = {at % 7, at / 7 % 6, at / 42};
        clv_matrix_apply(grid.to_ras, x, x);
        for (int c = 0; c < 3; c++) {
            displacement[at + c * VOXELS] = (float)(3 * sin(0.7 * at + 2 * c) + c);
            position[at + c * VOXELS] = (float)(x[c] + displacement[at + c * VOXELS]);
        }
    }
}

static files_nifti field_header(int dimensions)
{
    files_nifti h = files_header(1, 7, 6, 5);
    h.dim[0] = dimensions;
    h.dim[4] = dimensions == 4 ? 3 : 1;
    h.dim[5] = dimensions == 4 ? 1 : 3;
    h.sform = 1;
    for (int i = 0; i < 3; i++)
        memcpy(h.rows[i], grid.to_ras[i], sizeof h.rows[i]);
    return h;
}

static void is_the_field(const char *path, double tolerance)
{
    clvox_transform *t = reads(path);
    if (!t)
        return;
    assert_true(t->is_warp && t->warp && t->warp->kind == CLVOX_KIND_DISPLACEMENT && t->warp->frames == 3);
    assert_true(clvox_grid_equal(&t->warp->grid, &grid));
    double worst = 0;
    for (int i = 0; i < 3 * VOXELS; i++)
        worst = fmax(worst, fabs((double)t->warp->data[i] - displacement[i]));
    assert_that(worst <= tolerance, "%g mm off", worst);
    clvox_transform_destroy(&t);
}

static void itks_displacements_with_and_without_intent(void **state)
{
    (void)state;
    float lps[3 * VOXELS];
    for (int i = 0; i < 3 * VOXELS; i++)
        lps[i] = i < 2 * VOXELS ? -displacement[i] : displacement[i];
    files_nifti h = field_header(5);
    const char *path = files_in("w.nii.gz");
    for (int intent = 0; intent < 3; intent++) {
        h.intent = intent == 2 ? 1006 : intent ? 1007 : 0;
        assert_true(!files_nifti_write(path, &h, lps, sizeof lps));
        is_the_field(path, 0);
    }
}

static files_nifti niftyreg_header(void)
{
    files_nifti h = field_header(5);
    h.intent = 1007;
    h.intent_name = "NREG_TRANS";
    return h;
}

static void niftyregs_displacement_and_deformation(void **state)
{
    (void)state;
    const char *path = files_in("w.nii.gz");
    files_nifti h = niftyreg_header();
    h.intent_p1 = 1;
    assert_true(!files_nifti_write(path, &h, displacement, sizeof displacement));
    is_the_field(path, 0);
    h.intent_p1 = 0;
    assert_true(!files_nifti_write(path, &h, position, sizeof position));
    is_the_field(path, 1e-4);
}

static void niftyregs_control_grids_and_velocities(void **state)
{
    (void)state;
    const char *path = files_in("w.nii.gz");
    files_nifti h = niftyreg_header();
    for (int p1 = 2; p1 < 5; p1++) {
        h.intent_p1 = p1;
        assert_true(!files_nifti_write(path, &h, position, sizeof position));
        refuses(path, "reg_transform");
    }
}

static void spms_deformation(void **state)
{
    (void)state;
    const char *path = files_in("w.nii.gz");
    files_nifti h = field_header(5);
    h.intent = 1007;
    h.intent_name = "Mapping";
    h.intent_p1 = 0;
    assert_true(!files_nifti_write(path, &h, position, sizeof position));
    is_the_field(path, 1e-4);
}

static void mrtrixs_displacement_and_deformation_nan(void **state)
{
    (void)state;
    static const float zero[3 * VOXELS];
    const char *path = files_in("w.nii.gz");
    files_nifti h = field_header(4);
    assert_true(!files_nifti_write(path, &h, displacement, sizeof displacement));
    refuses(path, "does not say that it is a warp");
    for (h.intent = 1006; h.intent <= 1007; h.intent++) {
        assert_true(!files_nifti_write(path, &h, displacement, sizeof displacement));
        is_the_field(path, 0);
    }
    h.intent = 0;
    assert_true(!files_nifti_write(path, &h, position, sizeof position));
    is_the_field(path, 1e-4);
    float keep = position[40];
    position[40] = NAN;
    assert_true(!files_nifti_write(path, &h, position, sizeof position));
    clvox_transform *t = reads(path);
    assert_true(t && isnan(t->warp->data[40]) && fabsf(t->warp->data[41] - displacement[41]) < 1e-4f);
    clvox_transform_destroy(&t);
    position[40] = keep;
    assert_true(!files_nifti_write(path, &h, zero, sizeof zero));
    refuses(path, "does not say that it is a warp");
    h.intent = 1006;
    assert_true(!files_nifti_write(path, &h, zero, sizeof zero));
    t = reads(path);
    assert_true(t && t->warp->data[7] == 0);
    h.intent = 0;
    clvox_transform_destroy(&t);
}

static void frames_of_a_scan_are_no_warp(void **state)
{
    (void)state;
    static float scan[3 * VOXELS];
    for (int i = 0; i < 3 * VOXELS; i++)
        scan[i] = (float)(400 + 300 * sin(0.7 * i) + 20 * position[i]); /* brighter along an axis, too */
    const char *path = files_in("w.nii.gz");
    files_nifti h = field_header(4);
    assert_true(!files_nifti_write(path, &h, scan, sizeof scan));
    refuses(path, "does not say that it is a warp");
    FILE *f = fopen(files_in("u.mif"), "w");
    assert_true(f && fprintf(f, "%-128s\1\2\3\4\5\6",
                             "mrtrix image\ndim: 2,1,1,3\nvox: 1,1,1,1\ndatatype: UInt8\n"
                             "layout: +0,+1,+2,+3\nfile: . 128\nEND\n") > 0 && !fclose(f));
    clvox_transform *t = reads(files_in("u.mif"));
    assert_true(t && t->is_warp && t->warp->data[5] == 6);
    clvox_transform_destroy(&t);
}

static void images_and_fsls_fields_are_no_warps(void **state)
{
    (void)state;
    static const float zero[3 * VOXELS];
    const char *path = files_in("w.nii.gz");
    files_nifti h = field_header(4);
    h.dim[4] = 2;
    assert_true(!files_nifti_write(path, &h, zero, sizeof zero));
    refuses(path, "2 frames");
    h = field_header(4);
    h.intent = 2006;
    assert_true(!files_nifti_write(path, &h, zero, sizeof zero));
    refuses(path, "FSL");
    h = files_header(1, 7, 6, 5);
    assert_true(!files_nifti_write(files_in("i.nii"), &h, zero, sizeof zero));
    refuses(files_in("i.nii"), "1 frame,");
}

static void a_warp_survives_and_other_volumes(void **state)
{
    (void)state;
    const char *path = files_in("w.nii.gz");
    clvox_volume *v = NULL;
    assert_true(!clvox_volume_create(&grid, 3, CLVOX_KIND_DISPLACEMENT, &v));
    memcpy(v->data, displacement, sizeof displacement);
    v->type = CLVOX_TYPE_INT16; /* a warp is float32 all the same */
    assert_true(clvox_warp_write(v, path) == 0);
    is_the_field(path, 0);
    v->kind = CLVOX_KIND_VECTOR;
    assert_int_equal(clvox_warp_write(v, path), CLVOX_ERROR_ARGUMENT);
    clvox_volume_destroy(&v);
}

static void warps(void)
{
    test_case(itks_displacements_with_and_without_intent, "ITK's displacements, with and without intent");
    test_case(niftyregs_displacement_and_deformation, "NiftyReg's displacement and deformation");
    test_case(niftyregs_control_grids_and_velocities, "NiftyReg's control grids and velocities are refused");
    test_case(spms_deformation, "SPM's deformation");
    test_case(mrtrixs_displacement_and_deformation_nan, "MRtrix's displacement and deformation, NaN outside");
    test_case(frames_of_a_scan_are_no_warp, "three frames of a scan are no warp, a MIF's are");
    test_case(images_and_fsls_fields_are_no_warps, "images and FSL's fields are no warps");
    test_case(a_warp_survives_and_other_volumes, "a warp survives, and other volumes are not written as one");
}

static void the_control_grid_of_a_real_niftyreg_run(void **state)
{
    (void)state;
    const char *path = files_data("pair_rniftyreg/control.nii.gz");
    if (!path)
        test_skip("the data are missing");
    else
        refuses(path, "control grid");
}

static void its_affine_is_read(void **state)
{
    (void)state;
    const char *path = files_data("pair_rniftyreg/affine.txt");
    if (!path)
        test_skip("the data are missing");
    clvox_transform *t = reads(path);
    assert_true(t && fabs(clv_matrix_determinant(CLV_MATRIX(t->matrix))) > 0.2);
    clvox_transform_destroy(&t);
}

static void real_files(void)
{
    test_case(the_control_grid_of_a_real_niftyreg_run, "the control grid of a real NiftyReg run is refused");
    test_case(its_affine_is_read, "its affine is read");
}

static int tear_down(void **state)
{
    (void)state;
    files_end();
    return 0;
}

int main(void)
{
    make_field();
    itk_text();
    rows();
    written();
    binary();
    warps();
    real_files();
    return test_run("transform", tear_down);
}
