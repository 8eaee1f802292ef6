/* SPDX-License-Identifier: Apache-2.0 */
#include "base/matrix.h"
#include "check.h"
#include "clvox/volume.h"

static double farthest(const double a[4][4], const double b[4][4])
{
    double worst = 0;
    for (int i = 0; i < 16; i++)
        worst = fmax(worst, fabs((&a[0][0])[i] - (&b[0][0])[i]));
    return worst;
}

static const double m[4][4] = {
    {1.2, 0.3, -0.1, 5}, {-0.2, 0.8, 0.4, -7}, {0.05, -0.6, 2.1, 11}, {0, 0, 0, 1}};

static void a_matrix_times_its_inverse_is_the_identity(void **state)
{
    (void)state;
    double a[4][4], b[4][4], one[4][4];
    clv_matrix_identity(one);
    assert_true(clv_matrix_invert(m, a) == 0);
    clv_matrix_multiply(m, CLV_MATRIX(a), b);
    assert_true(farthest(CLV_MATRIX(b), CLV_MATRIX(one)) < 1e-14);
    clv_matrix_copy(m, b);
    assert_true(clv_matrix_invert(CLV_MATRIX(b), b) == 0);
    assert_true(farthest(CLV_MATRIX(a), CLV_MATRIX(b)) == 0);
}

static void determinants_multiply(void **state)
{
    (void)state;
    double b[4][4];
    clv_matrix_multiply(m, m, b);
    assert_true(fabs(clv_matrix_determinant(CLV_MATRIX(b)) - pow(clv_matrix_determinant(m), 2)) <
                1e-12);
}

static void a_point_goes_there_and_back(void **state)
{
    (void)state;
    double x[3] = {3, -4, 5}, y[3], a[4][4];
    assert_ok(clv_matrix_invert(m, a));
    clv_matrix_apply(m, x, y);
    assert_true(fabs(y[0] - (1.2 * 3 - 0.3 * 4 - 0.5 + 5)) < 1e-14);
    clv_matrix_apply(CLV_MATRIX(a), y, y);
    assert_true(fabs(y[0] - 3) + fabs(y[1] + 4) + fabs(y[2] - 5) < 1e-13);
}

