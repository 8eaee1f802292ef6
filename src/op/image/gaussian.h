/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_GAUSSIAN_H
#define CLV_OP_IMAGE_GAUSSIAN_H

#include "op/image.h"

typedef enum clv_gaussian_method {
    CLV_GAUSSIAN_AUTO,      /* by sigma and device, as measured; clv_smooth where it takes sigma */
    CLV_GAUSSIAN_FINITE,    /* the same, bit for bit, of finite values: by few kernels */
    CLV_GAUSSIAN_SEPARABLE, /* sampled kernel cut at 3 sigma (at least 1 voxel), normalised */
    CLV_GAUSSIAN_RECURSIVE  /* 4th-order Deriche, with the right border values */
} clv_gaussian_method;

/* Largest radius of the separable form, in voxels; wider axes are filtered recursively whatever the method. */
enum { CLV_GAUSSIAN_MAX_RADIUS = 64 };

/* out = G_sigma * in along each axis in turn; sigma in voxels, 0 leaves an
 * axis alone. in is a scalar or a vector field, and so is out. Border: the
 * edge value is repeated. in, out and tmp (as large as in) are distinct;
 * in is kept. NaN reaches as far as the radius; the recursion spreads it over
 * its line, so take NaN out first where a filter may be wide. */
int clv_gaussian(clvox_context *ctx, const clv_image *in, const float sigma[3], clv_gaussian_method method,
                 clv_buffer *tmp, clv_buffer *out);

/* The sampled kernel: its radius for a width above 0, and its radius + 1
 * weights, centre first. */
int clv_gaussian_radius(float sigma);
void clv_gaussian_weights(float sigma, float weights[CLV_GAUSSIAN_MAX_RADIUS + 1]);

extern const clv_entry clv_entry_gaussian_x;    /* pass along x */
extern const clv_entry clv_entry_gaussian_axis; /* pass along y or z */
extern const clv_entry clv_entry_gaussian_xy;   /* pass along x and y at once, CPU devices */

#endif
