/* SPDX-License-Identifier: Apache-2.0 */
#include "base/matrix.h"

#include <math.h>
#include <string.h>

#include "base/status.h"

void clv_matrix_identity(double out[4][4])
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            out[i][j] = i == j;
}

void clv_matrix_copy(const double m[4][4], double out[4][4])
{
    memmove(out, m, 16 * sizeof(double));
}

void clv_matrix_multiply(const double a[4][4], const double b[4][4], double out[4][4])
{
    double product[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            product[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j] + a[i][3] * b[3][j];
    memcpy(out, product, sizeof product);
}

void clv_matrix_apply(const double m[4][4], const double x[3], double y[3])
{
    double p[3] = {x[0], x[1], x[2]};
    for (int i = 0; i < 3; i++)
        y[i] = m[i][0] * p[0] + m[i][1] * p[1] + m[i][2] * p[2] + m[i][3];
}

static void part3(const double m[4][4], double out[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[i][j] = m[i][j];
}

double clv_matrix3_determinant(const double m[3][3])
{
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
           m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

double clv_matrix_determinant(const double m[4][4])
{
    double a[3][3];
    part3(m, a);
    return clv_matrix3_determinant(CLV_MATRIX3(a));
}

static int regular3(const double m[3][3])
{
    double volume = 1;
    for (int j = 0; j < 3; j++) {
        double norm = sqrt(m[0][j] * m[0][j] + m[1][j] * m[1][j] + m[2][j] * m[2][j]);
        if (!isfinite(norm) || !(norm > 0))
            return 0;
        volume *= norm;
    }
    /* volume underflows or overflows only for lengths that no grid has. */
    return isfinite(volume) && fabs(clv_matrix3_determinant(m)) > 1e-7 * volume;
}

int clv_matrix_regular(const double m[4][4])
{
    for (int i = 0; i < 3; i++)
        if (!isfinite(m[i][3]))
            return 0;
    double a[3][3];
    part3(m, a);
    return regular3(CLV_MATRIX3(a));
}

void clv_matrix3_multiply(const double a[3][3], const double b[3][3], double out[3][3])
{
    double product[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            product[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
    memcpy(out, product, sizeof product);
}

int clv_matrix3_invert(const double m[3][3], double out[3][3])
{
    if (!regular3(m))
        return clvox_fail(CLVOX_ERROR_DATA, "the matrix is singular, so it has no inverse");
    double inverse[3][3], scale = 1 / clv_matrix3_determinant(m);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
            inverse[i][j] = scale * (m[a][c] * m[b][d] - m[a][d] * m[b][c]);
        }
    memcpy(out, inverse, sizeof inverse);
    return CLVOX_OK;
}

int clv_matrix_invert(const double m[4][4], double out[4][4])
{
    double a[3][3], inverse[3][3], shift[3] = {m[0][3], m[1][3], m[2][3]};
    part3(m, a);
    int status = clv_matrix3_invert(CLV_MATRIX3(a), inverse);
    if (status < 0)
        return status;
    clv_matrix_identity(out);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            out[i][j] = inverse[i][j];
        out[i][3] = -(inverse[i][0] * shift[0] + inverse[i][1] * shift[1] + inverse[i][2] * shift[2]);
    }
    return CLVOX_OK;
}

int clv_matrix_rotation(const double m[4][4], double out[3][3])
{
    double q[3][3], inverse[3][3];
    part3(m, q);
    /* Newton's iteration Q <- (g Q + Q^-T / g) / 2; g balances the two terms, so
     * that a few steps suffice whatever the unit of length. */
    for (int step = 0; step < 60; step++) {
        int status = clv_matrix3_invert(CLV_MATRIX3(q), inverse);
        if (status < 0)
            return status;
        double norm = 0, inverse_norm = 0, change = 0;
        for (int i = 0; i < 9; i++) {
            norm += (&q[0][0])[i] * (&q[0][0])[i];
            inverse_norm += (&inverse[0][0])[i] * (&inverse[0][0])[i];
        }
        double g = sqrt(sqrt(inverse_norm / norm));
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                double next = 0.5 * (g * q[i][j] + inverse[j][i] / g);
                change = fmax(change, fabs(next - q[i][j]));
                out[i][j] = next;
            }
        memcpy(q, out, sizeof q);
        if (change < 1e-15)
            break;
    }
    return CLVOX_OK;
}

void clv_matrix_flip_lps(const double m[4][4], double out[4][4])
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            /* A difference, so that 0 does not become -0. */
            out[i][j] = (i < 2) != (j < 2) ? 0 - m[i][j] : m[i][j];
}

void clv_cross(const double a[3], const double b[3], double out[3])
{
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = a[j] * b[k] - a[k] * b[j];
    }
}
