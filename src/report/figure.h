/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures by which a person judges a result at a glance. Host only. */
#ifndef CLV_REPORT_FIGURE_H
#define CLV_REPORT_FIGURE_H

#include "clvox/volume.h"
#include "report/raster.h"

/* A registration: three planes (axial, coronal, sagittal, as far as fixed's
 * grid is aligned with them) through the centre of the mask, or of the head;
 * columns: fixed, moving after warping, the contours of the labels on fixed (of
 * the warped image's edges where labels is NULL), both images as a
 * checkerboard, and the log-Jacobian (left out where NULL) with a colour bar.
 * Proportions are millimetres; the patient's left is on the right.
 * Volumes may lie on any grid; labels, log_jacobian and mask (fixed's brain)
 * may be NULL; of several frames the first is shown.
 * On success the caller releases *out with clv_raster_free. Errors:
 * CLVOX_ERROR_MEMORY, CLVOX_ERROR_DATA (a grid that has no inverse). */
int clv_figure_registration(const clvox_volume *fixed, const clvox_volume *warped,
                            const clvox_volume *labels, const clvox_volume *log_jacobian,
                            const clvox_volume *mask, clv_raster *out);

/* The grid's index of each plane that it cuts fixed at, along the three axes. */
int clv_figure_planes(const clvox_volume *fixed, const clvox_volume *mask, int at[3]);

#endif
