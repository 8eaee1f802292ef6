/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and vectors turn with the tissue: against closed forms for
 * rotations, stretches, shears and a curved map. */
#include "base/eigen.h"
#include "base/matrix.h"
#include "clvox/apply.h"
#include "op/harness.h"
#include "phantom/phantom.h"

static clvox_context *ctx;
static const clvox_grid grid = {
    {14, 12, 10}, {{-1.9, 0.3, 0.1, 12}, {0.4, 1.7, -0.3, -11}, {0, 0.4, 2.4, -9}, {0, 0, 0, 1}}};
static const int pair[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};

static const double shear[4][4] = {{1, 0.5, 0, 1}, {0, 1, 0.2, -1}, {0, 0, 1, 0}, {0, 0, 0, 1}};
static const double stretch[4][4] = {{0.6, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1.4, 0}, {0, 0, 0, 1}};
static const double rotation[4][4] = {
    {96 / 106.0, -16 / 106.0, 42 / 106.0, 1},
    {24 / 106.0, 102 / 106.0, -16 / 106.0, 0},
    {-38 / 106.0, 24 / 106.0, 96 / 106.0, -1},
    {0, 0, 0, 1}};
static const double mirror[4][4] = {{-1, 0.3, 0, 0}, {0, 1, 0, 0}, {0, 0.2, 1, 0}, {0, 0, 0, 1}};

/* Inverse root of a positive definite matrix: out = matrix^(-1/2). */
static void inverse_root(const double matrix[3][3], double out[3][3])
{
    double values[3], v[3][3];
    clv_eigen_symmetric(matrix, values, v);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[i][j] = v[i][0] * v[j][0] / sqrt(values[0]) + v[i][1] * v[j][1] / sqrt(values[1]) +
                        v[i][2] * v[j][2] / sqrt(values[2]);
}

static void normalise(double v[3])
{
    double size = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int i = 0; i < 3; i++)
        v[i] /= size;
}

