/* SPDX-License-Identifier: Apache-2.0 */
/* How the values of an image on the device are distributed, and what is read off. */
#ifndef CLV_IMAGE_DISTRIBUTION_H
#define CLV_IMAGE_DISTRIBUTION_H

#include "op/image.h"

enum { CLV_DISTRIBUTION_BINS = 1024 };

typedef struct clv_distribution {
    double low, high; /* edges of the histogram; equal where all values are one */
    int32_t counts[CLV_DISTRIBUTION_BINS];
    double total; /* 0: there are no values */
} clv_distribution;

/* Distribution of the values of image whose weight (NULL: 1) is above 0. partial as clv_reduce takes it; state: two
 * floats from slot on are overwritten. Blocking. */
int clv_distribution_measure(clvox_context *ctx, const clv_image *image, const clv_buffer *weight,
                             clv_buffer *partial, clv_buffer *state, int slot, clv_distribution *d);

/* The value below which a share q lies. */
double clv_distribution_quantile(const clv_distribution *d, double q);

/* Otsu's threshold between background and tissue, over the values up to the
 * 99.5 % quantile so that a few bright voxels do not decide. */
double clv_distribution_otsu(const clv_distribution *d);

#endif
