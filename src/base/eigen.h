/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_BASE_EIGEN_H
#define CLV_BASE_EIGEN_H

/* Eigenvalues (ascending) and orthonormal eigenvectors (columns of vectors,
 * determinant +1) of a symmetric 3x3 matrix, by Jacobi rotations. */
void clv_eigen_symmetric(const double matrix[3][3], double values[3], double vectors[3][3]);

#endif
