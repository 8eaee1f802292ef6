/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_TENSOR_MEASURES_H
#define CLV_OP_TENSOR_MEASURES_H

#include "clvox/tensor.h"
#include "op/image.h"

/* Planes of floats that the wanted measures take (bits of clvox_measure): one
 * each, three an eigenvector. */
int clv_measure_planes(unsigned wanted);

/* Measures voxels first to first + count - 1 of a tensor (6 planes, Dxx Dxy Dxz
 * Dyy Dyz Dzz, any unit) as clvox_measure defines them. out: planes of `count`
 * floats, the wanted ones in rising order of clvox_measure, diffusivities in the
 * tensor's unit. mask: floats on the tensor's grid, elsewhere than above 0 every
 * measure is 0; may be NULL. out must not be the tensor. */
int clv_tensor_measures(clvox_context *ctx, const clv_image *tensor, const clv_buffer *mask, int first,
                        int count, unsigned wanted, clv_buffer *out);

extern const clv_entry clv_entry_tensor_measures;

#endif
