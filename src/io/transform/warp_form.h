/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_IO_TRANSFORM_WARP_FORM_H
#define CLV_IO_TRANSFORM_WARP_FORM_H

#include "clvox/volume.h"

/* Voxel -> FSL's scaled millimetres: the index times the edge, with x counted
 * from the other end where the voxel axes are right-handed. */
void clv_fsl_frame(const clvox_grid *grid, double out[4][4]);

#endif
