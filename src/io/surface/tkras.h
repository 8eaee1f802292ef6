/* SPDX-License-Identifier: Apache-2.0 */
/* FreeSurfer's tkRAS: millimetres about the middle of a volume, along axes that are named so whatever they point to. */
#ifndef CLV_IO_SURFACE_TKRAS_H
#define CLV_IO_SURFACE_TKRAS_H

#include "clvox/volume.h"

/* tkRAS -> RAS: axes holds the directions of the volume's columns, rows and slices, centre its middle (voxel
 * size / 2 counted from 0). */
void clv_tkras(const double axes[3][3], const double centre[3], double out[4][4]);
/* The same of a grid. */
void clv_tkras_of(const clvox_grid *grid, double out[4][4]);

#endif
