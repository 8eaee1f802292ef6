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
    CHECK_THAT(status == 0 && t, "%s", clvox_message());
    return t;
}

static void refuses(const char *path, const char *word)
{
    clvox_transform *t = (clvox_transform *)1;
    int status = clvox_transform_read(path, &t);
    CHECK_THAT(status < 0 && !t, "%d", status);
    CHECK_THAT(strstr(clvox_message(), word) && strstr(clvox_message(), path), "\"%s\" lacks \"%s\"",
               clvox_message(), word);
}

static void refuses_text(const char *text, const char *word)
{
    CHECK(!files_write(files_in("bad.txt"), text, strlen(text)));
    refuses(files_in("bad.txt"), word);
}

/* ---- affines ------------------------------------------------------------ */

static const double some[4][4] = {
    {0.98, -0.17, 0.05, 12.25}, {0.1, 1.07, -0.3, -33.3}, {0.02, 0.25, 0.9, 1.0 / 3}, {0, 0, 0, 1}};

/* Where an ITK file sends an LPS point; what ITK itself says is in `to`. */
static void sends(const char *text, const double from[3], const double to[3])
{
    CHECK(!files_write(files_in("a.txt"), text, strlen(text)));
    clvox_transform *t = reads(files_in("a.txt"));
    if (!t)
        return;
    double x[3] = {-from[0], -from[1], from[2]};
    clv_matrix_apply(CLV_MATRIX(t->matrix), x, x);
    CHECK(!t->is_warp && !t->warp);
    CHECK_THAT(fabs(-x[0] - to[0]) + fabs(-x[1] - to[1]) + fabs(x[2] - to[2]) < 1e-9,
               "%.12g %.12g %.12g, not %.12g %.12g %.12g", -x[0], -x[1], x[2], to[0], to[1], to[2]);
    clvox_transform_destroy(&t);
    CHECK(!t);
}

#define HEAD "#Insight Transform File V1.0\n#Transform 0\nTransform: "

static void itk_text(void)
{
    static const double point[3] = {10, 20, 30};
    CHECK_CASE("an affine with a centre goes where ITK says");
    sends(HEAD "AffineTransform_double_3_3\n"
               "Parameters: 0.98 -0.17 0.05 0.1 1.07 -0.3 0.02 0.25 0.9 1 -2 3.5\n"
               "FixedParameters: 5 -7 11\n",
          point, (const double[]){7.26, 14.69, 38.45});
    CHECK_CASE("a rotation by Euler angles goes where ITK says");
    sends(HEAD "Euler3DTransform_double_3_3\n"
               "Parameters: 0.3 -0.2 0.5 1 2 3\n"
               "FixedParameters: 4 5 -6 0\n",
          point, (const double[]){2.18148312151586, 9.50671840485486, 36.2781405548234});
    CHECK_CASE("a rotation by Euler angles in the other order goes where ITK says");
    sends(HEAD "Euler3DTransform_double_3_3\n"
               "Parameters: 0.3 -0.2 0.5 1 2 3\n"
               "FixedParameters: 4 5 -6 1\n",
          point, (const double[]){1.62174767950408, 9.36068895252274, 36.2430192381843});
    CHECK_CASE("a rotation by a versor goes where ITK says");
    sends(HEAD "VersorRigid3DTransform_double_3_3\n"
               "Parameters: 0.0916432938695913 0.1832865877391826 0.2749298816087739 1 2 3\n"
               "FixedParameters: 4 5 -6\n",
          point, (const double[]){16.6565285144858, 20.2110254118021, 32.3071402206367});
    CHECK_CASE("a similarity goes where ITK says");
    sends(HEAD "Similarity3DTransform_double_3_3\n"
               "Parameters: 0.0916432938695913 0.1832865877391826 0.2749298816087739 1 2 3 1.25\n"
               "FixedParameters: 4 5 -6\n",
          point, (const double[]){19.5706606431072, 23.5137817647527, 41.1339252757958});
    CHECK_CASE("a translation goes where ITK says");
    sends(HEAD "TranslationTransform_double_3_3\n"
               "Parameters: 1 -2 3\n"
               "FixedParameters: \n",
          point, (const double[]){11, 18, 33});
    CHECK_CASE("a versor alone goes where ITK says");
    sends(HEAD "VersorTransform_double_3_3\n"
               "Parameters: 0.0916432938695913 0.1832865877391826 0.2749298816087739\n"
               "FixedParameters: 4 5 -6\n",
          point, (const double[]){15.6565285144858, 18.2110254118021, 29.3071402206367});
    CHECK_CASE("a change of scale goes where ITK says");
    sends(HEAD "ScaleTransform_double_3_3\n"
               "Parameters: 1.1 0.9 1.2\n"
               "FixedParameters: 4 5 -6\n",
          point, (const double[]){10.6, 18.5, 37.2});
    CHECK_CASE("a versor with scales goes where ITK says");
    sends(HEAD "ScaleVersor3DTransform_double_3_3\n"
               "Parameters: 0.0916432938695913 0.1832865877391826 0.2749298816087739 "
               "1 2 3 1.1 0.9 1.2\n"
               "FixedParameters: 4 5 -6\n",
          point, (const double[]){17.2565285144858, 18.7110254118021, 39.5071402206366});
    CHECK_CASE("a versor with scales and skews goes where ITK says");
    sends(HEAD "ScaleSkewVersor3DTransform_double_3_3\n"
               "Parameters: 0.0916432938695913 0.1832865877391826 0.2749298816087739 "
               "1 2 3 1.1 0.9 1.2 0.01 -0.02 0.03 0.04 -0.05 0.06\n"
               "FixedParameters: 4 5 -6\n",
          point, (const double[]){16.6865285144858, 20.3310254118021, 40.1071402206367});
    CHECK_CASE("a product of versor, scales and skews goes where ITK says");
    sends(HEAD "ComposeScaleSkewVersor3DTransform_double_3_3\n"
               "Parameters: 0.0916432938695913 0.1832865877391826 0.2749298816087739 "
               "1 2 3 1.1 0.9 1.2 0.05 -0.04 0.03\n"
               "FixedParameters: 4 5 -6\n",
          point, (const double[]){19.629361094751, 19.1702188656784, 38.805067057964});
    CHECK_CASE("lines may end as on Windows, and a last line may lack its end");
    sends(HEAD "TranslationTransform_double_3_3\r\nParameters: 1 2 3\r\nFixedParameters:\r\n", point,
          (const double[]){11, 22, 33});
    sends(HEAD "TranslationTransform_double_3_3\nParameters: 1 2 3", point, (const double[]){11, 22, 33});

    CHECK_CASE("what is damaged or of another kind is refused");
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
                 "damaged");
    refuses_text(
        HEAD "VersorRigid3DTransform_double_3_3\nParameters: 1 1 1 0 0 0\nFixedParameters: 0 0 0\n", "fit");
    refuses_text(
        HEAD "CompositeTransform_double_3_3\n#Transform 1\nTransform: TranslationTransform_double_3_3\n",
        "several");
    refuses_text(HEAD "TranslationTransform_double_3_3\nParameters: 1 2 3\nFixedParameters:\n#Transform 1\n"
                      "Transform: TranslationTransform_double_3_3\nParameters: 1 2 3\nFixedParameters:\n",
                 "disassemble");
    refuses_text("#Insight Transform File V1.0\n", "no transform");
}

