/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_PIPELINE_REORIENT_H
#define CLV_PIPELINE_REORIENT_H

#include "clvox/volume.h"

/* Turns the vectors (3 frames) or tensors (6 frames, upper triangle row by
 * row, RAS) of an image that was resampled through the pull-back
 * T(x) = matrix (x + u(x)), in place. Finite strain (Alexander et al. 2001):
 * what moved from T(x) to x did so by the inverse of T, whose local linear
 * part is J^-1, J = DT(x). With the polar decomposition J = Q S the rotation
 * of J^-1 is R = Q^T; vectors become R v, tensors R D R^T. J by central
 * differences (one-sided at the borders); where J is singular or not finite,
 * R is that of matrix alone. u (RAS mm on image's grid) may be NULL. */
int clv_reorient(clvox_volume *image, const clvox_volume *u, const double matrix[4][4]);

#endif
