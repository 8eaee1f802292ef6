/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures by which a person judges a result at a glance. */
#ifndef CLVOX_FIGURE_H
#define CLVOX_FIGURE_H

#include "clvox/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A registration, as a PNG file: three planes (axial, coronal, sagittal) through the centre of the mask, or
 * of the head; columns: fixed, moving after warping, the contours of the labels on fixed (of the warped
 * image's edges where labels is NULL), both images as a checkerboard, and the log-Jacobian (left out where
 * NULL) with a colour bar. Proportions are millimetres; the patient's left is on the right, however the
 * voxels are stored. Volumes may lie on any grid; labels, log_jacobian and mask (fixed's brain) may be NULL;
 * of several frames the first is shown. The file is whole or untouched. CLVOX_ERROR_FILE, CLVOX_ERROR_MEMORY,
 * CLVOX_ERROR_DATA for a grid that has no inverse. */
CLVOX_API int clvox_figure_registration(const clvox_volume *fixed, const clvox_volume *warped,
                                        const clvox_volume *labels, const clvox_volume *log_jacobian,
                                        const clvox_volume *mask, const char *path);

/* Cutting planes of fixed: the voxel of each plane along the grid's three axes, so that no more than what is shown
 * need be computed (clvox_jacobian_planes). */
CLVOX_API int clvox_figure_planes(const clvox_volume *fixed, const clvox_volume *mask, int at[3]);

#ifdef __cplusplus
}
#endif

#endif
