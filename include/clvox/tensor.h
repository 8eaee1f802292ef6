/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_TENSOR_H
#define CLVOX_TENSOR_H

#include "clvox/device.h"
#include "clvox/volume.h"

/* Diffusion tensors are volumes of 6 frames, Dxx Dxy Dxz Dyy Dyz Dzz in RAS,
 * mm^2/s (CLVOX_KIND_TENSOR). */

/* How a scan weighted diffusion: for each volume b in s/mm^2 and a direction,
 * a unit vector in RAS (0 0 0 where b means none). */
typedef struct clvox_gradients {
    int count;
    double *b;
    double (*direction)[3];
} clvox_gradients;

/* Releases the table and sets *gradients to NULL. NULL is legal. */
CLVOX_API void clvox_gradients_destroy(clvox_gradients **gradients);

/* Reads FSL's pair of files: bval one row of numbers, bvec three rows (or three
 * columns, said by their counts) in the axes of grid's voxels, x turned round
 * where grid's determinant is positive, as FSL does. Directions that are not of
 * unit length are made so; the b-value stays. grid: of the DWI; volumes: its
 * frames, which both files must have. Errors name the file and the line. */
CLVOX_API int clvox_gradients_read_fsl(const char *bval, const char *bvec, const clvox_grid *grid,
                                       int volumes, clvox_gradients **out);

/* Reads MRtrix's table: a line x y z b for each volume, x y z in RAS. */
CLVOX_API int clvox_gradients_read_mrtrix(const char *path, int volumes, clvox_gradients **out);

#endif
