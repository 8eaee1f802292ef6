/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_TRANSFORM_REORIENT_H
#define CLV_TRANSFORM_REORIENT_H

#include "clvox/apply.h"
#include "clvox/volume.h"

/* Reorients the vectors (3 frames) or tensors (6 frames, upper triangle row by
 * row, RAS) of an image that was resampled through the pull-back
 * T(x) = matrix (x + u(x)), in place. What moved from T(x) to x did so by the
 * inverse of T, whose local linear part is F = J^-1, J = DT(x).
 * FINITE_STRAIN: R is the rotation of F: with the polar decomposition J = Q S it
 * is Q^T. PRINCIPAL (Alexander et al. 2001), of a tensor's eigenvectors e1, e2, e3:
 * R takes e1 to n1 = F e1 / |F e1|, e2 to what is perpendicular to n1 of F e2, e3 to
 * n1 x n2; of a vector v: R v = |v| F v / |F v|. Vectors become R v, tensors
 * R D R^T: eigenvalues and lengths stay. AUTO is PRINCIPAL for tensors, FINITE_STRAIN
 * for vectors. J by central differences (one-sided at the borders); where J is
 * singular or not finite, it is that of matrix alone. u (RAS mm on image's grid)
 * may be NULL. */
int clv_reorient(clvox_volume *image, const clvox_volume *u, const double matrix[4][4],
                 clvox_reorientation how);

#endif
