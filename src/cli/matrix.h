/* SPDX-License-Identifier: Apache-2.0 */
/* Computing with affine maps, 4x4 matrices whose last row is 0 0 0 1. */
#ifndef CLI_MATRIX_H
#define CLI_MATRIX_H

/* C11 does not convert double[4][4] to const double[4][4] by itself. */
#define CLI_MATRIX(m) ((const double(*)[4])(m))

/* y = m x, for points; y may be x. */
static inline void cli_matrix_apply(const double m[4][4], const double x[3], double y[3])
{
    const double p[3] = {x[0], x[1], x[2]};
    for (int i = 0; i < 3; i++)
        y[i] = m[i][0] * p[0] + m[i][1] * p[1] + m[i][2] * p[2] + m[i][3];
}

/* Determinant of the upper left 3x3 part. */
static inline double cli_matrix_determinant(const double m[4][4])
{
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
           m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

#endif