static void rows(void)
{
    CHECK_CASE("four rows of four numbers are RAS, with remarks and any spaces");
    const char *text = "# from somewhere 1 2 3\n1 0 0 5\n0\t1 0 -6\r\n\n 0 0 2e0 7\n0 0 0 1\n";
    CHECK(!files_write(files_in("r.mat"), text, strlen(text)));
    clvox_transform *t = reads(files_in("r.mat"));
    CHECK(t && t->matrix[0][3] == 5 && t->matrix[1][3] == -6 && t->matrix[2][2] == 2 && t->matrix[3][3] == 1);
    clvox_transform_destroy(&t);
    CHECK_CASE("three rows will do");
    text = "1 0 0 5\n0 1 0 -6\n0 0 1 7";
    CHECK(!files_write(files_in("r.txt"), text, strlen(text)));
    t = reads(files_in("r.txt"));
    CHECK(t && t->matrix[2][3] == 7 && t->matrix[3][3] == 1);
    clvox_transform_destroy(&t);
    CHECK_CASE("other text is refused");
    refuses_text("1 0 0 0 0 1 0 0 0 0 1 0 0 0 1 1\n", "last row");
    refuses_text("1 0 0 0 0 1 0 0 0 0 0 0 0 0 0 1\n", "singular");
    refuses_text("1 0 0 0 0 1 0 0 0 0 1\n", "no transform");
    refuses_text("1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1 1\n", "no transform");
    refuses_text("hello\n", "no transform");
    refuses_text("1 0 0 0 0 1 0 0 0 0 1 1x\n", "no transform");
    refuses_text("\x89HDF\r\n\032\n", "HDF5");
    CHECK(!files_write(files_in("e.txt"), "", 0));
    refuses(files_in("e.txt"), "empty");
    char *long_text = malloc(2000000);
    memset(long_text, ' ', 2000000);
    CHECK(!files_write(files_in("l.txt"), long_text, 2000000));
    free(long_text);
    refuses(files_in("l.txt"), "large");
    refuses(files_in("none.txt"), "No such file");
}

