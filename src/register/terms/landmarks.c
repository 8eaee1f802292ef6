/* SPDX-License-Identifier: Apache-2.0 */
/* Landmarks: the linear map that they ask for, and what they say about a result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/eigen.h"
#include "base/matrix.h"
#include "base/status.h"
#include "clvox/registration.h"

static void distances(const double *a, const double *b, int n, double *mean, double *largest, double *square)
{
    *mean = *largest = *square = 0;
    for (int i = 0; i < 3 * n; i += 3) {
        double d = hypot(hypot(a[i] - b[i], a[i + 1] - b[i + 1]), a[i + 2] - b[i + 2]);
        *mean += d / n;
        *square += d * d / n;
        *largest = fmax(*largest, d);
    }
}

int clvox_register_landmarks(const clvox_register_result *result, const double *fixed, const double *moving,
                             int n, clvox_landmark_errors *out)
{
    CLV_GIVEN(result, fixed, moving, out);
    int status = CLVOX_OK;
    clvox_transform warp = {.is_warp = 1, .warp = result->warp}, affine = {.is_warp = 0};
    const clvox_link links[] = {{&warp, 0}, {&affine, 0}};
    double *moved = NULL;
    if (n < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there are no landmarks");
    const size_t bytes = (size_t)n * 3 * sizeof *moved;
    moved = malloc(bytes);
    if (!moved)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for landmarks");
    clv_matrix_copy(CLV_MATRIX(result->matrix), affine.matrix);
    distances(fixed, moving, n, &out->mean_before, &out->largest_before, &out->square_before);
    memcpy(moved, fixed, bytes);
    CLV_TRY(clvox_apply_points(links + 1, 1, moved, n));
    distances(moved, moving, n, &out->mean_linear, &out->largest_linear, &out->square_linear);
    out->mean_after = out->mean_linear;
    out->largest_after = out->largest_linear;
    out->square_after = out->square_linear;
    if (result->warp) {
        memcpy(moved, fixed, bytes);
        CLV_TRY(clvox_apply_points(links, 2, moved, n));
        distances(moved, moving, n, &out->mean_after, &out->largest_after, &out->square_after);
    }
end:
    free(moved);
    return status;
}

/* ---- the linear map ------------------------------------------------------ */

/* Squares of spreads across, as shares of that along: points on a line, and in a plane. The first is a
 * product of those of both images. */
static const double STRAIGHT = 1e-12, FLAT = 1e-8;

/* Means, and sums of products of what is left: [a][b] of coordinate a of the first by b of the second. */
static void moments(const double *first, const double *second, int n, double mean[2][3], double product[3][3])
{
    memset(mean, 0, 6 * sizeof(double));
    memset(product, 0, 9 * sizeof(double));
    for (int i = 0; i < n; i++)
        for (int a = 0; a < 3; a++) {
            mean[0][a] += first[3 * i + a] / n;
            mean[1][a] += second[3 * i + a] / n;
        }
    for (int i = 0; i < n; i++)
        for (int a = 0; a < 9; a++)
            product[a / 3][a % 3] +=
                (first[3 * i + a / 3] - mean[0][a / 3]) * (second[3 * i + a % 3] - mean[1][a % 3]);
}

/* The rotation R with the largest trace of R^T h, h of rank 2 or 3: its two largest singular pairs u, v go onto
 * each other, and the third direction, whose sign noise may have reversed, is what they leave. */
static bool best_rotation(const double h[3][3], double rotation[3][3])
{
    double square[3][3] = {{0}}, values[3], vectors[3][3], u[3][3], v[3][3];
    for (int i = 0; i < 27; i++)
        square[i / 9][i / 3 % 3] += h[i % 3][i / 9] * h[i % 3][i / 3 % 3];
    clv_eigen_symmetric(CLV_MATRIX3(square), values, vectors);
    if (!(values[1] > STRAIGHT * values[2]) || !(values[2] > 0))
        return false;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++) {
            v[k][i] = vectors[i][2 - k];
            u[k][i] = 0;
            for (int j = 0; j < 3; j++)
                u[k][i] += h[i][j] * vectors[j][2 - k] / sqrt(values[2 - k]);
        }
    clv_cross(u[0], u[1], u[2]);
    clv_cross(v[0], v[1], v[2]);
    for (int i = 0; i < 9; i++)
        rotation[i / 3][i % 3] =
            u[0][i / 3] * v[0][i % 3] + u[1][i / 3] * v[1][i % 3] + u[2][i / 3] * v[2][i % 3];
    return true;
}

static int fit_affine(const double *fixed, int n, const double moving_by_fixed[3][3], double linear[3][3])
{
    double mean[2][3], square[3][3], values[3], vectors[3][3], inverse[3][3];
    moments(fixed, fixed, n, mean, square);
    clv_eigen_symmetric(CLV_MATRIX3(square), values, vectors);
    if (!(values[0] > FLAT * values[2]) || clv_matrix3_invert(CLV_MATRIX3(square), inverse) < 0)
        return clvox_fail(CLVOX_ERROR_DATA, "the landmarks lie in a plane: an affine needs four that do not");
    clv_matrix3_multiply(moving_by_fixed, CLV_MATRIX3(inverse), linear);
    if (!(clv_matrix3_determinant(CLV_MATRIX3(linear)) > 0))
        return clvox_fail(CLVOX_ERROR_DATA,
                          "the landmarks mirror the images, or flatten the moving one: check their order");
    return CLVOX_OK;
}

int clvox_landmarks_fit(const double *fixed, const double *moving, int n, clvox_linear kind,
                        double matrix[4][4])
{
    CLV_GIVEN(fixed, moving, matrix);
    int status = CLVOX_OK;
    double mean[2][3], product[3][3], linear[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const int least = kind == CLVOX_LINEAR_TRANSLATION ? 1 : kind == CLVOX_LINEAR_AFFINE ? 4 : 3;
    if (n < least)
        return clvox_fail(CLVOX_ERROR_DATA, "%d landmarks; this linear transform needs %d", n, least);
    moments(moving, fixed, n, mean, product);
    if (kind == CLVOX_LINEAR_AFFINE) {
        CLV_TRY(fit_affine(fixed, n, CLV_MATRIX3(product), linear));
    } else if (kind != CLVOX_LINEAR_TRANSLATION) {
        if (!best_rotation(CLV_MATRIX3(product), linear))
            return clvox_fail(CLVOX_ERROR_DATA,
                              "the landmarks lie on a line: a rotation needs three that do not");
        if (kind == CLVOX_LINEAR_SIMILARITY || kind == CLVOX_LINEAR_SCALES) {
            double spread[2] = {0, 0};
            for (int i = 0; i < 3 * n; i++) {
                spread[0] += (moving[i] - mean[0][i % 3]) * (moving[i] - mean[0][i % 3]);
                spread[1] += (fixed[i] - mean[1][i % 3]) * (fixed[i] - mean[1][i % 3]);
            }
            for (int i = 0; i < 9; i++)
                linear[i / 3][i % 3] *= sqrt(spread[0] / spread[1]);
        }
    }
    clv_matrix_identity(matrix);
    for (int i = 0; i < 3; i++) {
        matrix[i][3] = mean[0][i];
        for (int j = 0; j < 3; j++) {
            matrix[i][j] = linear[i][j];
            matrix[i][3] -= linear[i][j] * mean[1][j];
        }
    }
end:
    return status;
}
