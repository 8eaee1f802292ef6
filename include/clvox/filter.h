/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_FILTER_H
#define CLVOX_FILTER_H

#include "clvox/device.h"
#include "clvox/options.h"
#include "clvox/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Filters of whole volumes. All of them process each frame separately, unless they say otherwise, and repeat
 * the edge value beyond the border; an axis of one voxel has nothing to
 * smooth and no slope. The result lies on the same grid, is to be written as
 * float32, and is the caller's on success, NULL on failure. The frames of
 * vectors and tensors are filtered as numbers.
 * Values that are not finite spread: NaN and infinity in the volume make NaN
 * or infinity of every voxel that the filter's weights carry them to (the median's
 * have none). That is
 * one voxel for Sobel; for the Gaussian and unsharp masking, three sigma along
 * each axis (at least one voxel), or whole lines where sigma is above about
 * eight voxels and the recursive form takes over.
 * Errors: CLVOX_ERROR_ARGUMENT for label volumes (names have no values in
 * between), for grids too large for kernels, and as each function says;
 * _MEMORY, _DEVICE, _BUILD as the device gives them. */

enum { CLVOX_MAX_SIGMA = 1000 }; /* voxels */

/* Convolves with a Gaussian of standard deviation sigma along each axis of the
 * grid, in millimetres, or in voxels where in_voxels is not 0; 0 leaves an axis
 * alone. Below about 0.7 voxels the sampled Gaussian is narrower than asked
 * for; the recursive form is within a thousandth of the peak, so that a little
 * may come out below the smallest value of the volume. CLVOX_ERROR_ARGUMENT for
 * a sigma that is negative, not finite, or above CLVOX_MAX_SIGMA voxels. */
CLVOX_API int clvox_filter_gaussian(clvox_context *context, const clvox_volume *volume,
                                    const double sigma[3], int in_voxels, clvox_volume **out);

/* Edges: the length of the gradient in units a millimetre, by Sobel's operator
 * in three dimensions (central differences, smoothed by 1/4 1/2 1/4 across; edge
 * values are repeated). The result is scalar, one frame for each of the
 * volume's. CLVOX_ERROR_ARGUMENT for a grid whose axes are more than half a
 * degree from right angles. */
CLVOX_API int clvox_filter_sobel(clvox_context *context, const clvox_volume *volume,
                                 clvox_volume **out);

/* Sharpens: volume + amount (volume - Gaussian of volume), sigma and its errors
 * as above. amount is a finite float32; a negative one smooths. */
CLVOX_API int clvox_filter_unsharp(clvox_context *context, const clvox_volume *volume,
                                   const double sigma[3], int in_voxels, double amount,
                                   clvox_volume **out);

enum { CLVOX_MEDIAN_RADIUS = 7 }; /* voxels, at most */

/* The median of the box of 2 radius + 1 voxels along each axis around a voxel, the
 * edge value repeated, so that boxes have an odd number of values. 0 leaves an axis out.
 * NaN sorts above every number: single NaNs vanish, and the result is NaN where more than
 * half of the box is. CLVOX_ERROR_ARGUMENT for a radius below 0 or
 * above CLVOX_MEDIAN_RADIUS. */
CLVOX_API int clvox_filter_median(clvox_context *context, const clvox_volume *volume, const int radius[3],
                                  clvox_volume **out);

/* ---- noise --------------------------------------------------------------- */

typedef enum clvox_noise {
    CLVOX_NOISE_AUTO = 0, /* Rician where no value is negative */
    CLVOX_NOISE_GAUSSIAN,
    CLVOX_NOISE_RICIAN /* magnitude images: averages squares and subtracts 2 sigma^2 */
} clvox_noise;

typedef struct clvox_nlm_options {
    size_t size; /* of this struct, as clvox_nlm_defaults sets it */
    clvox_noise noise;
    double sigma;    /* of the noise, in the image's unit; -1: measured in each frame */
    double strength; /* 1: as the noise requires */
    int patch;       /* single: radius of the patches, 1 or 2 voxels */
    int search;      /* radius of the ball that is searched, and half a voxel: 1 to 10 voxels */
    int single;      /* 1: without a guide, by patches */
    int local;       /* 1: the noise varies over the volume and is measured around each voxel (sigma -1);
                        0: it is measured so where it is found to vary */
    const clvox_volume *noise_map; /* standard deviation of the noise in each voxel, one frame on the volume's
                                      grid, instead of sigma; voxels where it is not above 0 stay unchanged.
                                      NULL: none */
    int joint;                     /* 1: the frames together, alike in the same places */
} clvox_nlm_options;

