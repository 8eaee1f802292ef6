/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_MATCH_LNCC_H
#define CLV_OP_MATCH_LNCC_H

#include "op/match/metric.h"

extern const clv_entry clv_entry_lncc_terms, clv_entry_lncc_derivative, clv_entry_lncc_total;
/* For radii 3 to 7. */
extern const clv_entry clv_entry_lncc_wide_terms, clv_entry_lncc_wide_derivative;
/* Above: along x from the images and from the terms, and along y, or along both at once, and along
 * z to the terms and to the derivatives. */
extern const clv_entry clv_entry_lncc_box_x, clv_entry_lncc_box_x_terms, clv_entry_lncc_box_y,
    clv_entry_lncc_box_xy, clv_entry_lncc_box_xy_terms, clv_entry_lncc_box_terms,
    clv_entry_lncc_box_derivative;

/* Squared correlation of two images in windows, and its derivatives.
 *   cc(x) = (c + e)^2 / ((vF + e) (vM + e)),   S = sum over valid x of cc(x),
 * c, vF, vM: covariance and variances (divided by the number of voxels) over
 * the valid voxels of the window of 2 radius + 1 voxels along each axis around
 * x, clipped at the borders. A voxel is valid where both images are finite: a
 * mask is NaN outside. Both images have been scaled to about [0, 1]. e stands for
 * noise of that variance which both share: where there is nothing else cc is 1,
 * and equal images have derivative 0 everywhere.
 * True gradient (local false), for every valid y, with a = 2 (c + e) / (n DF DM),
 * b = 2 (c + e)^2 / (n DF DM^2), DF = vF + e, DM = vM + e, n the voxels of the window:
 *   dS/dM(y) = F(y) W[a](y) - M(y) W[b](y) - W[a mF - b mM](y),
 * W the sum over the windows that hold y, mF, mM the windows' means. dS/dF is
 * the same with the images exchanged.
 * Local approximation (local true): only the window around y itself counts,
 * n (a (F(y) - mF) - b (M(y) - mM)) at x = y: n times what the true
 * gradient of cc(y) alone has at y, so that both have one scale.
 * Where a voxel is not valid the derivatives are 0.
 * The sums are in fixed order. The radius is 1 to 64. */
int clv_lncc(clvox_context *ctx, const clv_metric_args *args);

enum { CLV_LNCC_PARTIALS = 8192 };

/* Floats that scratch holds for such a call. Up to radius 7: 3 n, with derivative_fixed
 * 5 n, local 0. Above, where sums along each axis are stored: 9 n, 11 n, 7 n. */
size_t clv_lncc_scratch(const int size[3], int radius, bool local, bool both);

#endif