static void written(void)
{
    static const struct {
        const char *name;
        clvox_affine_form form;
    } forms[] = {{"w.txt", CLVOX_AFFINE_ITK}, {"w.mat", CLVOX_AFFINE_ITK}, {"w.mat", CLVOX_AFFINE_RAS}};
    for (int i = 0; i < 3; i++) {
        CHECK_CASE("an affine survives to the last bit, form %d", i);
        CHECK(clvox_affine_write(some, forms[i].form, files_in(forms[i].name)) == 0);
        clvox_transform *t = reads(files_in(forms[i].name));
        CHECK(t && !memcmp(t->matrix, some, sizeof some));
        clvox_transform_destroy(&t);
    }
    CHECK_CASE("a language with decimal commas changes nothing");
    const char *const languages[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    int found = 0;
    for (int i = 0; i < 4 && !found; i++)
        found = setlocale(LC_ALL, languages[i]) != NULL;
    if (!found)
        CHECK_SKIP("no such language is installed");
    for (int i = 0; i < 3; i++) {
        CHECK(clvox_affine_write(some, forms[i].form, files_in(forms[i].name)) == 0);
        clvox_transform *t = reads(files_in(forms[i].name));
        CHECK(t && !memcmp(t->matrix, some, sizeof some));
        clvox_transform_destroy(&t);
    }
    setlocale(LC_ALL, "C");
    CHECK_CASE("a singular matrix and a bad place are refused");
    const double flat[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 1}};
    CHECK(clvox_affine_write(flat, CLVOX_AFFINE_ITK, files_in("f.txt")) == CLVOX_ERROR_ARGUMENT);
    CHECK(access(files_in("f.txt"), F_OK));
    CHECK(clvox_affine_write(some, CLVOX_AFFINE_ITK, files_in("no/f.txt")) == CLVOX_ERROR_FILE);
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

static void binary(void)
{
    const double parameters[12] = {1.5, 0, 0, 0, 1, 0.25, 0, 0, 1, 3, 4, 5}, center[3] = {8, 16, 32};
    uint8_t bytes[1000];
    for (int swapped = 0; swapped < 2; swapped++)
        for (int single = 0; single < 2; single++) {
            CHECK_CASE("ITK's binary form, %s, %s", swapped ? "swapped" : "native",
                       single ? "single" : "double");
            size_t size = put_record(bytes, swapped, single, 12, 1, "AffineTransform_double_3_3", parameters);
            size += put_record(bytes + size, swapped, single, 3, 1, "fixed", center);
            CHECK(!files_write(files_in("b.mat"), bytes, size));
            clvox_transform *t = reads(files_in("b.mat"));
            /* y = M (x - c) + c + t of the LPS origin: (-1, -4, 5), in RAS (1, 4, 5). */
            if (t) {
                CHECK(t->matrix[0][3] == 1 && t->matrix[1][3] == 4 && t->matrix[2][3] == 5);
                CHECK(t->matrix[0][0] == 1.5 && t->matrix[1][2] == -0.25);
            }
            clvox_transform_destroy(&t);
            for (size_t length = 1; length < size; length++) {
                CHECK(!files_write(files_in("b.mat"), bytes, length));
                refuses(files_in("b.mat"), "");
            }
            bytes[3 + (swapped ? 0 : 1)] = 200;
            CHECK(!files_write(files_in("b.mat"), bytes, size));
            refuses(files_in("b.mat"), "");
        }
    CHECK_CASE("a translation in ITK's binary form, whose list of fixed parameters is empty");
    size_t size = put_record(bytes, 0, 0, 3, 1, "TranslationTransform_double_3_3", center);
    size += put_record(bytes + size, 0, 0, 0, 1, "fixed", NULL);
    CHECK(!files_write(files_in("b.mat"), bytes, size));
    clvox_transform *t = reads(files_in("b.mat"));
    CHECK(t && t->matrix[0][3] == -8 && t->matrix[1][3] == -16 && t->matrix[2][3] == 32);
    clvox_transform_destroy(&t);
}

/* ---- warps -------------------------------------------------------------- */

static const clvox_grid grid = {
    {7, 6, 5}, {{-2, 0.3, 0, 40}, {0.2, 2.5, 0, -50}, {0, 0.1, 3, 60}, {0, 0, 0, 1}}};
enum { VOXELS = 7 * 6 * 5 };
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
    CHECK(t->is_warp && t->warp && t->warp->kind == CLVOX_KIND_DISPLACEMENT && t->warp->frames == 3);
    CHECK(clvox_grid_equal(&t->warp->grid, &grid));
    double worst = 0;
    for (int i = 0; i < 3 * VOXELS; i++)
        worst = fmax(worst, fabs((double)t->warp->data[i] - displacement[i]));
    CHECK_THAT(worst <= tolerance, "%g mm off", worst);
    clvox_transform_destroy(&t);
}

