/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_EPI_BLIP_H
#define CLV_OP_EPI_BLIP_H

#include "op/image.h"

/* The field that explains by which shifts along one axis images of one head differ, by steps of Gauss and
 * Newton (Holland et al. 2010; Ruthotto et al. 2012). The model is at the top of cl/epi/blip.cl. */

/* Floats of an image's map: three rows of M, voxel of the field -> voxel of the image, and c, by how many
 * voxels along the axis a unit of the field shifts. */
enum { CLV_BLIP_MAP = 13, CLV_BLIP_TERMS = 5 };

/* Kernels leave their sums in buffers of CLV_BLIP_PARTIALS floats: how many work-groups there were, then one
 * or two sums of each. */
enum { CLV_BLIP_GROUPS = 1024, CLV_BLIP_PARTIALS = 1 + 2 * CLV_BLIP_GROUPS };

typedef struct clv_blips {
    const clv_buffer *images; /* one volume after another, all of the field's size; no NaN */
    const clv_buffer *maps;   /* CLV_BLIP_MAP floats for each */
    int count;
    int axis; /* of phase encoding, 0 to 2 */
} clv_blips;

/* terms: CLV_BLIP_TERMS volumes; partial: what clv_blip_energy reads. Spacing in mm. */
int clv_blip_terms(clvox_context *ctx, const clv_blips *blips, const clv_image *field, clv_buffer *terms,
                   clv_buffer *partial);

/* Waits. The squared differences of the images and the bending of the field, of which half the first and
 * lambda / 2 of the second are the energy. */
int clv_blip_energy(clvox_context *ctx, const clv_buffer *partial, double sums[2]);

/* Image k of them, brought onto the field's grid and multiplied by its Jacobian; NaN where it does not reach.
 */
int clv_blip_image(clvox_context *ctx, const clv_blips *blips, int k, const clv_image *field,
                   clv_buffer *out);

/* Adds tilt (x, y, z, 1) to the field, x, y, z in voxels. */
int clv_blip_tilt(clvox_context *ctx, const float tilt[4], const clv_image *field);

/* out = H v, the second derivative of half the squared differences and lambda / 2 times the bending, by Gauss
 * and Newton; partial: of v out. */
int clv_blip_operator(clvox_context *ctx, const clv_buffer *terms, int axis, const clv_image *v, float lambda,
                      clv_buffer *out, clv_buffer *partial);

/* H step = residual by conjugate gradients, after clv_blip_descent in turns 0, 1, ... of clv_blip_operator,
 * from scaled to product and zw, and of clv_blip_advance. */
typedef struct clv_blip_solve {
    clv_buffer *residual, *inverse,
        *scaled; /* inverse: one over the diagonal of H, scaled: both multiplied */
    clv_buffer *product, *direction, *along, *step; /* H scaled, the direction, H direction */
    clv_buffer *rz[2], *zw; /* partial sums: residual scaled, in turn, scaled product */
    clv_buffer *state;      /* two floats a turn */
} clv_blip_solve;
/* residual: the negative gradient of the energy at the field. */
int clv_blip_descent(clvox_context *ctx, const clv_buffer *terms, int axis, const clv_image *field,
                     float lambda, const clv_blip_solve *solve);
int clv_blip_advance(clvox_context *ctx, const clv_blip_solve *solve, int turn, int voxels);

extern const clv_entry clv_entry_blip_terms, clv_entry_blip_image, clv_entry_blip_tilt,
    clv_entry_blip_operator, clv_entry_blip_descent, clv_entry_blip_advance;

#endif
