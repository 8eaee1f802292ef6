/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_TRANSFORM_H
#define CLVOX_TRANSFORM_H

#include "clvox/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A pull-back: says for a point of the fixed space where in the moving space
 * to look. Affine: y = matrix * x. Warp: y = x + u(x), u sampled on its own
 * grid, trilinear inside and zero outside. All in RAS millimetres. */
typedef struct clvox_transform {
    int is_warp;
    double matrix[4][4]; /* affine only */
    clvox_volume *warp;  /* warp only: kind DISPLACEMENT, 3 frames; owned */
} clvox_transform;

/* File forms that an affine is written in. */
typedef enum clvox_affine_form {
    CLVOX_AFFINE_ITK =
        0, /* "#Insight Transform File V1.0", LPS; ITK's binary form where the name ends in .mat, HDF5 in .h5 */
    CLVOX_AFFINE_RAS /* four rows of four numbers, RAS */
} clvox_affine_form;

/* Reads an affine or a warp, told apart by content:
 *   ITK text, binary .mat and HDF5 .h5 (where clvox is built with that library): affine, rigid,
 *     similarity, scales, skews, translation; displacement field; cubic B-spline, sampled so finely
 *     that linear interpolation errs by less than 0.002 mm as far as 2^24 samples go; LPS;
 *   FreeSurfer's LTA of the types 0, 1, 2, 14 and 21, between voxels, mm from the first voxel, RAS or tkRAS:
 *     the source moves, so that all but 14 (register.dat) are inverted;
 *   FreeSurfer's register.dat, which clvox_transforms_read alone can understand;
 *   four rows of four numbers: RAS (greedy, NiftyReg, MRtrix);
 *   AFNI's .aff12.1D, one row of twelve numbers, or three of four in a file named .1D: LPS, from the base
 *     to the source;
 *   NIfTI [X, Y, Z, 1, 3]: ITK displacement (LPS), or by intent_name NiftyReg's
 *     deformation or displacement (NREG_TRANS), or SPM's deformation (Mapping);
 *   volumes [X, Y, Z, 3]: MRtrix, which marks neither kind: values that rise with
 *     their voxel's own position (slope of the regression above 1/2) are a
 *     deformation, others a displacement in MIF or with the intent 1006 or 1007, and no warp elsewhere;
 *     FSL's fields and FNIRT's coefficients (by intent), which clvox_transforms_read alone can understand:
 *     cubic and quadratic splines, and orthonormal cosines (DCT-II).
 * A composite of affines is their product, one with a warp is refused; control grids and velocity fields
 * are refused with a sentence that says how to convert them. On success *out is the caller's, to
 * be released with clvox_transform_destroy. */
CLVOX_API int clvox_transform_read(const char *path, clvox_transform **out);

/* The same for files that may hold several: ITK's composites. out receives them
 * in the order of a chain (clvox_link), a point passing out[0] first. fixed and moving are the grids of
 * the images, which FSL's warps depend on; NULL where they are not known, and such warps are refused. On success
 * out[0] to out[*count - 1] are the caller's, on failure *count is 0. */
CLVOX_API int clvox_transforms_read(const char *path, const clvox_grid *fixed, const clvox_grid *moving,
                                    clvox_transform **out, int room, int *count);

/* Writes a chain in this order as ITK reads it: to .h5 as a composite, whose warps are float32
 * displacement fields rounded to 2^-10 mm, which pack well (an affine alone is no composite); affines alone
 * also to .mat, and to any other name as text, as their product. The rename rule of
 * clvox_volume_write holds. */
CLVOX_API int clvox_transforms_write(const clvox_transform *const *transforms, int count, const char *path);

/* Writes an affine. The rename rule of clvox_volume_write holds. */
CLVOX_API int clvox_affine_write(const double matrix[4][4], clvox_affine_form form,
                                 const char *path);

/* Writes affines (each 4x4, RAS) as one ITK text file, a transform after the other, as fMRIPrep and nitransforms
 * have those of head motion, one for each frame of a series. ITK reads a list of transforms; it is no composite, and
 * clvox_transform_read refuses it. The rename rule of clvox_volume_write holds. */
CLVOX_API int clvox_affines_write(const double (*matrix)[4][4], int count, const char *path);

/* The inverse of an affine, whose last row is taken for 0 0 0 1; out may be the matrix itself.
 * CLVOX_ERROR_DATA for a singular matrix. */
CLVOX_API int clvox_affine_invert(const double matrix[4][4], double out[4][4]);

/* FLIRT's matrix of an affine: it takes FSL's scaled mm (CLVOX_WARP_FSL below)
 * of the moving image to those of the fixed one, which is the other way round,
 * and is written in the form CLVOX_AFFINE_RAS. CLVOX_ERROR_DATA for a singular
 * matrix. */
CLVOX_API int clvox_flirt_matrix(const double matrix[4][4], const clvox_grid *fixed,
                                 const clvox_grid *moving, double out[4][4]);

/* Writes a displacement volume as ITK and ANTs read it: 5-D NIfTI, intent
 * 1007, LPS millimetres, float32. */
CLVOX_API int clvox_warp_write(const clvox_volume *warp, const char *path);

/* Rounds displacements to multiples of 2^-7 mm: files stay float32, which all programs read, and compression
 * leaves half or less. Values that are not finite stay. Returns the largest distance in mm between a
 * displacement and its rounded value, at most .0068. */
CLVOX_API double clvox_warp_round(clvox_volume *warp);

/* File forms that a warp is written in. */
typedef enum clvox_warp_form {
    CLVOX_WARP_ITK = 0, /* as clvox_warp_write */
    CLVOX_WARP_MRTRIX,  /* deformation [X, Y, Z, 3]: the RAS position to look at, for mrtransform -warp */
    CLVOX_WARP_FSL      /* relative field [X, Y, Z, 3], intent 2006, for applywarp --rel: what is added to
                           the voxel's place in the fixed image to get that in the moving one, both in FSL's
                           scaled mm (index times edge; x from the other end where the determinant of the
                           image's matrix is positive) */
} clvox_warp_form;

/* Writes a displacement volume in one of these forms. moving, the grid of the
 * image that the warp is to be applied to, is used for FSL only. */
CLVOX_API int clvox_warp_write_with(const clvox_volume *warp, clvox_warp_form form,
                                  const clvox_grid *moving, const char *path);

/* Releases the transform and what it owns; sets *transform to NULL. */
CLVOX_API void clvox_transform_destroy(clvox_transform **transform);

#ifdef __cplusplus
}
#endif

#endif