typedef struct clvox_nlm_report {
    size_t voxels; /* denoised, over all frames */
    int rician;
    double sigma[2]; /* of the frame, or the voxel, with the least noise, and with the most */
} clvox_nlm_report;

/* Auto, -1, 1, 1, 3, 0, 0, NULL, 0. */
CLVOX_API void clvox_nlm_defaults(clvox_nlm_options *options);

/* The options by name (clvox/options.h). Static. */
CLVOX_API const clvox_option_table *clvox_nlm_table(void);

/* Non-local means: a voxel becomes the mean of those around it by weights (1 - q)^2, 0 from q = 1 on: q =
 * (d^2 + 3 m^2) / (4.2 strength sigma^2), d and m the differences of a guide and of its mean over 27 voxels
 * (Manjon et al. 2012). The guide is the image without the coefficients of the cosine transform of sliding
 * cubes of 4^3 voxels that are within 2.6 sigma times the root of strength. single: without a guide, by
 * weights exp(-q), q = (D - 2 sigma^2) / (0.78 strength sigma^2), at least 0, D the mean squared difference
 * of the patches around both (Buades et al. 2005). Sigma is the noise multiplied by the ratio of the median
 * difference between neighbours to the one that noise alone would cause, 1.2 at most, because patches of one
 * tissue differ by fine anatomy, too, and of magnitude images narrower where there is little signal. Frames
 * are taken one by one; joint: they share their weights, where all have finite values: q is the sum over the
 * n frames of what it is in each, over n^0.7 (single: the mean, times n^0.75). Voxels outside the mask
 * (above 0, on the volume's grid; NULL: everywhere) stay and serve as neighbours; so do values that are not
 * finite, which count for others as the mean of those around them. options NULL: the defaults; report may be
 * NULL. CLVOX_ERROR_ARGUMENT for labels, options out of range or a mask or a noise map on another grid,
 * _DATA where no noise can be measured or no voxel counts; and as filters do. */
CLVOX_API int clvox_filter_nlm(clvox_context *context, const clvox_volume *volume, const clvox_volume *mask,
                               const clvox_nlm_options *options, clvox_volume **out, clvox_nlm_report *report);

typedef struct clvox_tv_options {
    size_t size; /* of this struct, as clvox_tv_defaults sets it */
    clvox_noise noise;
    double sigma;    /* of the noise, in the image's unit; -1: measured in each frame */
    double strength; /* 1: as the noise requires */
    double weight;   /* of total variation, in the image's unit; -1: 0.61 strength sigma, over
                        1/1.07 of the ratio of the median difference between neighbours to that of
                        noise alone where that is above 1 */
    int joint;       /* 1: the frames together, edges in the same places */
    double tolerance; /* it stops at this RMS distance from the minimiser, over the weight (joint: over
                         weight / sqrt(frames)) */
    int iterations;   /* at most */
} clvox_tv_options;

typedef struct clvox_tv_report {
    size_t voxels; /* denoised, over all frames */
    int rician;
    double sigma[2];  /* least and most of the frames; 0: not measured, as the weight was given */
    double weight[2];
    int iterations;   /* most of the frames */
    double error;     /* the distance, as tolerance has it, that the gap of the energies allows at most */
} clvox_tv_report;

/* Auto, -1, 1, -1, 0, 0.02, 500. */
CLVOX_API void clvox_tv_defaults(clvox_tv_options *options);

/* The options by name (clvox/options.h). Static. */
CLVOX_API const clvox_option_table *clvox_tv_table(void);

/* Total variation (Rudin, Osher and Fatemi 1992): the u least in
 *   weight sum |grad u| + 1/2 sum (u - image)^2
 * over the voxels of mask (above 0, on the volume's grid; NULL: all) with finite values; the others keep
 * their values and affect no neighbour. Differences are forward, times smallest edge / edge along their axis.
 * By Chambolle and Pock (2011, algorithm 2). Frames are taken one by one; joint: |grad u| is that of all
 * frames (Blomgren and Chan 1998), each in units of its noise, and the weight grows with the square root of
 * their number. Of magnitude images u is the mean; out is the signal that has this mean. options NULL: the
 * defaults; report may be NULL. CLVOX_ERROR_ARGUMENT for labels, options out of range, a mask on another
 * grid, and axes more than half a degree from right angles, _DATA where no noise can be measured or no voxel
 * counts; and as filters do. */
CLVOX_API int clvox_filter_tv(clvox_context *context, const clvox_volume *volume, const clvox_volume *mask,
                              const clvox_tv_options *options, clvox_volume **out, clvox_tv_report *report);

/* ---- uneven brightness -------------------------------------------------- */

enum { CLVOX_BIAS_LEVELS = 8 };

