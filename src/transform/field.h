/* SPDX-License-Identifier: Apache-2.0 */
/* Displacements change their dress between host and device. On the host: RAS
 * millimetres, planar, kind DISPLACEMENT. On the device: millimetres along the
 * axes of the grid (component c moves by u_c / spacing_c voxels along axis c),
 * in the device's layout. For any grid, sheared or left-handed:
 *   RAS = sum over axes of u_c column_c / spacing_c. */
#ifndef CLV_TRANSFORM_FIELD_H
#define CLV_TRANSFORM_FIELD_H

#include "clvox/volume.h"
#include "runtime/runtime.h"

/* to_ras turns a vector in mm along the grid's axes into RAS mm. */
void clv_field_frame(const clvox_grid *grid, double to_ras[3][3]);

/* For vectors in mm along the axes of `from`: out of matrix, to mm along those of `to`. */
int clv_field_reorientation(const clvox_grid *to, const clvox_grid *from, const double matrix[4][4],
                            float reorient[3][3]);

/* Refuses grids that kernels cannot count with 32-bit integers. */
int clv_field_check(const clvox_grid *grid);

/* Largest deviation of two axes from a right angle, in degrees. */
double clv_field_skew(const clvox_grid *grid);

/* Refuses grids whose axes are not at right angles, to half a degree: lengths along them are
 * then wrong by less than 1 in 200. what: who needs it, for the sentence. */
int clv_field_check_angles(const clvox_grid *grid, const char *what);

/* Fills field (3 floats a voxel of warp->grid) with sign times the warp. */
int clv_field_upload(clvox_context *ctx, const clvox_volume *warp, double sign, clv_buffer *field);

/* The same in host memory: the values of a warp as kernels of ctx hold them, 3 a voxel, and a new displacement volume
 * from such values, which is the caller's. */
int clv_field_pack(clvox_context *ctx, const clvox_volume *warp, float *values);
int clv_field_unpack(clvox_context *ctx, const float *values, const clvox_grid *grid, clvox_volume **out);

/* A new displacement volume: sign times the field. On success *out is the
 * caller's, on failure NULL. */
int clv_field_download(clvox_context *ctx, const clv_buffer *field, const clvox_grid *grid, double sign,
                       clvox_volume **out);

/* As clv_field_download by 1, onto a grid whose storage nearest to RAS is the field's: no copy in that one
 * is made. */
int clv_field_download_shown(clvox_context *ctx, const clv_buffer *field, const clvox_grid *grid,
                             const clvox_grid *shown, clvox_volume **out);
/* As clv_field_download, for the map x -> matrix (x + u(x)): the volume holds
 * matrix (x + u(x)) - x in RAS mm. field may be NULL (u = 0). */
int clv_field_download_map(clvox_context *ctx, const clv_buffer *field, const clvox_grid *grid,
                           const double matrix[4][4], clvox_volume **out);

/* Reads voxels first to first + count - 1 as they lie on the device, into
 * values (3 count floats). Component c of the i-th is
 * values[i * strides[0] + c * strides[1]]. */
int clv_field_read(clvox_context *ctx, const clv_buffer *field, size_t voxels, size_t first, size_t count,
                   float *values, size_t strides[2]);

#endif
