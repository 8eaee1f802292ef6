/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_BANDS_H
#define CLV_OP_IMAGE_BANDS_H

#include "op/image.h"

/* A banded matrix on the device: row i holds `width` weights, for the columns from
 * first[i] on. All of them exist: 0 <= first[i] <= columns - width. */
typedef struct clv_bands {
    clv_buffer *first, *weights;
    int rows, columns, width;
} clv_bands;

/* Sends there what of a matrix (row by row, on the host) is not 0: as many numbers of
 * each row as the fullest spans. It is the caller's, to be released with
 * clv_bands_free (legal on a zeroed one); on failure zeroed. */
int clv_bands_make(clvox_context *ctx, int rows, int columns, const double *matrix, clv_bands *out);
void clv_bands_free(clv_bands *bands);

/* Applies it along an axis (0, 1, 2) of an image, whose size there is the number
 * of columns; out has as many voxels there as there are rows, and as in elsewhere.
 * B-splines on a grid are such matrices along each axis: their fit, their
 * evaluation, their refinement and the filter that makes coefficients of samples. */
int clv_bands_apply(clvox_context *ctx, const clv_image *in, int axis, const clv_bands *bands,
                    const clv_image *out);

extern const clv_entry clv_entry_bands;

#endif