static void singular_and_non_finite_matrices(void **state)
{
    (void)state;
    double b[4][4], q[3][3];
    double bad[4][4] = {{1, 2, 3, 0}, {2, 4, 6, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    assert_true(!clv_matrix_regular(CLV_MATRIX(bad)));
    assert_int_equal(clv_matrix_invert(CLV_MATRIX(bad), b), CLVOX_ERROR_DATA);
    assert_int_equal(clv_matrix_rotation(CLV_MATRIX(bad), q), CLVOX_ERROR_DATA);
    for (double scale = 1e-9; scale < 1e12; scale *= 1e6) {
        clv_matrix_identity(b);
        for (int i = 0; i < 3; i++)
            b[i][i] = scale;
        assert_true(clv_matrix_regular(CLV_MATRIX(b)));
    }
    clv_matrix_identity(b);
    b[1][3] = NAN;
    assert_true(!clv_matrix_regular(CLV_MATRIX(b)));
    clv_matrix_identity(b);
    b[1][1] = INFINITY;
    assert_true(!clv_matrix_regular(CLV_MATRIX(b)));
}

static void the_rotation_is_orthogonal_keeps(void **state)
{
    (void)state;
    double a[4][4], q[3][3];
    for (int flip = 0; flip < 2; flip++) {
        clv_matrix_copy(m, a);
        for (int i = 0; i < 3; i++)
            a[i][0] *= flip ? -100 : 1;
        assert_true(clv_matrix_rotation(CLV_MATRIX(a), q) == 0);
        double worst = 0, rest[3][3] = {{0}};
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                double dot = 0;
                for (int k = 0; k < 3; k++) {
                    dot += q[k][i] * q[k][j];
                    rest[i][j] += q[k][i] * a[k][j];
                }
                worst = fmax(worst, fabs(dot - (i == j)));
            }
        assert_that(worst < 1e-14, "%g", worst);
        assert_true(fabs(rest[0][1] - rest[1][0]) + fabs(rest[0][2] - rest[2][0]) +
                        fabs(rest[1][2] - rest[2][1]) <
                    1e-11);
        assert_true(clv_matrix3_determinant(CLV_MATRIX3(q)) *
                        clv_matrix_determinant(CLV_MATRIX(a)) >
                    0);
    }
}

static void lps_and_back_is_nothing_and_a_shift_along_r(void **state)
{
    (void)state;
    double a[4][4];
    clv_matrix_flip_lps(m, a);
    assert_true(a[0][3] == -5 && a[1][3] == 7 && a[2][3] == 11 &&
                a[0][1] == 0.3 && a[0][2] == 0.1 && a[2][1] == 0.6);
    clv_matrix_flip_lps(CLV_MATRIX(a), a);
    assert_true(farthest(CLV_MATRIX(a), m) == 0);
}

static void case_3x3_products_and_inverses(void **state)
{
    (void)state;
    double q[3][3], p[3][3];
    const double t[3][3] = {{2, 1, 0}, {0, 1, 3}, {1, 0, 1}};
    assert_true(clv_matrix3_invert(t, q) == 0);
    clv_matrix3_multiply(t, CLV_MATRIX3(q), p);
    for (int i = 0; i < 9; i++)
        assert_true(fabs((&p[0][0])[i] - (i % 4 == 0)) < 1e-15);
}

static void grids_are_equal_up_to_a_hundredth(void **state)
{
    (void)state;
    clvox_grid g = {{100, 90, 80}, {{0}}}, h;
    clv_matrix_copy(m, g.to_ras);
    h = g;
    assert_true(clvox_grid_equal(&g, &h));
    h.to_ras[0][3] += 0.005;
    assert_true(clvox_grid_equal(&g, &h));
    h.to_ras[0][3] += 0.1;
    assert_true(!clvox_grid_equal(&g, &h));
    h = g;
    h.to_ras[1][0] += 0.001;
    assert_true(!clvox_grid_equal(&g, &h));
    h = g;
    h.size[1]++;
    assert_true(!clvox_grid_equal(&g, &h));
    h = g;
    memset(h.to_ras, 0, sizeof h.to_ras);
    assert_true(!clvox_grid_equal(&h, &g));
    double spacing[3];
    clvox_grid_spacing(&g, spacing);
    assert_true(fabs(spacing[0] - sqrt(1.44 + 0.04 + 0.0025)) < 1e-15);
}

static void volumes_that_no_memory_holds_and_no_voxels(void **state)
{
    (void)state;
    clvox_volume *v;
    clvox_grid g = {{100, 90, 80}, {{0}}};
    clv_matrix_identity(g.to_ras);
    assert_true(clvox_volume_create(&g, 2, CLVOX_KIND_SCALAR, &v) == 0 && v &&
                v->data[100 * 90 * 80 * 2 - 1] == 0);
    clvox_volume_destroy(&v);
    assert_true(!v);
    clvox_volume_destroy(&v);
    g.size[0] = g.size[1] = g.size[2] = 2147483647;
    assert_true(clvox_volume_create(&g, 1, CLVOX_KIND_SCALAR, &v) == CLVOX_ERROR_MEMORY && !v);
    g.size[1] = g.size[2] = 1;
    assert_int_equal(clvox_volume_create(&g, 0, CLVOX_KIND_SCALAR, &v), CLVOX_ERROR_ARGUMENT);
    g.size[0] = 0;
    assert_int_equal(clvox_volume_create(&g, 1, CLVOX_KIND_SCALAR, &v), CLVOX_ERROR_ARGUMENT);
    g.size[0] = 1;
    g.to_ras[0][0] = 0;
    assert_int_equal(clvox_volume_create(&g, 1, CLVOX_KIND_SCALAR, &v), CLVOX_ERROR_ARGUMENT);
}

static double apart(const double a[4][4], const double b[4][4])
{
    double most = 0;
    for (int i = 0; i < 16; i++)
        most = fmax(most, fabs(a[i / 4][i % 4] - b[i / 4][i % 4]));
    return most;
}

static void logarithms_of_affines(void **state)
{
    double log[4][4], again[4][4], inverse[4][4], other[4][4];
    (void)state;
    /* A turn by t about z has the logarithm t [0 -1; 1 0], a scale that of its numbers. */
    for (double t = .05; t < 3.1; t += .45) {
        const double turn[4][4] = {{cos(t), -sin(t), 0, 0}, {sin(t), cos(t), 0, 0}, {0, 0, 2.5, 0}, {0, 0, 0, 1}};
        const double want[4][4] = {{0, -t, 0, 0}, {t, 0, 0, 0}, {0, 0, log1p(1.5), 0}, {0}};
        assert_true(clv_matrix_log(turn, log));
        assert_that(apart(CLV_MATRIX(log), want) < 1e-9, "a turn by %g: %g off", t, apart(CLV_MATRIX(log), want));
    }
    const double affine[4][4] = {{1.1, .3, -.1, 40}, {-.25, .9, .2, -300}, {.05, -.3, 1.2, 7}, {0, 0, 0, 1}};
    assert_true(clv_matrix_log(affine, log));
    clv_matrix_exp(CLV_MATRIX(log), again);
    assert_that(apart(CLV_MATRIX(again), affine) < 1e-9, "exp(log) is %g off", apart(CLV_MATRIX(again), affine));
    assert_int_equal(clv_matrix_invert(affine, inverse), CLVOX_OK);
    assert_true(clv_matrix_log(CLV_MATRIX(inverse), other));
    for (int i = 0; i < 16; i++)
        other[i / 4][i % 4] *= -1;
    assert_that(apart(CLV_MATRIX(other), CLV_MATRIX(log)) < 1e-9, "the logarithm of the inverse is not its negative");
    const double mirror[4][4] = {{-1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    const double half[4][4] = {{-1, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    assert_false(clv_matrix_log(mirror, log));
    assert_false(clv_matrix_log(half, log));
}

int main(void)
{
    test_case(logarithms_of_affines, "exp(log M) is M, and log M of turns, scales and inverses what it must be");
    test_case(a_matrix_times_its_inverse_is_the_identity,
              "a matrix times its inverse is the identity, in place too");
    test_case(determinants_multiply, "determinants multiply");
    test_case(a_point_goes_there_and_back, "a point goes there and back");
    test_case(singular_and_non_finite_matrices,
              "singular and non-finite matrices are refused, whatever the unit");
    test_case(the_rotation_is_orthogonal_keeps,
              "the rotation is orthogonal, keeps the handedness and leaves a symmetric rest");
    test_case(lps_and_back_is_nothing_and_a_shift_along_r,
              "LPS and back is nothing, and a shift along R changes sign");
    test_case(case_3x3_products_and_inverses, "3x3 products and inverses");
    test_case(grids_are_equal_up_to_a_hundredth,
              "grids are equal up to a hundredth of a voxel at their corners");
    test_case(volumes_that_no_memory_holds_and_no_voxels,
              "volumes that no memory holds, and no voxels, are refused");
    return test_run("matrix", NULL);
}
