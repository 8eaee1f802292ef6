/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_ATLAS_BOX_H
#define CLV_ATLAS_BOX_H

#include "clvox/volume.h"

/* The first and last voxel of the box around what stands out of the background in an image, and inside
 * the mask (may be NULL). */
int clv_atlas_find_box(const clvox_volume *image, const clvox_volume *mask, int box[2][3]);

#endif
