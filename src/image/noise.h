/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_IMAGE_NOISE_H
#define CLV_IMAGE_NOISE_H

#include <stdbool.h>

/* The standard deviation of the noise of an image that neighbours do not share: the
 * median absolute mixed difference along all axes (that of Haar's finest diagonal
 * band, after Coupe et al. 2010), which smooth shading and straight edges along an
 * axis do not enter. rician: of a magnitude image, whose noise is narrower where the
 * signal is low (Koay and Basser 2006). mask may be NULL; places that are constant
 * do not count. CLVOX_ERROR_DATA where there is no noise, or no place to look. */
int clv_image_noise(const float *values, const int size[3], const float *mask, bool rician, double *sigma);

#endif
