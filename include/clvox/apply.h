/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_APPLY_H
#define CLVOX_APPLY_H

#include "clvox/device.h"
#include "clvox/transform.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum clvox_interpolation {
    CLVOX_INTERPOLATE_AUTO = 0, /* LABEL for label maps and images that look like one, else LINEAR */
    CLVOX_INTERPOLATE_NEAREST,
    CLVOX_INTERPOLATE_LINEAR,
    CLVOX_INTERPOLATE_CUBIC,
    CLVOX_INTERPOLATE_LABEL,   /* the label with the largest summed trilinear weight */
    CLVOX_INTERPOLATE_BSPLINE, /* cubic B-spline through the values, as ITK's and ANTs' BSpline of order 3; a
                                  non-finite value reaches about 20 voxels */
    CLVOX_INTERPOLATE_LANCZOS, /* windowed sinc of three lobes; a non-finite value reaches 3 voxels */
    CLVOX_INTERPOLATE_GAUSSIAN /* mean of voxels by the share that each covers of a Gaussian, sigma a voxel
                                  and cut off there, as ITK's and ANTs' Gaussian: it smooths */
} clvox_interpolation;

/* One link of a chain. inverse applies the inverse: exact for an affine,
 * numerical for a warp. */
typedef struct clvox_link {
    const clvox_transform *transform;
    int inverse;
} clvox_link;

/* Resamples every frame of image onto grid through a chain of pull-backs: a
 * voxel at x looks in image at links[count-1](... links[1](links[0](x))). The
 * image thus passes the last link first, and `-t warp -t affine` looks up
 * affine(warp(x)), as antsApplyTransforms does.
 * count may be 0. outside fills voxels that look beyond image. Vector and
 * tensor frames are reoriented as CLVOX_REORIENT_AUTO says. On success *out is
 * the caller's, on failure NULL. */
CLVOX_API int clvox_apply(clvox_context *context, const clvox_volume *image,
                          const clvox_grid *grid, const clvox_link *links, int count,
                          clvox_interpolation interpolation, float outside, clvox_volume **out);

/* How vectors and tensors are rotated by a transform (Alexander et al. 2001). */
typedef enum clvox_reorientation {
    CLVOX_REORIENT_AUTO = 0,      /* PRINCIPAL for tensors, as ANTs and FSL do, FINITE_STRAIN for vectors */
    CLVOX_REORIENT_FINITE_STRAIN, /* by the rotation alone */
    CLVOX_REORIENT_PRINCIPAL,     /* preservation of principal direction: fibres keep their course also under
                                     shear and stretching */
    CLVOX_REORIENT_NONE
} clvox_reorientation;

typedef struct clvox_apply_options {
    size_t size; /* of this struct, as clvox_apply_defaults sets it */
    clvox_interpolation interpolation;
    float outside;
    clvox_reorientation reorientation;
    clvox_output output; /* type of the resampled image; labels keep theirs */
} clvox_apply_options;

/* The size, and 0 for the rest. */
CLVOX_API void clvox_apply_defaults(clvox_apply_options *options);

/* As clvox_apply, with all options; options NULL: the defaults. */
CLVOX_API int clvox_apply_with(clvox_context *context, const clvox_volume *image, const clvox_grid *grid,
                               const clvox_link *links, int count, const clvox_apply_options *options,
                               clvox_volume **out);

/* Treatment by clvox_forward of the values that land around a voxel. */
typedef enum clvox_landing {
    CLVOX_LANDING_MEAN = 0, /* their mean by weight; outside where the weights are less than a thousandth of a voxel */
    CLVOX_LANDING_MASS      /* their sum, times the volume of a voxel of image over that of grid: the integral of
                               image in mm^3 is kept, except for what lands outside grid; float32 */
} clvox_landing;

/* Forward warping: carries every voxel of every frame of image, a volume of numbers, to
 * links[count-1](... links[0](x)), as clvox_apply_points carries points, and shares its value among the eight
 * voxels of grid around that place by their trilinear weights: the adjoint of clvox_apply with
 * CLVOX_INTERPOLATE_LINEAR onto image's grid. The chain that brings an image from moving to fixed thus
 * carries one from fixed to moving, without an inverse. Values that are not finite are left out. For labels
 * (kind, names, or with MEAN what looks like them) a voxel takes the label with the most weight there, the
 * smallest of equals; with MASS labels are a CLVOX_ERROR_ARGUMENT, as are vectors and tensors. The same bits
 * run after run. On success *out is the caller's, on failure NULL. */
CLVOX_API int clvox_forward(clvox_context *context, const clvox_volume *image, const clvox_grid *grid,
                            const clvox_link *links, int count, clvox_landing landing, float outside,
                            clvox_volume **out);

/* The whole chain as one displacement volume (RAS mm, on grid). */
CLVOX_API int clvox_compose(clvox_context *context, const clvox_grid *grid,
                            const clvox_link *links, int count, clvox_volume **out);

/* A chain of affines as one matrix. A warp among them is a
 * CLVOX_ERROR_ARGUMENT. */
CLVOX_API int clvox_compose_affine(const clvox_link *links, int count, double matrix[4][4]);

/* The inverse of a warp on its own grid, solved voxel by voxel. residual_voxels
 * (may be NULL) receives the largest and the mean remaining error |w(x) + x' - x|,
 * in voxels, over the voxels whose inverse lies on the grid. CLVOX_ERROR_DATA where
 * that mean exceeds a voxel, or where no inverse lies on the grid. */
CLVOX_API int clvox_invert(clvox_context *context, const clvox_volume *warp, clvox_volume **out,
                           double residual_voxels[2]);

typedef struct clvox_jacobian_summary {
    double smallest, largest, mean_log, sd_log;
    long folded; /* voxels with determinant <= 0 */
    long voxels;
} clvox_jacobian_summary;

/* Determinant (or natural logarithm) of x -> x + u(x). mask (NULL: everywhere)
 * restricts the summary, not the volume. out may be NULL. A value above 1 means
 * that the map from the fixed to the moving space grows: the structure is
 * larger in the moving image. */
CLVOX_API int clvox_jacobian(clvox_context *context, const clvox_volume *warp,
                             const clvox_volume *mask, int log, clvox_volume **out,
                             clvox_jacobian_summary *summary);

/* The same, to rounding, in the three planes of voxels at[k] along each axis and the planes next to
 * these, for pictures; 0 elsewhere. By the host's threads: no device, and little time. */
CLVOX_API int clvox_jacobian_planes(const clvox_volume *warp, const int at[3], int log, clvox_volume **out);

/* Moves points (RAS mm, n x 3, in place) through a chain in clvox_apply's
 * order, on the host. */
CLVOX_API int clvox_apply_points(const clvox_link *links, int count, double *points, int n);

#ifdef __cplusplus
}
#endif

#endif
