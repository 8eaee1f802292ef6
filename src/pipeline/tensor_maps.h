/* SPDX-License-Identifier: Apache-2.0 */
/* From tensors to what people look at. */
#ifndef CLV_PIPELINE_TENSOR_MAPS_H
#define CLV_PIPELINE_TENSOR_MAPS_H

#include <stdint.h>

#include "clvox/tensor.h"
#include "pipeline/raster.h"
#include "runtime/runtime.h"

/* As clvox_tensor_measures, of a tensor that is on the device: 6 planes, in
 * `unit` mm^2/s (1e-3 where a solver keeps numbers about 1). mask: a plane of
 * floats, or NULL. */
int clv_tensor_maps(clvox_context *ctx, const clv_buffer *tensor, const clv_buffer *mask,
                    const clvox_grid *grid, double unit, unsigned wanted, clvox_volume *out[CLVOX_MEASURES]);

/* Colours of directions, 3 bytes a voxel: red is left-right, green
 * anterior-posterior, blue superior-inferior, |V1| times FA (of at most 1;
 * Pajevic and Pierpaoli 1999). NaN is black. The caller frees *rgb. */
int clv_tensor_colours(const clvox_volume *fa, const clvox_volume *v1, uint8_t **rgb);

/* One slice of colours a plane (axial, coronal, sagittal side by side), through
 * the middle of what is coloured. On success the caller releases *out with
 * clv_raster_free. */
int clv_figure_colours(const clvox_grid *grid, const uint8_t *rgb, clv_raster *out);

#endif
