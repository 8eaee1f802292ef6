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

int main(void)
{
    const double m[4][4] = {{1.2, 0.3, -0.1, 5}, {-0.2, 0.8, 0.4, -7}, {0.05, -0.6, 2.1, 11}, {0, 0, 0, 1}};
    double a[4][4], b[4][4], one[4][4], q[3][3], p[3][3];
    clv_matrix_identity(one);

    CHECK_CASE("a matrix times its inverse is the identity, in place too");
    CHECK(clv_matrix_invert(m, a) == 0);
    clv_matrix_multiply(m, CLV_MATRIX(a), b);
    CHECK(farthest(CLV_MATRIX(b), CLV_MATRIX(one)) < 1e-14);
    clv_matrix_copy(m, b);
    CHECK(clv_matrix_invert(CLV_MATRIX(b), b) == 0);
    CHECK(farthest(CLV_MATRIX(a), CLV_MATRIX(b)) == 0);

    CHECK_CASE("determinants multiply");
    clv_matrix_multiply(m, m, b);
    CHECK(fabs(clv_matrix_determinant(CLV_MATRIX(b)) - pow(clv_matrix_determinant(m), 2)) < 1e-12);

    CHECK_CASE("a point goes there and back");
    double x[3] = {3, -4, 5}, y[3];
    clv_matrix_apply(m, x, y);
    CHECK(fabs(y[0] - (1.2 * 3 - 0.3 * 4 - 0.5 + 5)) < 1e-14);
    clv_matrix_apply(CLV_MATRIX(a), y, y);
    CHECK(fabs(y[0] - 3) + fabs(y[1] + 4) + fabs(y[2] - 5) < 1e-13);

    CHECK_CASE("singular and non-finite matrices are refused, whatever the unit");
    double bad[4][4] = {{1, 2, 3, 0}, {2, 4, 6, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    CHECK(!clv_matrix_regular(CLV_MATRIX(bad)));
    CHECK(clv_matrix_invert(CLV_MATRIX(bad), b) == CLVOX_ERROR_DATA);
    CHECK(clv_matrix_rotation(CLV_MATRIX(bad), q) == CLVOX_ERROR_DATA);
    for (double scale = 1e-9; scale < 1e12; scale *= 1e6) {
        clv_matrix_identity(b);
        for (int i = 0; i < 3; i++)
            b[i][i] = scale;
        CHECK(clv_matrix_regular(CLV_MATRIX(b)));
    }
    clv_matrix_identity(b);
    b[1][3] = NAN;
    CHECK(!clv_matrix_regular(CLV_MATRIX(b)));
    clv_matrix_identity(b);
    b[1][1] = INFINITY;
    CHECK(!clv_matrix_regular(CLV_MATRIX(b)));

    CHECK_CASE("the rotation is orthogonal, keeps the handedness and leaves a symmetric rest");
    for (int flip = 0; flip < 2; flip++) {
        clv_matrix_copy(m, a);
        for (int i = 0; i < 3; i++)
            a[i][0] *= flip ? -100 : 1;
        CHECK(clv_matrix_rotation(CLV_MATRIX(a), q) == 0);
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
        CHECK_THAT(worst < 1e-14, "%g", worst);
        CHECK(fabs(rest[0][1] - rest[1][0]) + fabs(rest[0][2] - rest[2][0]) +
                  fabs(rest[1][2] - rest[2][1]) <
              1e-11);
        CHECK(clv_matrix3_determinant(CLV_MATRIX3(q)) * clv_matrix_determinant(CLV_MATRIX(a)) > 0);
    }

    CHECK_CASE("LPS and back is nothing, and a shift along R changes sign");
    clv_matrix_flip_lps(m, a);
    CHECK(a[0][3] == -5 && a[1][3] == 7 && a[2][3] == 11 && a[0][1] == 0.3 && a[0][2] == 0.1 &&
          a[2][1] == 0.6);
    clv_matrix_flip_lps(CLV_MATRIX(a), a);
    CHECK(farthest(CLV_MATRIX(a), m) == 0);

    CHECK_CASE("3x3 products and inverses");
    const double t[3][3] = {{2, 1, 0}, {0, 1, 3}, {1, 0, 1}};
    CHECK(clv_matrix3_invert(t, q) == 0);
    clv_matrix3_multiply(t, CLV_MATRIX3(q), p);
    for (int i = 0; i < 9; i++)
        CHECK(fabs((&p[0][0])[i] - (i % 4 == 0)) < 1e-15);

    CHECK_CASE("grids are equal up to a hundredth of a voxel at their corners");
    clvox_grid g = {{100, 90, 80}, {{0}}}, h;
    clv_matrix_copy(m, g.to_ras);
    h = g;
    CHECK(clvox_grid_equal(&g, &h));
    h.to_ras[0][3] += 0.005;
    CHECK(clvox_grid_equal(&g, &h));
    h.to_ras[0][3] += 0.1;
    CHECK(!clvox_grid_equal(&g, &h));
    h = g;
    h.to_ras[1][0] += 0.001;
    CHECK(!clvox_grid_equal(&g, &h));
    h = g;
    h.size[1]++;
    CHECK(!clvox_grid_equal(&g, &h));
    h = g;
    memset(h.to_ras, 0, sizeof h.to_ras);
    CHECK(!clvox_grid_equal(&h, &g));
    double spacing[3];
    clvox_grid_spacing(&g, spacing);
    CHECK(fabs(spacing[0] - sqrt(1.44 + 0.04 + 0.0025)) < 1e-15);

    CHECK_CASE("volumes that no memory holds, and no voxels, are refused");
    clvox_volume *v;
    clv_matrix_identity(g.to_ras);
    CHECK(clvox_volume_create(&g, 2, CLVOX_KIND_SCALAR, &v) == 0 && v && v->data[100 * 90 * 80 * 2 - 1] == 0);
    clvox_volume_destroy(&v);
    CHECK(!v);
    clvox_volume_destroy(&v);
    g.size[0] = g.size[1] = g.size[2] = 2147483647;
    CHECK(clvox_volume_create(&g, 1, CLVOX_KIND_SCALAR, &v) == CLVOX_ERROR_MEMORY && !v);
    g.size[1] = g.size[2] = 1;
    CHECK(clvox_volume_create(&g, 0, CLVOX_KIND_SCALAR, &v) == CLVOX_ERROR_ARGUMENT);
    g.size[0] = 0;
    CHECK(clvox_volume_create(&g, 1, CLVOX_KIND_SCALAR, &v) == CLVOX_ERROR_ARGUMENT);
    g.size[0] = 1;
    g.to_ras[0][0] = 0;
    CHECK(clvox_volume_create(&g, 1, CLVOX_KIND_SCALAR, &v) == CLVOX_ERROR_ARGUMENT);
    return check_end();
}
