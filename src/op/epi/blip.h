/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_EPI_BLIP_H
#define CLV_OP_EPI_BLIP_H

#include "op/image.h"

/* The field that explains by which shifts along one axis images of one head differ, by steps of Gauss and
 * Newton (Holland et al. 2010; Ruthotto et al. 2012). The model is at the top of cl/epi/blip.cl. */

/* Floats of an image's map: three rows of M, voxel of the field -> voxel of the image, and c, by how many
 * voxels along the axis a unit of the field shifts. */
enum { CLV_BLIP_MAP = 13, CLV_BLIP_TERMS = 5 };

typedef struct clv_blips {
    const clv_buffer *images; /* one volume after another, all of the field's size; no NaN */
    const clv_buffer *maps;   /* CLV_BLIP_MAP floats for each */
    int count;
    int axis; /* of phase encoding, 0 to 2 */
} clv_blips;

/* terms: CLV_BLIP_TERMS volumes; energy: one, half of whose sum is the images' part of the energy. */
int clv_blip_terms(clvox_context *ctx, const clv_blips *blips, const clv_image *field, clv_buffer *terms,
                   clv_buffer *energy);

/* Image k of them, brought onto the field's grid and multiplied by its Jacobian; NaN where it does not reach.
 * image: it alone; map: its CLV_BLIP_MAP floats. */
int clv_blip_image(clvox_context *ctx, const clv_buffer *image, const clv_buffer *map, int axis,
                   const clv_image *field, clv_buffer *out);

/* out = B v, half the derivative of the bending by v (mm), whose product with v is the bending. */
int clv_blip_bending(clvox_context *ctx, const clv_image *v, clv_buffer *out);

/* out = H v, the second derivative of half the squared differences and lambda / 2 times the bending, by Gauss
 * and Newton. */
int clv_blip_operator(clvox_context *ctx, const clv_buffer *terms, int axis, const clv_image *v, float lambda,
                      clv_buffer *out);

/* The negative gradient of that energy, the diagonal of H and one over the other; bending: B f of the field.
 */
typedef struct clv_blip_solve {
    clv_buffer *residual, *diagonal, *scaled, *direction, *product, *step;
    clv_buffer
        *state; /* three floats: two products of residual and scaled, in turn, and direction times product */
} clv_blip_solve;
int clv_blip_descent(clvox_context *ctx, const clv_buffer *terms, int axis, const clv_image *bending,
                     float lambda, const clv_blip_solve *solve);

/* The two halves of a step of conjugate gradients: step and residual advance along the direction, which then
 * turns. was: 0 or 1, the product of this step. */
int clv_blip_advance(clvox_context *ctx, const clv_blip_solve *solve, int was, int voxels);
int clv_blip_turn(clvox_context *ctx, const clv_blip_solve *solve, int was, int voxels);

extern const clv_entry clv_entry_blip_terms, clv_entry_blip_image, clv_entry_blip_bending,
    clv_entry_blip_operator, clv_entry_blip_descent, clv_entry_blip_advance, clv_entry_blip_turn;

#endif
