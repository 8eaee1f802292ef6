/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_EPI_H
#define CLVOX_EPI_H

#include "clvox/registration.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Susceptibility distortion of echo-planar images. A field of f Hz at x shifts what lies there by seconds * f
 * voxels along the axis of phase encoding: the undistorted image at x is the distorted one at x + seconds f
 * e, times the Jacobian 1 + seconds df/de. Signs are those of topup and of BIDS field maps. */

/* Phase encoding of an image. */
typedef struct clvox_epi_encoding {
    int axis;       /* of the grid as it is stored: 0, 1, 2 for i, j, k */
    double seconds; /* total readout time, negative where BIDS has i-, j- or k- */
} clvox_epi_encoding;

/* From BIDS' PhaseEncodingDirection and TotalReadoutTime. CLVOX_ERROR_ARGUMENT for any other word than i, j,
 * k, i-, j-, k-, and for seconds that are not above 0 and below 1. */
CLVOX_API int clvox_epi_encoding_set(const char *direction, double seconds, clvox_epi_encoding *out);

/* From the BIDS sidecar of an image file: the same name with .json. A TotalReadoutTime that is missing
 * follows from EffectiveEchoSpacing and ReconMatrixPE. CLVOX_ERROR_FILE where there is none,
 * CLVOX_ERROR_FORMAT where it does not say. */
CLVOX_API int clvox_epi_encoding_read(const char *image, clvox_epi_encoding *out);

/* Rows of topup's --datain: x y z seconds. FSL turns images round whose matrix has a positive determinant, so
 * the sign of x is that of i only for the others; grid says which. At most room of them. */
CLVOX_API int clvox_epi_acqparams_read(const char *path, const clvox_grid *grid, clvox_epi_encoding *out,
                                       int room, int *count);

/* An image and how it was encoded. */
typedef struct clvox_epi_image {
    const clvox_volume *image; /* one frame; NaN counts as 0 */
    clvox_epi_encoding encoding;
} clvox_epi_image;

enum { CLVOX_EPI_MOST = 64 }; /* images at once */

typedef struct clvox_epi_result {
    clvox_volume *field;     /* Hz, on the first image's grid, where its head lies */
    clvox_volume *warp;      /* for the first image: a displacement, RAS mm */
    clvox_volume *corrected; /* mean of the images, each resampled once and times its Jacobian */
    clvox_volume
        *pile_up; /* 1 where an image has a Jacobian below 0.2: signal of several places lies in one there */
    double matrix[CLVOX_EPI_MOST][4][4]; /* motion: first image to each, RAS mm */
    int images;
    double difference_before, difference_after; /* root mean square between the images, over their mean in the
                                                   head; NAN of one image */
    double largest_mm; /* shift of the first image in the head, the 99.9th percentile */
    long piled_up;     /* voxels of pile_up where an image shows signal of the head */
    double seconds;
    size_t device_bytes;
} clvox_epi_result;

/* The field from two images or more on one grid, encoded along one axis in both directions, and the rigid
 * motion between them: least squares of the differences of the images times their Jacobians, and bending of
 * the field, coarse to fine (Andersson et al. 2003; Holland et al. 2010; Ruthotto et al. 2012). A motion
 * along the axis of phase encoding between images of opposite direction cannot be told from a constant field
 * and is counted as that. The same bits run after run. CLVOX_ERROR_ARGUMENT, _DATA (an image is empty),
 * _MEMORY. On success the result is the caller's, to be released with clvox_epi_result_destroy; on failure it
 * holds nothing. */
CLVOX_API int clvox_epi_from_blips(clvox_context *context, const clvox_epi_image *images, int count,
                                   clvox_epi_result *result);

/* The same from one image and an undistorted one of the same head in another contrast (T1, T2) on any grid:
 * that is aligned rigidly, then the displacement of the first is found along the axis of phase encoding
 * alone. */
CLVOX_API int clvox_epi_from_anatomy(clvox_context *context, const clvox_epi_image *image,
                                     const clvox_volume *anatomy, clvox_epi_result *result);

/* The same from a field on any grid in the image's world, whose values times hz are Hz. CLVOX_ERROR_DATA
 * where more than a hundredth of it shifts by more than the image is long: it is wrapped, or of another
 * unit. */
CLVOX_API int clvox_epi_from_field(clvox_context *context, const clvox_epi_image *image,
                                   const clvox_volume *field, double hz, clvox_epi_result *result);

/* Hz for a field's unit: "Hz" (1), "rad/s" (1 / 2 pi), or the two echo times of an unwrapped difference of
 * phases in radians, in seconds with a comma between them (1 / (2 pi (second - first))).
 * CLVOX_ERROR_ARGUMENT for others. */
CLVOX_API int clvox_epi_field_unit(const char *unit, double *hz);

/* The same from the BIDS sidecar of the field's file: its Units, or EchoTime1 and EchoTime2. Without a
 * sidecar, or where it says neither, Hz. CLVOX_ERROR_FORMAT where it is no JSON, or says another unit. */
CLVOX_API int clvox_epi_field_unit_read(const char *field, double *hz);

/* Releases the result's volumes; the numbers stay. NULL is legal. */
CLVOX_API void clvox_epi_result_destroy(clvox_epi_result *result);

#ifdef __cplusplus
}
#endif

#endif
