/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_SERIES_H
#define CLVOX_SERIES_H

#include "clvox/apply.h"
#include "clvox/progress.h"
#include "clvox/registration.h"
#include "clvox/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Motion between the frames of a 4-D scan (fMRI, DWI): each frame is registered
 * to one reference, and resampled once. */

typedef enum clvox_series_target {
    CLVOX_SERIES_REFERENCE = 0, /* one frame, or an image of its own */
    CLVOX_SERIES_MEAN           /* first that, then the mean of all frames so aligned */
} clvox_series_target;

typedef struct clvox_series_options {
    size_t size; /* of this struct, as clvox_series_defaults sets it */
    clvox_series_target target;
    int reference;        /* frame, from 0; -1: the middle one, with gradients the first of the lowest b */
    clvox_linear linear;  /* RIGID; also TRANSLATION, SIMILARITY, AFFINE */
    clvox_metric metric;  /* NCC; with gradients of the b = 0 frames and inside of shells, between these MI */
    int bins;             /* of MI, 8 to 128 */
    double smooth_voxels; /* sigma of what is compared, in edges of a cube as large as a voxel, as
                             interpolated noise pulls to whole voxels; MI takes half of it */
    clvox_interpolation interpolation; /* of the corrected series: LINEAR, CUBIC, BSPLINE or LANCZOS */
    int ringing;         /* 1: keep interpolated values below a frame's minimum (if positive: below 0) */
    double head_mm;      /* radius by which framewise_mm converts rotations to millimetres: 50 */
    double outlier_mm;   /* framewise_mm above which a frame is an outlier: 0.5 */
    clvox_output output; /* type of the corrected series */
    clvox_progress progress; /* may be NULL */
    void *user;
    /* NULL, or the distortion of the reference, as clvox_epi_result has it: a displacement on any grid from
     * the undistorted reference to the reference as it is. Frames are then resampled through it and their
     * motion at once, and multiplied by its Jacobian determinant. */
    const clvox_volume *distortion;
} clvox_series_options;

/* Rigid, to the reference frame, NCC, Lanczos. */
CLVOX_API void clvox_series_defaults(clvox_series_options *options);

/* The options by name (clvox/options.h). Static. */
CLVOX_API const clvox_option_table *clvox_series_table(void);

enum {
    CLVOX_FRAME_EMPTY = 1, /* constant, or all NaN: kept in the series, with its neighbour's map */
    CLVOX_FRAME_MOVED = 2, /* framewise_mm above outlier_mm */
    CLVOX_FRAME_UNLIKE = 4 /* much less similar to the target than others of its shell: no signal, or not found */
};

/* matrix maps the reference to the frame, RAS mm: where the corrected frame is sampled, and where the head
 * has moved to. It is T(center + shift) R T(-center) about the centre of the series' grid, with R = Rz Ry Rx,
 * for a rigid map; of others shift and rotation are those of clvox_affine_take_apart. */
typedef struct clvox_series_frame {
    double matrix[4][4];
    double shift_mm[3];
    double rotation[3]; /* radians about RAS x, y, z */
    double framewise_mm; /* since the frame before (Power 2012): sum of |shift| and head_mm |rotation| */
    double rms_mm;       /* the same by Jenkinson (1999), over a ball of 80 mm about that centre */
    double rms_reference_mm; /* against the reference */
    double likeness;         /* of the last pass: squared correlation, or the metric */
    unsigned flags;          /* CLVOX_FRAME_... */
} clvox_series_frame;

typedef struct clvox_series_result {
    clvox_volume *corrected; /* the series' grid, frames, type and time */
    clvox_volume *mean;      /* of its frames that are not empty, float32 */
    clvox_series_frame *frame; /* of the series; framewise_mm and rms_mm of the first and of empty ones NaN */
    clvox_gradients *gradients; /* rotated with the head, NULL without; as many as frames */
    double center[3];           /* of rotation, RAS mm */
    int frames, reference;      /* reference: -1 with an image of its own */
    double mean_framewise_mm, largest_framewise_mm; /* 0 with fewer than two frames that are not empty */
    int empty, moved, unlike;                       /* frames with these flags */
    double seconds_register, seconds_resample;
    size_t device_bytes;
} clvox_series_result;

/* Plan of a run, as far as it is known beforehand. */
typedef struct clvox_series_plan {
    int reference;       /* frame; -1 with an image of its own */
    int empty, shells;   /* frames of one value; shells of the gradients, 1 without */
    size_t device_bytes; /* the most that it will hold */
} clvox_series_plan;

/* The plan of clvox_register_series for these arguments, and its errors of them: nothing is computed on a device. */
CLVOX_API int clvox_series_predict(const clvox_volume *series, const clvox_volume *reference,
                                         const clvox_volume *mask, const clvox_gradients *gradients,
                                         const clvox_series_options *options, clvox_series_plan *plan);

/* Registers each frame of series to the reference, starting from the map of its neighbour on the
 * reference's side, and resamples the frames once, from the data as given. series: scalar, two frames or
 * more. reference: NULL, or a 3-D image on any grid whose world puts it over the series. mask: where the
 * reference counts (above 0), on any grid; NULL: everywhere; not between frames of different weighting,
 * where outlines decide. gradients: NULL, or one for each frame of a DWI; then frames of the lowest shell
 * are registered to each other, the weighted ones to their mean by MI, each again to the mean of its shell
 * by NCC, and that mean to the one without weighting by MI. Eddy currents beyond what `linear` allows are not
 * corrected. Voxels at the border of a frame, of its NaN, or of outer layers of one
 * value that cut off the head do not count, as far as smoothing brings in what lies beyond. options NULL:
 * the defaults. Errors: CLVOX_ERROR_ARGUMENT, _DATA (the reference or all frames are empty), _MEMORY,
 * _STOPPED. On success the result is the caller's, to be released with clvox_series_result_destroy; on
 * failure it holds nothing. */
CLVOX_API int clvox_register_series(clvox_context *context, const clvox_volume *series,
                                    const clvox_volume *reference, const clvox_volume *mask,
                                    const clvox_gradients *gradients, const clvox_series_options *options,
                                    clvox_series_result *result);

/* Releases what the result holds; the numbers stay. NULL is legal. */
CLVOX_API void clvox_series_result_destroy(clvox_series_result *result);

#ifdef __cplusplus
}
#endif

#endif
