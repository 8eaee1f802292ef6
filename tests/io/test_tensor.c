/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of gradients, and tensors in the orders and frames of other programs. */
#include "clvox/tensor.h"

#include <locale.h>

#include "base/matrix.h"
#include "check.h"
#include "files.h"

static const char *text(const char *name, const char *content)
{
    assert_true(!files_write(files_in(name), content, strlen(content)));
    return files_in(name);
}

/* A grid whose axes are the columns of r, of these edges. */
static clvox_grid grid_of(const double r[3][3], int x, int y, int z)
{
    static const double edge[3] = {1.5, 2, 3.25};
    clvox_grid g = {.size = {x, y, z}};
    clv_matrix_identity(g.to_ras);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            g.to_ras[i][j] = r[i][j] * edge[j];
    return g;
}

static const double ras[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
static const double las[3][3] = {{-1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
/* A turn of 40 degrees round z and then of -25 round x. */
static const double oblique[3][3] = {{0.76604444, -0.64278761, 0},
                                     {0.58256342, 0.69427199, 0.42261826},
                                     {-0.27165378, -0.32374437, 0.90630779}};

static double far(const double a[3], const double b[3])
{
    return fabs(a[0] - b[0]) + fabs(a[1] - b[1]) + fabs(a[2] - b[2]);
}

static clvox_gradients *fsl(const char *bval, const char *bvec, const double r[3][3], int volumes)
{
    clvox_gradients *g = NULL;
    clvox_grid grid = grid_of(r, 4, 4, 4);
    assert_that(clvox_gradients_read_fsl(text("a.bval", bval), text("a.bvec", bvec), &grid, volumes, &g) == 0,
                "%s", clvox_message());
    assert_true(g && g->count == volumes);
    return g;
}

static void refuses(const char *bval, const char *bvec, int volumes, const char *where, const char *what)
{
    clvox_gradients *g = (clvox_gradients *)1;
    clvox_grid grid = grid_of(ras, 4, 4, 4);
    int status = clvox_gradients_read_fsl(text("a.bval", bval), text("a.bvec", bvec), &grid, volumes, &g);
    assert_that(status < 0 && !g, "%d", status);
    assert_that(strstr(clvox_message(), where) && strstr(clvox_message(), what),
                "\"%s\" lacks \"%s\" or \"%s\"", clvox_message(), where, what);
}

static void refuses_b(const char *content, int volumes, const char *where, const char *what)
{
    clvox_gradients *g = (clvox_gradients *)1;
    int status = clvox_gradients_read_mrtrix(text("grad.b", content), volumes, &g);
    assert_that(status < 0 && !g, "%d", status);
    assert_that(strstr(clvox_message(), where) && strstr(clvox_message(), what),
                "\"%s\" lacks \"%s\" or \"%s\"", clvox_message(), where, what);
}

/* State that cases hand on. */
static struct {
    clvox_gradients *g;
    clvox_volume *w;
} shared;

static void bvecs_are_turned_into_ras_for_both(void **state)
{
    (void)state;
    const char *bval = "0 1000 1000 995 \n", *bvec = "0 1 0 0.6\n0 0 1 0\n0 0 0 0.8\n";
    shared.g = fsl(bval, bvec, las, 4);
    assert_true(shared.g->b[0] == 0 && shared.g->b[3] == 995 &&
                far(shared.g->direction[0], (double[3]){0, 0, 0}) == 0);
    /* Left-handed (radiological): as the voxels lie. */
    assert_true(far(shared.g->direction[1], (double[3]){-1, 0, 0}) < 1e-12);
    assert_true(far(shared.g->direction[3], (double[3]){-0.6, 0, 0.8}) < 1e-12);
    clvox_gradients_destroy(&shared.g);
    assert_true(!shared.g);
    shared.g = fsl(bval, bvec, ras, 4); /* right-handed: x is turned round */
    assert_true(far(shared.g->direction[1], (double[3]){-1, 0, 0}) < 1e-12);
    assert_true(far(shared.g->direction[2], (double[3]){0, 1, 0}) < 1e-12);
    assert_true(far(shared.g->direction[3], (double[3]){-0.6, 0, 0.8}) < 1e-12);
    clvox_gradients_destroy(&shared.g);
    shared.g = fsl(bval, bvec, oblique, 4);
    assert_true(far(shared.g->direction[1], (double[3]){-oblique[0][0], -oblique[1][0], -oblique[2][0]}) <
                1e-7);
    assert_true(far(shared.g->direction[2], (double[3]){oblique[0][1], oblique[1][1], oblique[2][1]}) < 1e-7);
    clvox_gradients_destroy(&shared.g);
    const double sheared[3][3] = {{-1, 0.02, 0}, {0, 1, 0.03}, {0.01, 0, 1}};
    shared.g = fsl(bval, bvec, sheared, 4);
    double dot = 0;
    for (int c = 0; c < 3; c++)
        dot += shared.g->direction[1][c] * shared.g->direction[2][c];
    assert_true(fabs(dot) < 1e-12 && far(shared.g->direction[2], (double[3]){0, 1, 0}) < 0.05);
    clvox_gradients_destroy(&shared.g);
}

static void transposed_bvecs_a_column_of_bvals_commas(void **state)
{
    (void)state;
    shared.g = fsl("\xEF\xBB\xBF"
                   "0\r\n1000\r\n1005\r\n5\r\n",
                   "nan nan nan\n0,2,0\n-3 0 4\n0 0 0\n", las, 4);
    assert_true(shared.g->b[2] == 1005 && shared.g->b[3] == 5);
    assert_true(far(shared.g->direction[0], (double[3]){0, 0, 0}) == 0 &&
                far(shared.g->direction[3], (double[3]){0, 0, 0}) == 0);
    assert_true(far(shared.g->direction[1], (double[3]){0, 1, 0}) < 1e-12);
    assert_true(far(shared.g->direction[2], (double[3]){0.6, 0, 0.8}) < 1e-12);
    clvox_gradients_destroy(&shared.g);
    shared.g = fsl("1000 1000 1000", "1e-30 0 0\n1e-30 1e200 0\n0 0 -1", las, 3); /* 3 x 3 is as FSL has it */
    assert_true(fabs(shared.g->direction[0][0] + sqrt(0.5)) < 1e-12);
    assert_true(far(shared.g->direction[2], (double[3]){0, 0, -1}) < 1e-12);
    clvox_gradients_destroy(&shared.g);
    clvox_gradients_destroy(NULL);
}

static void what_is_wrong_is_said_with_its_file(void **state)
{
    (void)state;
    const char *bval = "0 1000 1000 995 \n";
    const char *bvec = "0 1 0 0.6\n0 0 1 0\n0 0 0 0.8\n";
    refuses("0 1000 x12", bvec, 4, "a.bval, line 1", "\"x12\" is no number");
    refuses("0 1000 1000", bvec, 4, "a.bval, line 1", "3 b-values, but the DWI has 4");
    refuses("0 1000\n1000 1000\n", bvec, 4, "a.bval, line 1", "one line");
    refuses("0 1000 -7 1000", bvec, 4, "a.bval, line 1", "volume 3");
    refuses("0 1000 nan 1000", bvec, 4, "a.bval, line 1", "volume 3");
    refuses("", bvec, 4, "a.bval, line 1", "no number");
    refuses(bval, "0 1 0 0\n0 0 1\n0 0 0 1\n", 4, "a.bvec, line 2", "has 3 numbers");
    refuses(bval, "0 1 0 0\n0 0 1 0\n", 4, "a.bvec, line 1", "4 numbers, and there are 2 lines");
    refuses(bval, "0 0 0\n1 0 0\n0 1 0\n0 0 1\n1 1 0\n", 4, "a.bvec, line 5", "5 directions");
    refuses(bval, "0 1 0 0\n\n0 0 nan 0\n0 0 0 1\n", 4, "a.bvec, line 3", "volume 3");
    refuses(bval, "0 1 0 0\n0 0 0 0\n0 0 0 1\n", 4, "a.bvec, line 1", "give it a direction");
    refuses(bval, "0 1 0 0\n0 0 1 0\n0 0 0 inf\n", 4, "a.bvec, line 3", "volume 4");
    refuses(bval, "0 1 0 0\n0 0 1 0\n0 0 0 1;2a\n", 4, "a.bvec, line 3", "\"2a\"");
    clvox_gradients *none = (clvox_gradients *)1;
    clvox_grid grid = grid_of(ras, 2, 2, 2);
    assert_int_equal(clvox_gradients_read_fsl("/none.bval", files_in("a.bvec"), &grid, 4, &none),
                     CLVOX_ERROR_FILE);
    assert_true(!none && strstr(clvox_message(), "/none.bval"));
}

static void mrtrixs_table_is_in_ras_whatever_the_grid(void **state)
{
    (void)state;
    int status = clvox_gradients_read_mrtrix(
        text("grad.b", "# command_history: x\n0 0 0 0\n2,0,0,1000\n0 -0.6 0.8 2500 # last\n"), 3, &shared.g);
    assert_that(status == 0, "%s", clvox_message());
    assert_true(far(shared.g->direction[1], (double[3]){1, 0, 0}) == 0 && shared.g->b[2] == 2500);
    assert_true(far(shared.g->direction[2], (double[3]){0, -0.6, 0.8}) < 1e-15);
    clvox_gradients_destroy(&shared.g);
    status = clvox_gradients_read_mrtrix(
        text("dwi.mif", "mrtrix image\ndim: 1,1,1,2\ndw_scheme: 0,0,0,0\ndw_scheme: 0,-0.6,0.8,2500\nEND\n\1\2"), 2, &shared.g);
    assert_that(status == 0, "%s", clvox_message());
    assert_true(far(shared.g->direction[1], (double[3]){0, -0.6, 0.8}) < 1e-15 && shared.g->b[1] == 2500);
    clvox_gradients_destroy(&shared.g);
    refuses_b("mrtrix image\ndim: 1,1,1,2\nEND\n", 2, "grad.b", "no gradients");
    refuses_b("0 0 0 0\n1 0 0\n", 2, "grad.b, line 2", "has 3 numbers");
    refuses_b("0 0 0 0\n1 0 0 1000\n", 3, "grad.b, line 2", "2 directions");
    refuses_b("0 0 0 0\n0 0 0 1000\n", 2, "grad.b, line 2", "volume 2 has b = 1000");
}

static void shells_are_found_through_scanner_rounding(void **state)
{
    (void)state;
    clvox_shell shells[8];
    shared.g = fsl("0 995 1005 2005 5 1000 1990 700 50",
                   "0 1 0 0 0 1 1 1 0\n0 0 1 0 0 1 0 0 0\n0 0 0 1 0 0 1 1 1\n", las, 9);
    assert_true(clvox_gradients_shells(shared.g, shells, 8) == 4 &&
                clvox_gradients_shells(shared.g, shells, 1) == 4);
    assert_true(shells[0].volumes == 3 && shells[1].b == 700 && shells[1].volumes == 1);
    assert_true(shells[2].b == 1000 && shells[2].volumes == 3 && shells[3].b == 2000 &&
                shells[3].volumes == 2);
    clvox_gradients_destroy(&shared.g);
}

static void a_comma_in_the_users_language_does(void **state)
{
    (void)state;
    const char *bvec = "0 1 0 0.6\n0 0 1 0\n0 0 0 0.8\n";
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        test_skip("no such locale");
    shared.g = fsl("0 1000 1000 995.5", bvec, las, 4);
    assert_true(shared.g->b[3] == 995.5 && far(shared.g->direction[3], (double[3]){-0.6, 0, 0.8}) < 1e-12);
    clvox_gradients_destroy(&shared.g);
    setlocale(LC_ALL, "C");
}

static void gradients(void)
{
    test_case(bvecs_are_turned_into_ras_for_both,
              "bvecs are turned into RAS for both handednesses, oblique and sheared grids");
    test_case(transposed_bvecs_a_column_of_bvals_commas,
              "transposed bvecs, a column of bvals, commas, not unit, NaN for b = 0");
    test_case(what_is_wrong_is_said_with_its_file, "an error names its file and line");
    test_case(mrtrixs_table_is_in_ras_whatever_the_grid, "MRtrix's table is in RAS whatever the grid");
    test_case(shells_are_found_through_scanner_rounding, "shells are found through scanner rounding");
    test_case(a_comma_in_the_users_language_does, "a comma in the user's language does not matter");
}

/* ---- orders ------------------------------------------------------------- */

enum { NX = 3, NY = 2, NZ = 4, N = NX * NY * NZ };

static clvox_volume *made(const clvox_grid *grid)
{
    clvox_volume *v = NULL;
    assert_ok(clvox_volume_create(grid, 6, CLVOX_KIND_TENSOR, &v));
    for (int i = 0; i < 6 * N; i++)
        v->data[i] = 1e-3f * (float)((i * 37) % 101) / 101;
    return v;
}

/* Its matrix at voxel i. */
static void matrix_at(const float *d, size_t i, const int place[6], double out[3][3])
{
    static const int entry[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};
    for (int c = 0; c < 6; c++)
        out[entry[c][0]][entry[c][1]] = out[entry[c][1]][entry[c][0]] = (double)d[(size_t)place[c] * N + i];
}

/* Writes, reads the raw frames, and compares r d r^T of them with v. */
static void writes(const clvox_volume *v, clvox_tensor_order order, const int place[6], bool bvecs,
                   int intent)
{
    size_t size;
    double axes[3][3], worst = 0;
    const char *path = files_in("t.nii");
    assert_that(clvox_tensor_write(v, order, path) == 0, "%s", clvox_message());
    uint8_t *bytes = files_read(path, &size);
    int16_t head[8], code;
    memcpy(head, bytes + 40, sizeof head);
    memcpy(&code, bytes + 68, 2);
    assert_true(code == intent && size == 352 + 6 * N * 4);
    assert_true(intent ? head[0] == 5 && head[4] == 1 && head[5] == 6 : head[0] == 4 && head[4] == 6);
    const double(*m)[4] = v->grid.to_ras;
    double spacing[3], turn = clv_matrix_determinant(m) > 0 ? -1 : 1;
    clvox_grid_spacing(&v->grid, spacing);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            axes[a][b] = bvecs ? m[a][b] / spacing[b] * (b == 0 ? turn : 1) : a == b;
    for (size_t i = 0; i < N; i++) {
        double d[3][3], want[3][3], got[3][3] = {{0}};
        matrix_at((const float *)(const void *)(bytes + 352), i, place, d);
        matrix_at(v->data, i, (const int[6]){0, 1, 2, 3, 4, 5}, want);
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) {
                for (int p = 0; p < 9; p++)
                    got[a][b] += axes[a][p / 3] * d[p / 3][p % 3] * axes[b][p % 3];
                worst = fmax(worst, fabs(got[a][b] - want[a][b]));
            }
    }
    assert_that(worst < 2e-10, "order %d is off by %g", (int)order, worst);
    free(bytes);
    clvox_volume *back = NULL;
    assert_that(clvox_tensor_read(path, order, &back) == 0, "%s", clvox_message());
    worst = 0;
    for (size_t i = 0; back && i < 6 * N; i++)
        worst = fmax(worst, fabs((double)back->data[i] - (double)v->data[i]));
    assert_that(back && back->kind == CLVOX_KIND_TENSOR && worst < 4e-10, "back: off by %g", worst);
    clvox_volume_destroy(&back);
}

static const int upper[6] = {0, 1, 2, 3, 4, 5}, lower[6] = {0, 1, 3, 2, 4, 5};
static const int mrtrix[6] = {0, 3, 4, 1, 5, 2};

static void tensors_go_out_and_come_back_in_every_order(void **state)
{
    const int *given = *state;
    int g = given[0];
    clvox_grid grid = grid_of(g == 0 ? ras : g == 1 ? las : oblique, NX, NY, NZ);
    clvox_volume *v = made(&grid);
    writes(v, CLVOX_TENSOR_FSL, upper, true, 0);
    writes(v, CLVOX_TENSOR_MRTRIX, mrtrix, false, 0);
    writes(v, CLVOX_TENSOR_NIFTI, lower, false, 1005);
    writes(v, CLVOX_TENSOR_AUTO, lower, false, 1005);
    writes(v, CLVOX_TENSOR_DIPY, lower, true, 1005);
    clvox_volume_destroy(&v);
}

static void what_does_not_say_its_order_must_be_told(void **state)
{
    (void)state;
    clvox_grid grid = grid_of(las, NX, NY, NZ);
    clvox_volume *v = made(&grid);
    shared.w = (clvox_volume *)1;
    assert_true(clvox_tensor_write(v, CLVOX_TENSOR_FSL, files_in("t.nii")) == 0);
    assert_true(clvox_tensor_read(files_in("t.nii"), CLVOX_TENSOR_AUTO, &shared.w) == CLVOX_ERROR_DATA &&
                !shared.w);
    assert_true(strstr(clvox_message(), "t.nii") && strstr(clvox_message(), "mrtrix"));
    assert_true(clvox_tensor_write(v, CLVOX_TENSOR_NIFTI, files_in("t.nii")) == 0);
    assert_true(clvox_tensor_read(files_in("t.nii"), CLVOX_TENSOR_MRTRIX, &shared.w) == CLVOX_ERROR_DATA &&
                !shared.w);
    assert_true(strstr(clvox_message(), "dipy"));
    const clvox_tensor_order beyond = (clvox_tensor_order)(CLVOX_TENSOR_DIPY + 1);
    assert_int_equal(clvox_tensor_write(v, beyond, files_in("x.nii")), CLVOX_ERROR_ARGUMENT);
    assert_true(clvox_tensor_read(files_in("t.nii"), beyond, &shared.w) == CLVOX_ERROR_ARGUMENT && !shared.w);
    v->frames = 5;
    v->kind = CLVOX_KIND_SCALAR;
    assert_int_equal(clvox_tensor_write(v, CLVOX_TENSOR_FSL, files_in("x.nii")), CLVOX_ERROR_ARGUMENT);
    assert_true(clvox_volume_write(v, files_in("t.nii")) == 0);
    assert_true(clvox_tensor_read(files_in("t.nii"), CLVOX_TENSOR_FSL, &shared.w) == CLVOX_ERROR_DATA &&
                !shared.w);
    assert_true(strstr(clvox_message(), "has 5"));
    clvox_volume_destroy(&v);
}

static void vectors_are_written_in_ras_or_in_the_axes(void **state)
{
    (void)state;
    clvox_volume *v;
    clvox_grid grid = grid_of(ras, 1, 1, 1);
    assert_ok(clvox_volume_create(&grid, 3, CLVOX_KIND_VECTOR, &v));
    memcpy(v->data, (float[3]){0.6f, 0, 0.8f}, 3 * sizeof(float));
    for (int fsl_frame = 0; fsl_frame < 2; fsl_frame++) {
        assert_true(clvox_vectors_write(v, fsl_frame, files_in("v.nii.gz")) == 0);
        assert_true(clvox_volume_read(files_in("v.nii.gz"), &shared.w) == 0);
        assert_true(shared.w && shared.w->kind == CLVOX_KIND_VECTOR && shared.w->frames == 3);
        assert_true(shared.w && shared.w->data[0] == (fsl_frame ? -0.6f : 0.6f) && shared.w->data[1] == 0 &&
                    shared.w->data[2] == 0.8f);
        clvox_volume_destroy(&shared.w);
    }
    clvox_volume_destroy(&v);
}

static void orders(void)
{
    static const char *const names[3] = {"right-handed", "left-handed", "oblique"};
    for (int g = 0; g < 3; g++)
        test_case_at(tensors_go_out_and_come_back_in_every_order, TEST_AT(g),
                     "tensors go out and come back in every order, %s grid", names[g]);
    test_case(what_does_not_say_its_order_must_be_told,
              "what does not say its order must be told, and must not be told wrong");
    test_case(vectors_are_written_in_ras_or_in_the_axes,
              "vectors are written in RAS or in the axes of bvecs");
}

static int tear_down(void **state)
{
    (void)state;
    files_end();
    return 0;
}

int main(void)
{
    gradients();
    orders();
    return test_run("tensor", tear_down);
}
