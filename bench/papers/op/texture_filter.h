/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_TEXTURE_FILTER_H
#define CLV_OP_PAPERS_TEXTURE_FILTER_H

#include "op/image.h"

/* Mueller 2008, part 1: filters of each plane z of a volume that lies in textures, pass by pass; edge values
 * are repeated. The variants are arrays of 2-D images and 3-D images, read by the nearest texel or linearly,
 * and buffers, where there are no images. A GPU's linear reads know 256 places between two texels, by which a
 * Gaussian's values are off; Sobel's lie half-way. */
typedef struct clv_textures {
    clv_image in;
    int radius;           /* of the Gaussian */
    clv_buffer *weights;  /* and as a texture: */
    clv_buffer *kernel;
    clv_buffer *image;    /* the texture of in */
    clv_buffer *passed;   /* of what a pass has left */
    clv_buffer *room[2];  /* the caller's, as large as in */
} clv_textures;

/* Textures of in for the variants that are forced or planned now. sigma in voxels. On failure nothing is
 * held. */
int clv_textures_create(clvox_context *ctx, const clv_image *in, float sigma, clv_buffer *const room[2],
                        clv_textures *out);
void clv_textures_destroy(clv_textures *textures);

/* Along x, then along y. */
int clv_texture_gaussian(clvox_context *ctx, const clv_textures *textures, clv_buffer *out);
/* Three passes: both slopes by masks of 3 x 3, and their length. */
int clv_texture_sobel(clvox_context *ctx, const clv_textures *textures, clv_buffer *out);
/* g + (1 + alpha) (in - g) with the Gaussian g, a pass more. */
int clv_texture_unsharp(clvox_context *ctx, const clv_textures *textures, float alpha, clv_buffer *out);

extern const clv_entry clv_entry_texture_blur, clv_entry_texture_mask, clv_entry_texture_combine;

#endif
