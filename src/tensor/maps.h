/* SPDX-License-Identifier: Apache-2.0 */
/* From tensors to what people look at. */
#ifndef CLV_TENSOR_MAPS_H
#define CLV_TENSOR_MAPS_H

#include <stdint.h>

#include "clvox/tensor.h"
#include "report/raster.h"
#include "runtime/runtime.h"

/* As clvox_tensor_measures, of a tensor that is on the device: 6 planes, in
 * `unit` mm^2/s (1e-3 where a solver keeps numbers about 1). mask: a plane of
 * floats, or NULL. */
int clv_tensor_maps(clvox_context *ctx, clv_buffer *tensor, const clv_buffer *mask,
                    const clvox_grid *grid, double unit, unsigned wanted, clvox_volume *out[CLVOX_MEASURES]);

/* Colours of directions, 3 bytes a voxel: red is left-right, green
 * anterior-posterior, blue superior-inferior, |V1| times FA (of at most 1;
 * Pajevic and Pierpaoli 1999). NaN is black. The caller frees *rgb. */
int clv_tensor_colours(const clvox_volume *fa, const clvox_volume *v1, uint8_t **rgb);

/* One slice of colours a plane (axial, coronal, sagittal side by side), through
 * the middle of what is coloured. On success the caller releases *out with
 * clv_raster_free. */
int clv_figure_colours(const clvox_grid *grid, const uint8_t *rgb, clv_raster *out);

/* Ways in which the axes of directions may have been turned round or exchanged:
 * number 0 is as they are. Their names are "-x y z", "y x z" and so on, words for
 * the axes of FSL's bvecs. */
enum { CLV_TURNS = 24, CLV_TURN_NAME = 12 };
void clv_turn_name(int turn, char out[CLV_TURN_NAME]);

/* Which of them makes fibres hold together best (neighbours that lie along each
 * other's direction, weighted by FA), and by what factor better than turn 0. In a
 * brain a wrong turn loses a quarter or more; FA alone does not show it. *best is
 * 0 and *gain 1 where too little is anisotropic to say. v1 in RAS. */
int clv_tensor_coherence(const clvox_volume *fa, const clvox_volume *v1, int *best, double *gain);

#endif
