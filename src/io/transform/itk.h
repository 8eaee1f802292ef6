/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of ITK's transforms, whatever file holds them. */
#ifndef CLV_IO_TRANSFORM_ITK_H
#define CLV_IO_TRANSFORM_ITK_H

#include "io/transform/format.h"

/* A transform as ITK's files hold it. */
typedef struct clv_itk {
    char name[128]; /* of its class: AffineTransform_double_3_3 */
    double *parameter, *fixed;
    size_t parameters, fixeds;
} clv_itk;

/* Adds the transform that it is: an affine, rigid, similarity, scales, skews or translation with a centre; a
 * cubic B-spline, sampled so finely that linear interpolation errs by less than 0.002 mm, as far as 2^24 samples
 * go; a displacement field. */
int clv_itk_add(const char *path, const clv_itk *itk, clv_parts *parts);

/* Whether the class is that of a list of transforms, which follow it. */
bool clv_itk_is_composite(const clv_itk *itk);

/* ITK applies the last transform of a list first: turns the parts from `first` on round. */
void clv_itk_turn_round(clv_parts *parts, int first);

/* The parameters of an affine, in LPS with the centre 0 0 0. */
void clv_itk_affine(const double matrix[4][4], double parameters[12]);

/* Multiplies affines, a point passing the first one first; CLVOX_ERROR_ARGUMENT where one is a warp, which
 * a file of that name cannot hold. */
int clv_parts_join(const char *path, const clvox_transform *const *parts, int count, double out[4][4]);

/* In HDF5, as clv_transform_format's write has it. */
int clv_itk_hdf5_write(const char *path, const clvox_transform *const *parts, int count);

#endif
