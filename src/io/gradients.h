/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_IO_GRADIENTS_H
#define CLV_IO_GRADIENTS_H

#include "clvox/volume.h"

/* The orthogonal matrix from the axes of FSL's bvecs to
 * RAS: the directions of grid's axes (for a sheared grid the nearest that are
 * perpendicular), the first turned round where grid's determinant is positive.
 * So its own determinant is always negative. CLVOX_ERROR_DATA for a grid that
 * has no inverse. */
int clv_bvec_to_ras(const clvox_grid *grid, double out[3][3]);

#endif
