/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_IMAGE_NOISE_H
#define CLV_IMAGE_NOISE_H

#include <stdbool.h>

#include "base/options.h"
#include "clvox/filter.h"

/* The first rows of a filter's options: `noise` (clvox_noise) and `sigma` of its struct. */
extern const char *const clv_noise_words[];
#define CLV_NOISE_ROWS(values)                                                              \
    {.name = "noise-kind",                                                                  \
     .type = CLVOX_OPTION_CHOICE,                                                           \
     CLV_FIELD(values, noise),                                                              \
     .words = clv_noise_words,                                                              \
     .help = "rician: magnitude images (auto: where no value is negative)"},                \
    {.name = "noise",                                                                       \
     .type = CLVOX_OPTION_NUMBER,                                                           \
     CLV_FIELD(values, sigma),                                                              \
     .open = CLV_OPTION_ABOVE,                                                              \
     .unset = true,                                                                         \
     .automatic = "auto",                                                                   \
     .argument = "SD|auto",                                                                 \
     .help = "standard deviation of the noise; by default measured in each frame"}

/* Whether a volume is to be taken for a magnitude image. */
bool clv_noise_rician(clvox_noise kind, const clvox_volume *volume);

/* Refuses what no noise filter takes: labels, a mask on another grid, options out of range, grids too large. */
int clv_noise_check(const clvox_volume *volume, const clvox_volume *mask, const clv_option_table *table,
                    const void *options);

/* The standard deviation of the noise of an image that neighbours do not share: the
 * median absolute mixed difference along all axes (that of Haar's finest diagonal
 * band, after Coupe et al. 2010), which smooth shading and straight edges along an
 * axis do not enter, of places where the other bands tell of noise alone. rough (NULL:
 * not wanted): that of all places, by what voxels of one tissue differ, fine anatomy
 * included. rician: of a magnitude image, whose noise is narrower where the signal is
 * low (Koay and Basser 2006). mask may be NULL; places that are constant do not count.
 * CLVOX_ERROR_DATA where there is no noise, or no place to look. */
int clv_image_noise(const float *values, const int size[3], const float *mask, bool rician, double *sigma,
                    double *rough);

/* The same around each voxel: in boxes of about 12^3 (41^2, 1728) voxels, evened out with those next to them
 * and interpolated. sigma: one for each voxel; above 0. */
int clv_image_noise_map(const float *values, const int size[3], const float *mask, bool rician, float *sigma);

/* By what voxels of one tissue differ over the noise of each voxel, fine anatomy included: clv_image_noise's
 * rough for noise that varies; 1 where there is nothing to measure. */
int clv_image_texture(const float *values, const int size[3], const float *mask, bool rician,
                      const float *sigma, double *ratio);

/* Noise of an image. */
typedef struct clv_noise_found {
    bool varies;
    double sigma;   /* where it varies, the root of its mean square */
    double texture; /* what neighbours differ by over it */
} clv_noise_found;

/* clv_image_noise and, where neighbours differ by much more than quiet places, whether they differ by no more
 * than the noise around them, which then varies: map (one for each voxel) is clv_image_noise_map's where it
 * does, and nothing else. Elsewhere there is much anatomy. */
int clv_image_noise_find(const float *values, const int size[3], const float *mask, bool rician, float *map,
                         clv_noise_found *found);

/* Mean and standard deviation of magnitude images with noise 1, at signals from 0 to 6. */
enum { CLV_MAGNITUDES = 64 };
typedef struct clv_magnitudes {
    double mean[CLV_MAGNITUDES], deviation[CLV_MAGNITUDES];
} clv_magnitudes;

void clv_magnitudes_make(clv_magnitudes *m);
/* The standard deviation, and the signal, where the mean is `mean`; up to the mean of noise alone the
 * signal is 0. */
double clv_magnitudes_deviation(const clv_magnitudes *m, double mean);
double clv_magnitudes_signal(const clv_magnitudes *m, double mean);

#endif
