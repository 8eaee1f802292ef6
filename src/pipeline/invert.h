/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_PIPELINE_INVERT_H
#define CLV_PIPELINE_INVERT_H

#include "clvox/volume.h"
#include "runtime/runtime.h"

/* other and scratch: as large as v, clobbered; half: as large as a field on
 * clv_invert_half's grid; partial: CLV_REDUCE_PARTIALS floats; change: 1 float. */
typedef struct clv_invert_buffers {
    clv_buffer *other, *scratch, *half, *partial, *change;
} clv_invert_buffers;

/* The grid of half the resolution. */
void clv_invert_half(const clvox_grid *grid, clvox_grid *half);

/* v with v(x) = -u(x + v(x)): x + v(x) is the inverse of x + u(x). u and v are
 * fields on grid in mm along its axes. Fixed-point steps, on half the
 * resolution first, until none moves a vector by a hundredth of a voxel, at
 * most 50; where they stop shrinking (a map that leaves the grid, a steep one)
 * they are damped. */
int clv_invert_field(clvox_context *ctx, const clv_buffer *u, const clvox_grid *grid,
                     clv_buffer *v, const clv_invert_buffers *buffers);

/* The same on half the resolution alone: u as sampled there in buffers->half,
 * its inverse in v, for those who want to know how well the map inverts. */
int clv_invert_coarsely(clvox_context *ctx, const clv_buffer *u, const clvox_grid *grid,
                        clv_buffer *v, const clv_invert_buffers *buffers);

/* The largest and the mean |v(x) + u(x + v(x))| in voxels and in mm, over the
 * voxels that x + v(x) keeps inside the grid (NaN where there is none). error:
 * as large as v, clobbered; partial: CLV_STATISTICS_PARTIALS floats
 * (op/statistics.h). */
int clv_invert_residual(clvox_context *ctx, const clv_buffer *u, const clv_buffer *v,
                        const clvox_grid *grid, clv_buffer *error, clv_buffer *partial,
                        double residual_voxels[2], double residual_mm[2]);

#endif