static void times(const double m[3][3], const double v[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
}

/* The same value in every voxel. */
static clvox_volume *constant(int frames, const double *values)
{
    clvox_volume *v = NULL;
    size_t n = clvox_grid_voxels(&grid);
    assert_ok(clvox_volume_create(&grid, frames, frames == 6 ? CLVOX_KIND_TENSOR : CLVOX_KIND_VECTOR, &v));
    for (size_t i = 0; i < n * (size_t)frames; i++)
        v->data[i] = (float)values[i / n];
    return v;
}

static const double value[3] = {1.7, 0.9, 0.3};

/* The tensor with the eigenvalues above along v, what is perpendicular to it of
 * w, and the rest. */
static void tensor_along(const double v_[3], const double w_[3], double d[6])
{
    double v[3] = {v_[0], v_[1], v_[2]}, w[3] = {w_[0], w_[1], w_[2]};
    normalise(v);
    double along = v[0] * w[0] + v[1] * w[1] + v[2] * w[2];
    for (int i = 0; i < 3; i++)
        w[i] -= along * v[i];
    normalise(w);
    for (int k = 0; k < 6; k++) {
        int i = pair[k][0], j = pair[k][1];
        d[k] = (value[0] - value[2]) * v[i] * v[j] + (value[1] - value[2]) * w[i] * w[j] +
               (i == j ? value[2] : 0);
    }
}

static clvox_volume *turn(const clvox_volume *image, const clvox_transform *t, clvox_reorientation how)
{
    clvox_volume *out = NULL;
    const clvox_apply_options o = {
        .size = sizeof o, .interpolation = CLVOX_INTERPOLATE_NEAREST, .reorientation = how};
    assert_ok(clvox_apply_with(ctx, image, &grid, (clvox_link[]){{t, 0}}, 1, &o, &out));
    return out;
}

static size_t middle(void)
{
    return (size_t)(7 + 14 * (6 + 12 * 5));
}

static void check_value(const clvox_volume *out, size_t at, const double *want, double tolerance)
{
    size_t n = clvox_grid_voxels(&grid);
    for (size_t k = 0; k < (size_t)out->frames; k++)
        assert_that(fabs((double)out->data[k * n + at] - want[k]) < tolerance, "component %d: %g, not %g",
                    (int)k, (double)out->data[k * n + at], want[k]);
}

static const struct {
    const char *name;
    const double (*matrix)[4];
} maps[] = {{"shear", CLV_MATRIX(shear)},
            {"stretch", CLV_MATRIX(stretch)},
            {"rotation", CLV_MATRIX(rotation)},
            {"mirror and shear", CLV_MATRIX(mirror)}};
static const double linear_v[3] = {1, 2, -0.5}, linear_w[3] = {0.3, -0.4, 1};

/* Along v before, F v after; and the plane of v and w becomes that of F v and F w. */
static void tensors_and_vectors_turn(void **state)
{
    const int *given = *state;
    int m = given[0], as_warp = given[1];
    clvox_transform direct = {0}, t = {0};
    clv_matrix_copy(maps[m].matrix, direct.matrix);
    t = direct;
    if (as_warp) {
        t = (clvox_transform){.is_warp = 1};
        assert_ok(clvox_compose(ctx, &grid, (clvox_link[]){{&direct, 0}}, 1, &t.warp));
    }
    double f[3][3], fv[3], fw[3], d[6], want[6], r[3][3];
    for (int i = 0; i < 3; i++)
        memcpy(f[i], maps[m].matrix[i], sizeof f[i]);
    assert_ok(clv_matrix3_invert(CLV_MATRIX3(f), f));
    times(CLV_MATRIX3(f), linear_v, fv);
    times(CLV_MATRIX3(f), linear_w, fw);
    tensor_along(linear_v, linear_w, d);
    tensor_along(fv, fw, want);
    clvox_volume *image = constant(6, d);
    clvox_volume *ppd = turn(image, &t, CLVOX_REORIENT_AUTO);
    clvox_volume *fs = turn(image, &t, CLVOX_REORIENT_FINITE_STRAIN);
    clvox_volume *none = turn(image, &t, CLVOX_REORIENT_NONE);
    check_value(ppd, middle(), want, 2e-5);
    check_value(none, middle(), d, 1e-6);
    /* R = (F F^T)^(-1/2) F, another way than the code's. */
    double fft[3][3], root[3][3], rv[3], rw[3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            fft[i][j] = f[i][0] * f[j][0] + f[i][1] * f[j][1] + f[i][2] * f[j][2];
    inverse_root(CLV_MATRIX3(fft), root);
    clv_matrix3_multiply(CLV_MATRIX3(root), CLV_MATRIX3(f), r);
    times(CLV_MATRIX3(r), linear_v, rv);
    times(CLV_MATRIX3(r), linear_w, rw);
    tensor_along(rv, rw, want);
    check_value(fs, middle(), want, 2e-5);
    clvox_volume_destroy(&image);
    clvox_volume_destroy(&ppd);
    clvox_volume_destroy(&fs);
    clvox_volume_destroy(&none);
    image = constant(3, linear_v);
    ppd = turn(image, &t, CLVOX_REORIENT_PRINCIPAL);
    fs = turn(image, &t, CLVOX_REORIENT_AUTO);
    normalise(fv);
    for (int i = 0; i < 3; i++)
        fv[i] *= sqrt(5.25);
    check_value(ppd, middle(), fv, 2e-5);
    check_value(fs, middle(), rv, 2e-5);
    clvox_volume_destroy(&image);
    clvox_volume_destroy(&ppd);
    clvox_volume_destroy(&fs);
    clvox_volume_destroy(&t.warp);
}

static void linear(void)
{
    for (int m = 0; m < 4; m++)
        for (int as_warp = 0; as_warp < 2; as_warp++)
            test_case_at(tensors_and_vectors_turn, TEST_AT(m, as_warp), "a %s given as %s", maps[m].name,
                         as_warp ? "a warp" : "a matrix");
}

/* F by the warp's own derivative: the code takes differences on the grid. */
static void curved(void **state)
{
    (void)state;
    const double v[3] = {1, 2, -0.5}, w[3] = {0.3, -0.4, 1};
    clv_phantom_warp made;
    clvox_transform t = {.is_warp = 1};
    double d[6], sum = 0, unturned = 0, count = 0;
    assert_ok(clv_phantom_warp_make(&grid, 1.5, 4, &made));
    assert_ok(clv_phantom_warp_sample(&made, &grid, false, &t.warp));
    tensor_along(v, w, d);
    clvox_volume *image = constant(6, d), *out = turn(image, &t, CLVOX_REORIENT_PRINCIPAL);
    size_t n = clvox_grid_voxels(&grid);
    for (int z = 2; z < 8; z++)
        for (int y = 2; y < 10; y++)
            for (int x = 2; x < 12; x++) {
                double p[3], du[3][3], e[3], m[3][3], values[3], vectors[3][3];
                size_t at = (size_t)(x + 14 * (y + 12 * z));
                clv_matrix_apply(CLV_MATRIX(grid.to_ras), (const double[3]){x, y, z}, p);
                clv_phantom_warp_gradient(&made, p, du);
                for (int i = 0; i < 3; i++)
                    du[i][i] += 1;
                assert_ok(clv_matrix3_invert(CLV_MATRIX3(du), du));
                times(CLV_MATRIX3(du), v, e);
                normalise(e);
                for (size_t k = 0; k < 6; k++)
                    m[pair[k][0]][pair[k][1]] = m[pair[k][1]][pair[k][0]] = (double)out->data[k * n + at];
                clv_eigen_symmetric(CLV_MATRIX3(m), values, vectors);
                double cosine = fabs(e[0] * vectors[0][2] + e[1] * vectors[1][2] + e[2] * vectors[2][2]);
                double before = fabs(e[0] * v[0] + e[1] * v[1] + e[2] * v[2]) / sqrt(5.25);
                sum += acos(fmin(cosine, 1)) * 57.29578;
                unturned += acos(fmin(before, 1)) * 57.29578;
                count++;
                assert_true(fabs(values[2] - value[0]) < 1e-5 && fabs(values[0] - value[2]) < 1e-5);
            }
    assert_that(sum < 0.25 * unturned, "off by %g degrees, %g without turning", sum / count,
                unturned / count);
    clvox_volume_destroy(&image);
    clvox_volume_destroy(&out);
    clvox_volume_destroy(&t.warp);
}

static void odd(void **state)
{
    (void)state;
    const double v[3] = {1, 0, 0}, w[3] = {0, 1, 0};
    double d[6];
    clvox_transform t = {0};
    clv_matrix_copy(CLV_MATRIX(shear), t.matrix);
    t.matrix[0][3] = t.matrix[1][3] = 0;
    for (int kind = 0; kind < 2; kind++) {
        for (int k = 0; k < 6; k++)
            d[k] = kind ? (double)NAN : 0;
        clvox_volume *image = constant(6, d), *out = turn(image, &t, CLVOX_REORIENT_PRINCIPAL);
        for (size_t k = 0; k < 6; k++) {
            float got = out->data[k * clvox_grid_voxels(&grid) + middle()];
            assert_true(kind ? isnan(got) : fpclassify(got) == FP_ZERO);
        }
        clvox_volume_destroy(&image);
        clvox_volume_destroy(&out);
    }
    tensor_along(v, w, d);
    clvox_volume *image = constant(6, d), *out = NULL, *flat = NULL;
    assert_ok(clvox_volume_create(&grid, 3, CLVOX_KIND_DISPLACEMENT, &flat));
    /* u = c - x: every voxel looks at the same place. */
    for (size_t i = 0, n = clvox_grid_voxels(&grid); i < n; i++) {
        double p[3];
        const double at[3] = {(double)(i % 14), (double)(i / 14 % 12), (double)(i / 168)};
        clv_matrix_apply(CLV_MATRIX(grid.to_ras), at, p);
        for (size_t c = 0; c < 3; c++)
            flat->data[c * n + i] = (float)(0.5 - p[c]);
    }
    clvox_transform collapse = {.is_warp = 1, .warp = flat};
    out = turn(image, &collapse, CLVOX_REORIENT_PRINCIPAL);
    for (size_t k = 0; k < 6; k++)
        assert_true(isfinite(out->data[k * clvox_grid_voxels(&grid) + middle()]));
    clvox_volume_destroy(&image);
    clvox_volume_destroy(&out);
    clvox_volume_destroy(&flat);
}

int main(void)
{
    ctx = harness_open();
    linear();
    test_case(curved, "a curved warp");
    test_case(odd, "tensors of zeros and of NaN, and a warp that is flat somewhere");
    return test_run("reorient", harness_close);
}
