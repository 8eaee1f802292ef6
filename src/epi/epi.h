/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_EPI_H
#define CLV_EPI_H

#include "clvox/epi.h"
#include "op/image.h"

/* Images that are wrong by themselves, and of two or more, together (correct.c). */
int clv_epi_check(const clvox_epi_image *images, int count);

/* By how many voxels a Hz shifts an image. */
static inline double clv_epi_shift(const clvox_epi_image *image)
{
    return image->encoding.seconds;
}

/* Fills the result from its field, images and matrices: warp, corrected image and pile-up (correct.c). */
int clv_epi_correct(clvox_context *ctx, const clvox_epi_image *images, int count, clvox_epi_result *result);

/* Derivative of a volume along an axis of its grid, per voxel: the central difference of cl/epi/blip.cl. */
float clv_epi_rise(const clvox_volume *field, int axis, size_t voxel);

/* The values above the mean of all are the head: their mean; 0: there are none. */
double clv_epi_head(const clvox_volume *image);

/* Motion of image `moving`, which lies corrected in the first image's frame: a rigid step, RAS mm, that
 * brings it nearer to `fixed`, of which shifts along the axis (-1: none) are left to the field. Both lie on
 * grid; maps holds the identity, 12 floats, scratch is as clv_affine_sums takes it (motion.c). */
typedef struct clv_epi_motion {
    const clv_buffer *fixed, *moving;
    const clvox_grid *grid;
    int axis;
    clv_buffer *maps, *partial, *sums;
} clv_epi_motion;
int clv_epi_motion_step(clvox_context *ctx, const clv_epi_motion *motion, double step[4][4]);
size_t clv_epi_motion_partials(const clvox_grid *grid);

#endif
