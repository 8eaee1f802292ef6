/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms in LTA, in ITK's fields, splines and composites, and in HDF5: order, and what is refused.
 * tests/interop has them beside the programs that write them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "check.h"
#include "clvox/apply.h"
#include "files.h"

enum { ROOM = 8 };

static const char *text_file(const char *name, const char *text)
{
    const char *path = files_in(name);
    assert_true(!files_write(path, text, strlen(text)));
    return path;
}

static void refuses(const char *path, const char *word)
{
    clvox_transform *t = NULL, *part[ROOM];
    int count = 1;
    assert_true(clvox_transform_read(path, &t) == CLVOX_ERROR_FORMAT && !t);
    assert_that(strstr(clvox_message(), word), "\"%s\" lacks \"%s\"", clvox_message(), word);
    assert_true(clvox_transforms_read(path, NULL, NULL, part, ROOM, &count) == CLVOX_ERROR_FORMAT && !count);
}

/* ---- LTA ---------------------------------------------------------------- */

#define HEAD(type) "type      = " type "\nnxforms   = 1\nmean      = 0 0 0\nsigma     = 1\n"
#define ROWS "1 4 4\n1 0 0 5\n0 1 0 -6\n0 0 1 7\n0 0 0 1\n"
#define INFO                                                                                                       \
    "valid = 1  # volume info valid\nfilename = x\nvolume = 4 4 4\nvoxelsize = 1 2 1\nxras   = -1 0 0\nyras   = 0 1 0\n" \
    "zras   = 0 0 1\ncras   = 1 2 3\n"

