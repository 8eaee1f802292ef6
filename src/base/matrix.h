/* SPDX-License-Identifier: Apache-2.0 */
/* Affine maps as 4x4 matrices of doubles whose last row is 0 0 0 1, and their
 * 3x3 parts. Outputs may be the inputs. */
#ifndef CLV_BASE_MATRIX_H
#define CLV_BASE_MATRIX_H

/* C11 does not convert double[4][4] to const double[4][4] by itself, nor the others. */
#define CLV_MATRIX(m) ((const double(*)[4])(m))
#define CLV_MATRIX3(m) ((const double(*)[3])(m))
#define CLV_MATRIX3F(m) ((const float(*)[3])(m))

void clv_matrix_identity(double out[4][4]);
void clv_matrix_copy(const double m[4][4], double out[4][4]);
/* out = a b. */
void clv_matrix_multiply(const double a[4][4], const double b[4][4], double out[4][4]);
/* y = m x, for points. */
void clv_matrix_apply(const double m[4][4], const double x[3], double y[3]);
/* Determinant of the upper left 3x3 part. */
double clv_matrix_determinant(const double m[4][4]);
/* 1 when every entry is finite and the 3x3 part is not singular, judged
 * against the lengths of its columns, so that no unit of length matters. */
int clv_matrix_regular(const double m[4][4]);
/* The inverse of a regular matrix; CLVOX_ERROR_DATA otherwise. */
int clv_matrix_invert(const double m[4][4], double out[4][4]);
/* The orthogonal factor Q of the polar decomposition m = Q S of the 3x3 part:
 * the nearest orthogonal matrix, of the same handedness as m.
 * CLVOX_ERROR_DATA for a singular m. */
int clv_matrix_rotation(const double m[4][4], double out[3][3]);
/* The principal logarithm of an affine; 0 where it has none (it mirrors, or rotates by 180 degrees). */
int clv_matrix_log(const double m[4][4], double out[4][4]);
/* exp(m); m has a last row of 0. */
void clv_matrix_exp(const double m[4][4], double out[4][4]);

/* m with x and y negated on both sides: the same map in LPS instead of RAS
 * coordinates, and back. */
void clv_matrix_flip_lps(const double m[4][4], double out[4][4]);

/* a x b; out is neither. */
void clv_cross(const double a[3], const double b[3], double out[3]);
double clv_matrix3_determinant(const double m[3][3]);
void clv_matrix3_multiply(const double a[3][3], const double b[3][3], double out[3][3]);
/* CLVOX_ERROR_DATA when m is singular. */
int clv_matrix3_invert(const double m[3][3], double out[3][3]);

#endif
