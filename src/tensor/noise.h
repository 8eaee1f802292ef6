/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a tensor is noise, and what total variation makes of that. */
#ifndef CLV_TENSOR_NOISE_H
#define CLV_TENSOR_NOISE_H

#include "clvox/volume.h"

/* sigma: the median inside (> 0) of a map of the noise of a tensor's components
 * (those beside the diagonal times sqrt 2), in its unit; relative: that of the
 * noise over the mean diffusivity. CLVOX_ERROR_DATA where the map says 0. */
int clv_tensor_noise_read(const clvox_volume *tensor, const clvox_volume *noise, const float *inside,
                          double *sigma, double *relative);

/* The same without a map: from the lower quartile, over voxels with six
 * neighbours (two along each axis that the grid has), of |D - their mean|_F. The
 * flattest quarter holds the least anatomy, yet some. */
int clv_tensor_noise_guess(const clvox_volume *tensor, const float *inside, double *sigma, double *relative);

/* How much neighbours inside differ, over what the noise of both makes of equal
 * tensors: the median over pairs along the axes. 1: noise alone; 3 to 5 in a brain's
 * scan of 20 directions. 1 where no pair is inside. noise: the map, or NULL for sigma
 * everywhere. */
int clv_tensor_structure(const clvox_volume *tensor, const clvox_volume *noise, double sigma,
                         const float *inside, double *structure);

/* lambda for that many Bregman iterations, or for rounds of reweighting, sigma in
 * the unit of 1 / lambda, relative the noise over the mean diffusivity. */
double clv_tensor_lambda(double sigma, double relative, double structure, int bregman, int reweight);

#endif