static void warps(void)
{
    float lps[3 * VOXELS];
    for (int i = 0; i < 3 * VOXELS; i++)
        lps[i] = i < 2 * VOXELS ? -displacement[i] : displacement[i];
    CHECK_CASE("ITK's displacements, with and without intent");
    files_nifti h = field_header(5);
    const char *path = files_in("w.nii.gz");
    for (int intent = 0; intent < 3; intent++) {
        h.intent = intent == 2 ? 1006 : intent ? 1007 : 0;
        CHECK(!files_nifti_write(path, &h, lps, sizeof lps));
        is_the_field(path, 0);
    }
    CHECK_CASE("NiftyReg's displacement and deformation");
    h.intent = 1007;
    h.intent_name = "NREG_TRANS";
    h.intent_p1 = 1;
    CHECK(!files_nifti_write(path, &h, displacement, sizeof displacement));
    is_the_field(path, 0);
    h.intent_p1 = 0;
    CHECK(!files_nifti_write(path, &h, position, sizeof position));
    is_the_field(path, 1e-4);
    CHECK_CASE("NiftyReg's control grids and velocities are refused");
    for (int p1 = 2; p1 < 5; p1++) {
        h.intent_p1 = p1;
        CHECK(!files_nifti_write(path, &h, position, sizeof position));
        refuses(path, "reg_transform");
    }
    CHECK_CASE("SPM's deformation");
    h.intent_name = "Mapping";
    h.intent_p1 = 0;
    CHECK(!files_nifti_write(path, &h, position, sizeof position));
    is_the_field(path, 1e-4);
    CHECK_CASE("MRtrix's displacement and deformation, NaN outside");
    h = field_header(4);
    CHECK(!files_nifti_write(path, &h, displacement, sizeof displacement));
    is_the_field(path, 0);
    CHECK(!files_nifti_write(path, &h, position, sizeof position));
    is_the_field(path, 1e-4);
    float keep = position[40], zero[3 * VOXELS] = {0};
    position[40] = NAN;
    CHECK(!files_nifti_write(path, &h, position, sizeof position));
    clvox_transform *t = reads(path);
    CHECK(t && isnan(t->warp->data[40]) && fabsf(t->warp->data[41] - displacement[41]) < 1e-4f);
    clvox_transform_destroy(&t);
    position[40] = keep;
    CHECK(!files_nifti_write(path, &h, zero, sizeof zero));
    t = reads(path);
    CHECK(t && t->warp->data[7] == 0);
    clvox_transform_destroy(&t);
    CHECK_CASE("images and FSL's fields are no warps");
    h.dim[4] = 2;
    CHECK(!files_nifti_write(path, &h, zero, sizeof zero));
    refuses(path, "2 frames");
    h = field_header(4);
    h.intent = 2006;
    CHECK(!files_nifti_write(path, &h, zero, sizeof zero));
    refuses(path, "FSL");
    h = files_header(1, 7, 6, 5);
    CHECK(!files_nifti_write(files_in("i.nii"), &h, zero, sizeof zero));
    refuses(files_in("i.nii"), "1 frame,");

    CHECK_CASE("a warp survives, and other volumes are not written as one");
    clvox_volume *v = NULL;
    CHECK(!clvox_volume_create(&grid, 3, CLVOX_KIND_DISPLACEMENT, &v));
    memcpy(v->data, displacement, sizeof displacement);
    v->type = CLVOX_TYPE_INT16; /* a warp is float32 all the same */
    CHECK(clvox_warp_write(v, path) == 0);
    is_the_field(path, 0);
    v->kind = CLVOX_KIND_VECTOR;
    CHECK(clvox_warp_write(v, path) == CLVOX_ERROR_ARGUMENT);
    clvox_volume_destroy(&v);
}

static void real_files(void)
{
    CHECK_CASE("the control grid of a real NiftyReg run is refused");
    const char *path = files_data("pair_rniftyreg/control.nii.gz");
    if (!path)
        CHECK_SKIP("the data are missing");
    else
        refuses(path, "control grid");
    CHECK_CASE("its affine is read");
    path = files_data("pair_rniftyreg/affine.txt");
    if (!path) {
        CHECK_SKIP("the data are missing");
        return;
    }
    clvox_transform *t = reads(path);
    CHECK(t && fabs(clv_matrix_determinant(CLV_MATRIX(t->matrix))) > 0.2);
    clvox_transform_destroy(&t);
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
    files_end();
    return check_end();
}