static void lta(void **state)
{
    (void)state;
    clvox_transform *t = NULL;
    assert_ok(clvox_transform_read(text_file("a.lta", "# by me\n" HEAD("1") ROWS), &t));
    assert_true(t->matrix[0][3] == -5 && t->matrix[1][3] == 6 && t->matrix[2][3] == -7 && t->matrix[0][0] == 1);
    clvox_transform_destroy(&t);
    assert_ok(clvox_transform_read(
        text_file("a.lta", HEAD("0") ROWS "src volume info\n" INFO "dst volume info\n" INFO), &t));
    assert_true(t->matrix[0][3] == 5 && t->matrix[1][3] == 12 && t->matrix[2][3] == -7);
    clvox_transform_destroy(&t);
    /* The same matrix from the centre of the volume, whose voxels lie (x, y, z) = (-1, 2, 1) mm apart there, along
     * (-x, z, -y): it moves by 5, -6 and 7 mm of that frame, forward (21) and back (14). */
    assert_ok(clvox_transform_read(
        text_file("a.lta", HEAD("21") ROWS "src volume info\n" INFO "dst volume info\n" INFO), &t));
    assert_true(t->matrix[0][3] == -5 && t->matrix[1][3] == 7 && t->matrix[2][3] == 6);
    clvox_transform_destroy(&t);
    assert_ok(clvox_transform_read(
        text_file("a.lta", HEAD("14 # REGISTER_DAT") ROWS "src volume info\n" INFO "dst volume info\n" INFO), &t));
    assert_true(t->matrix[0][3] == 5 && t->matrix[1][3] == -7 && t->matrix[2][3] == -6);
    clvox_transform_destroy(&t);
    assert_ok(clvox_transform_read(
        text_file("a.lta", HEAD("2") ROWS "src volume info\n" INFO "dst volume info\n" INFO), &t));
    assert_true(t->matrix[0][3] == 5 && t->matrix[1][3] == 6 && t->matrix[2][3] == -7);
    clvox_transform_destroy(&t);
    static const struct {
        const char *text, *says;
    } bad[] = {
        {HEAD("0") ROWS "src volume info\nvalid = 0\ndst volume info\n" INFO, "source volume (valid = 0)"},
        {HEAD("0") ROWS "src volume info\n" INFO, "destination volume is damaged"},
        {HEAD("0") ROWS "src volume info\nvalid = 1\nvolume = 4 4\n", "source volume is damaged"},
        {HEAD("14") ROWS, "source volume is damaged"},
        {HEAD("15") ROWS, "type 15"},
        {HEAD("x") ROWS, "its type"},
        {"type = 1\nnxforms = 2\n" ROWS, "one transform"},
        {HEAD("1") "1 4 4\n1 0 0 5\n0 1 0\n", "matrix is damaged"},
        {HEAD("1") "1 4 4\n1 0 0 5\n0 1 0 nan\n0 0 1 7\n0 0 0 1\n", "matrix is damaged"},
        {HEAD("1") "1 4 4\n1 0 0 5\n0 1 0 0\n0 0 1 7\n0 0 1 1\n", "matrix is damaged"},
        {HEAD("1") "1 4 4\n1 0 0 5\n0 1 0 0\n0 1 0 7\n0 0 0 1\n", "singular"},
        {HEAD("1"), "matrix is damaged"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuses(text_file("b.lta", bad[i].text), bad[i].says);
}

/* In tkRAS the first image's middle lies at 0 and so does the other's, along (-columns, slices, -rows). */
static void register_dat(void **state)
{
    (void)state;
    static const char good[] = "some body\n1.5\n3\n 0.15 \n1 0 0 5\n0 1 0 -6\n0 0 1 7\n0 0 0 1\nround\n";
    const clvox_grid fixed = {{4, 6, 8}, {{2, 0, 0, 10}, {0, 1, 0, 20}, {0, 0, 3, 30}, {0, 0, 0, 1}}},
                     moving = {{2, 2, 2}, {{0, 1, 0, 1}, {0, 0, 1, 2}, {1, 0, 0, 3}, {0, 0, 0, 1}}};
    clvox_transform *part[ROOM];
    int count;
    const char *path = text_file("r.dat", good);
    assert_ok(clvox_transforms_read(path, &fixed, &moving, part, ROOM, &count));
    assert_true(count == 1 && !part[0]->is_warp);
    /* The fixed middle (14, 23, 42) -> tkRAS (5, -6, 7) -> columns -5, slices -6, rows -7 of the moving image. */
    double x[3] = {14, 23, 42};
    clv_matrix_apply(CLV_MATRIX(part[0]->matrix), x, x);
    assert_that(x[0] == 2 - 7 && x[1] == 3 - 6 && x[2] == 4 - 5, "%g %g %g", x[0], x[1], x[2]);
    clvox_transform_destroy(&part[0]);
    refuses(path, "depend on the images");
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"me\n1\n1\n1\n1 0 0 5\n0 1 0 -6\n0 0 1 7\n0 0 0 2\n", "matrix is damaged"},
        {"me\n1\n1\n1\n1 0 0 5\n0 1 0 -6\n0 0 1\n0 0 0 1\n", "is no transform"},
        {"me\n1\n1\n1 2\n1 0 0 5\n0 1 0 -6\n0 0 1 7\n0 0 0 1\n", "is no transform"},
        {"me\n1\n1\n1\n1 0 0 5\n0 1 0 nan\n0 0 1 7\n0 0 0 1\n", "is no transform"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuses(text_file("b.dat", bad[i].text), bad[i].says);
    assert_true(clvox_transforms_read(text_file("s.dat", "me\n1\n1\n1\n1 0 0 5\n0 1 0 -6\n0 1 0 7\n0 0 0 1\n"), &fixed, &moving,
                                      part, ROOM, &count) == CLVOX_ERROR_FORMAT && strstr(clvox_message(), "singular"));
}

/* ---- ITK ---------------------------------------------------------------- */

#define ITK "#Insight Transform File V1.0\n"
#define PART(class, parameters, fixed) "Transform: " class "\nParameters: " parameters "\nFixedParameters: " fixed "\n"
#define MOVE(x) PART("TranslationTransform_double_3_3", x, "")
#define PLACE " 0 0 0 1 1 1 1 0 0 0 1 0 0 0 1"
#define FIELD PART("DisplacementFieldTransform_float_3_3", "1 2 3 4 5 6", "2 1 1" PLACE)
#define LIST PART("CompositeTransform_double_3_3", "", "")

static void composites(void **state)
{
    (void)state;
    clvox_transform *t = NULL, *part[ROOM];
    int count;
    const char *path = text_file("c.tfm", ITK LIST MOVE("1 0 0") PART("ScaleTransform_double_3_3", "2 2 2", "0 0 0"));
    assert_ok(clvox_transform_read(path, &t)); /* the last first: scaled, then moved */
    assert_true(!t->is_warp && t->matrix[0][0] == 2 && t->matrix[0][3] == -1);
    clvox_transform_destroy(&t);
    path = text_file("c.tfm", ITK LIST MOVE("1 0 0") FIELD);
    assert_true(clvox_transform_read(path, &t) == CLVOX_ERROR_FORMAT && strstr(clvox_message(), "compose"));
    assert_ok(clvox_transforms_read(path, NULL, NULL, part, ROOM, &count));
    assert_true(count == 2 && part[0]->is_warp && !part[1]->is_warp && part[1]->matrix[0][3] == -1);
    static const float want[6] = {-1, -4, -2, -5, 3, 6};
    assert_true(!memcmp(part[0]->warp->data, want, sizeof want));
    const clvox_transform *const parts[] = {part[0], part[1]};
    assert_true(clvox_transforms_write(parts, 2, files_in("c.mat")) == CLVOX_ERROR_ARGUMENT &&
                strstr(clvox_message(), ".h5"));
    for (int i = 0; i < count; i++)
        clvox_transform_destroy(&part[i]);
    assert_true(clvox_transforms_read(path, NULL, NULL, part, 1, &count) == CLVOX_ERROR_FORMAT && !count);
    static const struct {
        const char *text, *says;
    } bad[] = {
        {ITK LIST, "no transform"},
        {ITK PART("DisplacementFieldTransform_float_3_3", "1 2 3 4 5", "2 1 1" PLACE), "do not fit"},
        {ITK PART("DisplacementFieldTransform_float_3_3", "", "0 1 1" PLACE), "do not fit"},
        {ITK PART("DisplacementFieldTransform_float_3_3", "1 2 3", "1e9 1e9 1e9" PLACE), "do not fit"},
        {ITK PART("DisplacementFieldTransform_float_3_3", "1 2 3", "1 1 1 0 0 0 1 0 1 1 0 0 0 1 0 0 0 1"), "singular"},
        {ITK PART("DisplacementFieldTransform_float_2_2", "1 2", "1 1" PLACE), "three dimensions"},
        {ITK PART("BSplineTransform_double_3_3", "1 2 3", "1 1 1" PLACE), "4 are the least"},
        {ITK PART("BSplineTransform_double_3_3_2", "1 2 3", "1 1 1" PLACE), "of the kind"},
        {ITK PART("GaussianExponentialDiffeomorphicTransform_double_3_3", "", ""), "of the kind"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuses(text_file("b.tfm", bad[i].text), bad[i].says);
}

/* A function linear in space is a spline of linear coefficients; its samples are few and exact. */
static void splines(void **state)
{
    (void)state;
    char text[16384];
    int at = snprintf(text, sizeof text, ITK "Transform: BSplineTransform_double_3_3\nParameters:");
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 4 * 5 * 6; i++)
            at += snprintf(text + at, sizeof text - (size_t)at, " %d", c == 0 ? i % 4 : c == 1 ? 2 * (i / 4 % 5) : 7);
    snprintf(text + at, sizeof text - (size_t)at, "\nFixedParameters: 4 5 6 -2 -3 -4 2 3 4 1 0 0 0 1 0 0 0 1\n");
    clvox_transform *t = NULL;
    assert_ok(clvox_transform_read(text_file("s.tfm", text), &t));
    const clvox_volume *v = t->warp;
    size_t n = clvox_grid_voxels(&v->grid);
    assert_true(v->grid.size[0] == 2 && v->grid.size[1] == 3 && v->grid.size[2] == 4);
    assert_true(v->grid.to_ras[0][3] == 0 && v->grid.to_ras[1][1] == -3 && v->grid.to_ras[2][2] == 4);
    for (size_t i = 0; i < n; i++) {
        float x = (float)(i % 2 + 1), y = (float)(2 * (i / 2 % 3 + 1));
        assert_that(fabsf(v->data[i] + x) < 1e-6f && fabsf(v->data[n + i] + y) < 1e-5f &&
                        fabsf(v->data[2 * n + i] - 7) < 1e-5f,
                    "%zu: %g %g %g", i, (double)v->data[i], (double)v->data[n + i], (double)v->data[2 * n + i]);
    }
    clvox_transform_destroy(&t);
}

/* ---- FNIRT -------------------------------------------------------------- */

enum { CUBIC = 2007, COSINES, QUADRATIC };

/* Coefficients c of one axis at voxel x, by the definitions. */
static double basis(int kind, double x, int c, int knots, int length)
{
    if (kind == COSINES)
        return c ? sqrt(2.0 / length) * cos(acos(-1) * c * (x + 0.5) / length) : sqrt(1.0 / length);
    const double d = fabs(x / knots - (knots == 1 ? c : c - 1));
    if (kind == QUADRATIC)
        return d < 0.5 ? 0.75 - d * d : d < 1.5 ? (1.5 - d) * (1.5 - d) / 2 : 0;
    return d < 1 ? (4 - 6 * d * d + 3 * d * d * d) / 6 : d < 2 ? (2 - d) * (2 - d) * (2 - d) / 6 : 0;
}

static const int fnirt_size[3] = {9, 7, 5};
static const double fnirt_edge[3] = {2, 1.5, 3};

/* A file of size^3 coefficients for a reference of 9 x 7 x 5 voxels; values receives them. */
static const char *fnirt_file(int kind, const int size[3], const int knots[3], float *values)
{
    const size_t count = 3 * (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    files_nifti h = files_header(1, size[0], size[1], size[2]);
    uint8_t bytes[544];
    h.dim[0] = 4;
    h.dim[4] = 3;
    h.intent = kind;
    h.intent_p1 = fnirt_edge[0];
    h.qform = h.sform = 1;
    const double affine[3][4] = {{1.1, 0.1, 0, 2}, {-0.1, 0.9, 0, -1}, {0, 0.05, 1, 0.5}};
    memcpy(h.rows, affine, sizeof affine);
    for (int i = 0; i < 3; i++) {
        h.pixdim[i + 1] = knots[i];
        h.shift[i] = fnirt_size[i];
    }
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(3 * sin(0.7 * (double)i * (double)i));
    const size_t head = files_header_bytes(&h, bytes);
    const float others[2] = {(float)fnirt_edge[1], (float)fnirt_edge[2]};
    memcpy(bytes + 60, others, sizeof others);
    uint8_t *whole = calloc(1, head + count * sizeof *values);
    memcpy(whole, bytes, head);
    memcpy(whole + head, values, count * sizeof *values);
    const char *path = files_in("coef.nii");
    assert_true(!files_write(path, whole, head + count * sizeof *values));
    free(whole);
    return path;
}

static void check_fnirt(int kind, const int size[3], const int knots[3], bool mirrored)
{
    static float values[3 * 12 * 12 * 12];
    const char *path = fnirt_file(kind, size, knots, values);
    const size_t each = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    /* The moving image's FSL millimetres are its RAS millimetres but for the sign of x. */
    const clvox_grid moving = {{5, 5, 5}, {{-1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
    clvox_grid fixed = {{9, 7, 5}, {{0, -1.5, 0, 4}, {2, 0, 0, -3}, {0, 0, -3, 1}, {0, 0, 0, 1}}};
    if (mirrored)
        fixed.to_ras[2][2] = 3;
    const double inverse[4][4] = {{1.1, 0.1, 0, 2}, {-0.1, 0.9, 0, -1}, {0, 0.05, 1, 0.5}, {0, 0, 0, 1}};
    double back[4][4], worst = 0;
    clvox_transform *part[ROOM];
    int count;
    assert_ok(clv_matrix_invert(inverse, back));
    assert_ok(clvox_transforms_read(path, &fixed, &moving, part, ROOM, &count));
    assert_true(count == 1 && part[0]->is_warp && clvox_grid_equal(&part[0]->warp->grid, &fixed));
    const bool turned = clv_matrix_determinant(CLV_MATRIX(fixed.to_ras)) > 0;
    for (int at = 0; at < 9 * 7 * 5; at++) {
        const double voxel[3] = {at % 9, at / 9 % 7, at / 63};
        double x[3] = {voxel[0], voxel[1], voxel[2]}, y[3], ras[3];
        x[0] = turned ? 8 - x[0] : x[0];
        double u[3] = {0}, mm[3] = {x[0] * 2, x[1] * 1.5, x[2] * 3};
        for (size_t i = 0; i < each; i++) {
            const size_t nx = (size_t)size[0], ny = (size_t)size[1];
            const double w = basis(kind, x[0], (int)(i % nx), knots[0], 9) *
                             basis(kind, x[1], (int)(i / nx % ny), knots[1], 7) *
                             basis(kind, x[2], (int)(i / nx / ny), knots[2], 5);
            for (size_t c = 0; c < 3; c++)
                u[c] += w * (double)values[c * each + i];
        }
        clv_matrix_apply(CLV_MATRIX(back), mm, y);
        clv_matrix_apply(CLV_MATRIX(fixed.to_ras), voxel, ras);
        for (int c = 0; c < 3; c++) {
            const double want = (c ? 1 : -1) * (y[c] + u[c]) - ras[c];
            worst = fmax(worst, fabs(want - (double)part[0]->warp->data[c * 315 + at]));
        }
    }
    assert_that(worst < 1e-5, "kind %d, knots %d %d %d: %g mm", kind, knots[0], knots[1], knots[2], worst);
    clvox_transform_destroy(&part[0]);
}

static void fnirt(void **state)
{
    (void)state;
    for (int mirrored = 0; mirrored < 2; mirrored++) {
        check_fnirt(CUBIC, (int[]){7, 5, 4}, (int[]){2, 3, 3}, mirrored);
        check_fnirt(CUBIC, (int[]){9, 7, 4}, (int[]){1, 1, 5}, mirrored);
        check_fnirt(QUADRATIC, (int[]){6, 4, 4}, (int[]){2, 3, 4}, mirrored);
        check_fnirt(QUADRATIC, (int[]){9, 3, 3}, (int[]){1, 5, 5}, mirrored);
        check_fnirt(COSINES, (int[]){4, 3, 5}, (int[]){1, 1, 1}, mirrored);
        check_fnirt(COSINES, (int[]){1, 7, 2}, (int[]){0, 0, 0}, mirrored);
    }
    /* More orders than voxels, splines of another size, no knots. */
    static float values[3 * 12 * 12 * 12];
    const clvox_grid fixed = {{9, 7, 5}, {{-2, 0, 0, 0}, {0, 1.5, 0, 0}, {0, 0, 3, 0}, {0, 0, 0, 1}}};
    static const struct {
        int kind, size[3], knots[3];
    } bad[] = {{COSINES, {4, 8, 2}, {1, 1, 1}}, {CUBIC, {7, 6, 5}, {2, 3, 3}},     {CUBIC, {8, 7, 5}, {1, 1, 1}},
               {QUADRATIC, {8, 4, 4}, {2, 3, 4}}, {QUADRATIC, {6, 4, 4}, {2, 0, 4}}, {QUADRATIC, {6, 2, 4}, {2, 3, 4}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        clvox_transform *part[ROOM];
        int count;
        const char *path = fnirt_file(bad[i].kind, bad[i].size, bad[i].knots, values);
        assert_that(clvox_transforms_read(path, &fixed, &fixed, part, ROOM, &count) == CLVOX_ERROR_FORMAT && !count, "%zu", i);
        assert_that(strstr(clvox_message(), "make no field of 9 x 7 x 5"), "%s", clvox_message());
    }
    refuses(fnirt_file(COSINES, (int[]){4, 3, 5}, (int[]){1, 1, 1}, values), "FNIRT warp");
}

/* A composite in HDF5 comes back, displacements to 2^-11 mm; every cut and many damages are refused or read,
 * never fatal. */
static void hdf5(void **state)
{
    (void)state;
    clvox_transform affine = {.matrix = {{1, 0.25, 0, 3}, {0, 1, 0, 4}, {0, 0, 2, 5}, {0, 0, 0, 1}}}, warp = {.is_warp = 1};
    const clvox_grid grid = {{3, 4, 5}, {{0, -2, 0, 1}, {1.5, 0, 0, 2}, {0, 0, 3, 3}, {0, 0, 0, 1}}};
    const clvox_transform *const parts[] = {&warp, &affine};
    clvox_transform *part[ROOM];
    int count;
    assert_ok(clvox_volume_create(&grid, 3, CLVOX_KIND_DISPLACEMENT, &warp.warp));
    for (int i = 0; i < 180; i++)
        warp.warp->data[i] = (float)sin(i);
    const char *path = files_in("c.h5");
    int status = clvox_transforms_write(parts, 2, path);
    if (status < 0 && strstr(clvox_message(), "built without")) {
        clvox_volume_destroy(&warp.warp);
        test_skip("clvox is built without HDF5");
        return;
    }
    assert_true(status == 0);
    assert_ok(clvox_transforms_read(path, NULL, NULL, part, ROOM, &count));
    assert_true(count == 2 && part[0]->is_warp && clvox_grid_equal(&part[0]->warp->grid, &grid));
    for (int i = 0; i < 180; i++) /* the nearest of 1024 a mm */
        assert_true(part[0]->warp->data[i] * 1024 == rintf(warp.warp->data[i] * 1024));
    assert_true(!memcmp(part[1]->matrix, affine.matrix, sizeof affine.matrix));
    for (int i = 0; i < count; i++)
        clvox_transform_destroy(&part[i]);
    size_t size;
    uint8_t *bytes = files_read(path, &size);
    for (size_t cut = 8; cut < size; cut += 1 + size / 7) {
        assert_true(!files_write(files_in("cut.h5"), bytes, cut));
        refuses(files_in("cut.h5"), "cut.h5");
    }
    free(bytes);
    clvox_volume_destroy(&warp.warp);
    /* Noise of some mm packs into less than two thirds. */
    const clvox_grid larger = {{24, 24, 24}, {{0, -2, 0, 1}, {1.5, 0, 0, 2}, {0, 0, 3, 3}, {0, 0, 0, 1}}};
    assert_ok(clvox_volume_create(&larger, 3, CLVOX_KIND_DISPLACEMENT, &warp.warp));
    const size_t values = 3 * clvox_grid_voxels(&larger);
    for (size_t i = 0; i < values; i++)
        warp.warp->data[i] = 3 * (float)sin((double)(i * i));
    assert_ok(clvox_transforms_write(parts, 2, path));
    bytes = files_read(path, &size);
    assert_that(2 * size < 5 * values, "%zu bytes of %zu values", size, values);
    free(bytes);
    clvox_volume_destroy(&warp.warp);
}

static int tear_down(void **state)
{
    (void)state;
    files_end();
    return 0;
}

int main(void)
{
    test_case(lta, "LTA: the source moves; what is damaged is refused with its reason");
    test_case(register_dat, "register.dat: between the middles of two images; what is damaged is refused");
    test_case(composites, "ITK: composites apply the last first; what is damaged is refused with its reason");
    test_case(splines, "ITK: a B-spline of a linear map is that map");
    test_case(fnirt, "FNIRT: cubic and quadratic splines and cosines are what their definitions say, on axes of either hand");
    test_case(hdf5, "HDF5: a composite comes back as it was, and what is cut is refused");
    return test_run("transform formats", tear_down);
}
