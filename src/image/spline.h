/* SPDX-License-Identifier: Apache-2.0 */
/* Cubic B-splines over the box of a grid: on a grid they are a banded matrix along
 * each axis, for their fit, their evaluation and their refinement alike. */
#ifndef CLV_IMAGE_SPLINE_H
#define CLV_IMAGE_SPLINE_H

#include "clvox/volume.h"
#include "op/image/bands.h"

/* Along each axis `spans` pieces of span_mm, centred on the box (outer voxel faces)
 * of every grid that it is used with; spans + 3 control points. */
typedef struct clv_lattice {
    int spans[3];
    double span_mm;
} clv_lattice;

/* The least number of spans of that length which cover the grid. */
void clv_lattice_make(const clvox_grid *grid, double span_mm, clv_lattice *out);
/* Spans of half the length over the same box. */
clv_lattice clv_lattice_half(const clv_lattice *lattice);
void clv_lattice_size(const clv_lattice *lattice, int size[3]);

/* One matrix along each axis; zeroed: none. */
typedef struct clv_spline {
    clv_bands along[3];
} clv_spline;
void clv_spline_free(clv_spline *spline);

/* From control points to values on a grid; and from values w r and weights w to the
 * numerator and the denominator of their approximation (Lee, Wolberg and Shin
 * 1997, which ITK's N4 takes): control point i is sum w_i^3 r / S over sum w_i^2,
 * S the sum of a voxel's squared weights, all of them products over the axes. */
typedef enum clv_spline_kind { CLV_SPLINE_VALUES, CLV_SPLINE_NUMERATOR, CLV_SPLINE_DENOMINATOR } clv_spline_kind;
int clv_spline_make(clvox_context *ctx, const clv_lattice *lattice, const clvox_grid *grid, clv_spline_kind kind,
                    clv_spline *out);
/* From control points to those of clv_lattice_half, which give the same values. */
int clv_spline_refine(clvox_context *ctx, const clv_lattice *lattice, clv_spline *out);

/* From values on a grid to the coefficients of the splines through them, one at each
 * voxel, mirrored at the outermost ones: the inverse of (1 4 1) / 6, what is below
 * 1e-8 of it left out. */
int clv_spline_samples(clvox_context *ctx, const int size[3], clv_spline *out);

/* Along x, y and z. tmp: two buffers of at least clv_spline_room floats; where
 * both sizes are one, these may be out and in. */
size_t clv_spline_room(const int in[3], const int out[3]);
int clv_spline_apply(clvox_context *ctx, const clv_spline *spline, clv_buffer *in, const int in_size[3],
                     clv_buffer *const tmp[2], clv_buffer *out, const int out_size[3]);

#endif
