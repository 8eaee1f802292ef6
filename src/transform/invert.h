/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_TRANSFORM_INVERT_H
#define CLV_TRANSFORM_INVERT_H

#include "clvox/volume.h"
#include "runtime/runtime.h"

/* v with v(x) = -u(x + v(x)): x + v(x) is the inverse of x + u(x). u and v are
 * fields on grid in mm along its axes (op/inverse.h). */
int clv_invert_field(clvox_context *ctx, const clv_buffer *u, const clvox_grid *grid, clv_buffer *v);

/* The largest and the mean |v(x) + u(x + v(x))|. */
typedef struct clv_inverse_error {
    double voxels[2], mm[2];
} clv_inverse_error;

/* Over the voxels that x + v(x) keeps inside the grid (NaN where there is none), in voxels of a grid whose
 * axes are the same. scratch: as large as v; partial: CLV_STATISTICS_PARTIALS floats (op/statistics.h). */
int clv_invert_residual(clvox_context *ctx, const clv_buffer *u, const clv_buffer *v, const clvox_grid *grid,
                        const clvox_grid *voxels, clv_buffer *scratch, clv_buffer *partial,
                        clv_inverse_error *out);

#endif
