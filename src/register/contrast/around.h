/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbourhood of each voxel in a few small numbers, from which trees.h learns. */
#ifndef CLV_REGISTER_CONTRAST_AROUND_H
#define CLV_REGISTER_CONTRAST_AROUND_H

#include "clvox/volume.h"
#include "op/field/warp.h"
#include "register/contrast/trees.h"

typedef struct clv_around {
    uint32_t *row; /* of a voxel; CLV_NO_ROW where nothing varies around it */
    size_t rows;
    uint8_t *bins; /* [row][CLV_TREE_FEATURES] */
} clv_around;

#define CLV_NO_ROW UINT32_MAX

/* Features of an image of such a range, on the device and as values: its deviations within 6, 3 and 1.5 mm
 * (Gaussians), its means within these and 12 mm, its value, another number of each voxel, and where the voxel lies
 * on the grid; each in bins that about as many voxels share. Voxels around which it varies by less than 3% of the
 * range have no row. scratch: as large as the image, overwritten. To be freed by clv_around_free, also after a
 * failure. */
int clv_around_make(clvox_context *ctx, const clvox_grid *grid, const clv_buffer *image, const float *values,
                    double range, const float *another, clv_buffer *const scratch[3], clv_around *around);
void clv_around_free(clv_around *around);

#endif