/* As N4 (Tustison et al. 2010) names them. */
typedef struct clvox_bias_options {
    size_t size; /* of this struct, as clvox_bias_defaults sets it */
    int levels;                        /* each with splines of half the spacing of the one before */
    int iterations[CLVOX_BIAS_LEVELS]; /* at most, at each */
    double spline_mm;                  /* spacing of the first level's splines */
    double shrink;                     /* the field is estimated on voxels this many times the image's
                                          smallest edge */
    double tolerance; /* end a level when an iteration changes the field by less: the standard deviation, over
                         the mask, of the logarithm of its change */
    double fwhm;      /* of the Gaussian that blurs the histogram of logarithms */
    double noise;     /* of the Wiener filter that sharpens it */
    int bins;
    int rescale;      /* 1: stretch the result so that its range over the mask is that of the volume */
    const clvox_volume *weight; /* how much each voxel counts in the fit, one frame on the volume's grid; not
                                   at all where it is not above 0. NULL: all alike */
} clvox_bias_options;

typedef struct clvox_bias_report {
    size_t voxels; /* of the coarser grid that counted */
    int iterations[CLVOX_BIAS_LEVELS]; /* done */
    double change[CLVOX_BIAS_LEVELS];  /* by the last one */
} clvox_bias_report;

/* ANTs' defaults: 50x50x50x50, 200 mm, 4, 1e-7, 0.15, 0.01, 200, 0, NULL. */
CLVOX_API void clvox_bias_defaults(clvox_bias_options *options);

/* The options by name (clvox/options.h). Static. */
CLVOX_API const clvox_option_table *clvox_bias_table(void);

/* Divides a volume of one frame by the smooth field that makes its histogram
 * sharp: image = field * true, field = exp of cubic B-splines, its geometric mean 1
 * over the voxels that count. These are where mask (on the volume's grid) is above
 * 0, NULL: above Otsu's threshold; and of them those with values above 0, which
 * have a logarithm. Non-finite values stay. field (NULL: not wanted), of the
 * volume's grid, and out are the caller's; options NULL: the defaults; report may be
 * NULL. CLVOX_ERROR_ARGUMENT for several frames, options out of range or a mask or weights on
 * another grid, _DATA where no voxel counts; and as filters do. */
CLVOX_API int clvox_filter_bias(clvox_context *context, const clvox_volume *volume, const clvox_volume *mask,
                                const clvox_bias_options *options, clvox_volume **out, clvox_volume **field,
                                clvox_bias_report *report);

/* ---- comparable intensities ---------------------------------------------- */

/* Clips values at the quantiles low and high, so that a few very bright or dark voxels
 * do not determine the scale. Quantiles (0 <= low < high
 * <= 1) are those of the finite values inside mask (above 0, on the volume's grid;
 * NULL: everywhere), exactly. Infinite values are clipped too,
 * NaN stays. One frame; out is the caller's. CLVOX_ERROR_ARGUMENT for label
 * volumes, several frames, quantiles that do not ascend and a mask on another
 * grid, _DATA where there is no finite value. */
CLVOX_API int clvox_filter_winsorize(const clvox_volume *volume, const clvox_volume *mask, double low,
                                     double high, clvox_volume **out);

/* Reads two quantiles of clvox_filter_winsorize as the command line and ANTs spell them: "0.005,0.995", in
 * brackets or not. CLVOX_ERROR_ARGUMENT and what is possible. */
CLVOX_API int clvox_quantiles_read(const char *text, double *low, double *high);

enum { CLVOX_MATCH_POINTS = 1024 };

typedef struct clvox_match_options {
    size_t size; /* of this struct, as clvox_match_defaults sets it */
    int levels; /* bins of either histogram */
    int points; /* quantiles that are matched, besides the ends */
    int whole;  /* match all values; 0: those from the mean on, as foreground */
} clvox_match_options;

/* 256 levels, 64 points, foreground alone. */
CLVOX_API void clvox_match_defaults(clvox_match_options *options);

/* Maps a volume's values so that its quantiles become those of reference, which
 * may lie on any grid: piecewise linear between the points, as ITK's
 * HistogramMatchingImageFilter (Nyul and Udupa). Below the foreground, values are mapped linearly
 * down to the smallest one. Non-finite values stay. options
 * NULL: the defaults. One frame each; out, to be written as float32, is the
 * caller's. CLVOX_ERROR_ARGUMENT for label volumes, several frames and options out
 * of range, _DATA where one of the two has one value alone. */
CLVOX_API int clvox_filter_match(const clvox_volume *volume, const clvox_volume *reference,
                                 const clvox_match_options *options, clvox_volume **out);

#ifdef __cplusplus
}
#endif

#endif
