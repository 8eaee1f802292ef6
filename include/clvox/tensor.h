/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_TENSOR_H
#define CLVOX_TENSOR_H

#include "clvox/device.h"
#include "clvox/options.h"
#include "clvox/progress.h"
#include "clvox/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Diffusion tensors are volumes of 6 frames, Dxx Dxy Dxz Dyy Dyz Dzz in RAS,
 * mm^2/s (CLVOX_KIND_TENSOR). */

/* Gradient table of a diffusion-weighted scan: for each volume b in s/mm^2 and a direction,
 * a unit vector in RAS (0 0 0 at b = 0). */
typedef struct clvox_gradients {
    int count;
    double *b;
    double (*direction)[3];
    double length[2]; /* shortest and longest direction as it was read, of the volumes with b; 0: none */
} clvox_gradients;

/* Releases the table and sets *gradients to NULL. NULL is legal. */
CLVOX_API void clvox_gradients_destroy(clvox_gradients **gradients);

/* Reads FSL's pair of files: bval one row (or column) of numbers, bvec three rows
 * (or three columns, told by their counts) in the axes of grid's voxels, x
 * flipped where grid's determinant is positive, as FSL does; for a sheared grid in the
 * nearest perpendicular axes. Directions are normalised (length: as they were read); b-values stay. Below 50
 * s/mm^2 a direction may be 0 0 0 or NaN, both read as 0 0 0. grid: of the DWI; volumes: its frames, which
 * both files must have. b-values none of which reaches 50 are in ms/um^2 and refused. On success *out is the
 * caller's, to be released with clvox_gradients_destroy; on failure NULL. Errors (CLVOX_ERROR_FILE, _FORMAT,
 * _MEMORY) name the file and the line. */
CLVOX_API int clvox_gradients_read_fsl(const char *bval, const char *bvec, const clvox_grid *grid,
                                       int volumes, clvox_gradients **out);

/* Reads MRtrix's table: a line x y z b for each volume, x y z in RAS; # starts a
 * remark; or the one that an MRtrix image holds (dw_scheme). Otherwise as clvox_gradients_read_fsl. */
CLVOX_API int clvox_gradients_read_mrtrix(const char *path, int volumes, clvox_gradients **out);

/* Writes FSL's pair of files for a DWI on that grid. Each file is whole or
 * untouched. */
CLVOX_API int clvox_gradients_write_fsl(const clvox_gradients *gradients, const clvox_grid *grid,
                                        const char *bval, const char *bvec);

/* Writes MRtrix's table. */
CLVOX_API int clvox_gradients_write_mrtrix(const clvox_gradients *gradients, const char *path);

/* A shell: the volumes with the same nominal b-value. */
typedef struct clvox_shell {
    double b; /* their mean, rounded to 5 s/mm^2 */
    int volumes;
} clvox_shell;

/* The shells in rising order, for reports: neighbours in the sorted b-values
 * that are at most 80 s/mm^2 apart share one. Returns how many there are (or
 * CLVOX_ERROR_MEMORY), of which the first `room` are in out. */
CLVOX_API int clvox_gradients_shells(const clvox_gradients *gradients, clvox_shell *out, int room);

/* Order and axes of the six volumes of a tensor in a file.
 * FSL: Dxx Dxy Dxz Dyy Dyz Dzz in the axes of FSL's bvecs (those of the voxels,
 * x flipped where the grid's determinant is positive), as dtifit and DIPY
 * save it. MRtrix: Dxx Dyy Dzz Dxy Dxz Dyz in RAS. NIfTI: the lower triangle Dxx
 * Dyx Dyy Dzx Dzy Dzz as an axis of its own, intent SYMMATRIX, in RAS; the
 * standard leaves the frame open. DIPY: as NIfTI, in the axes of FSL's bvecs, as
 * dipy_fit_dti saves it. AUTO reads files with the intent SYMMATRIX as
 * NIfTI, refuses others, and writes NIfTI. */
typedef enum clvox_tensor_order {
    CLVOX_TENSOR_AUTO = 0,
    CLVOX_TENSOR_FSL,
    CLVOX_TENSOR_MRTRIX,
    CLVOX_TENSOR_NIFTI,
    CLVOX_TENSOR_DIPY
} clvox_tensor_order;

/* Reads a volume of six frames as a tensor (CLVOX_KIND_TENSOR, RAS). Errors and
 * ownership as clvox_volume_read; CLVOX_ERROR_DATA where the file has another
 * number of frames, says by its intent that its order is another, or, with AUTO,
 * says nothing. */
CLVOX_API int clvox_tensor_read(const char *path, clvox_tensor_order order, clvox_volume **out);

/* Writes a tensor as float32 in that order and frame. */
CLVOX_API int clvox_tensor_write(const clvox_volume *tensor, clvox_tensor_order order, const char *path);

/* Writes a volume of vectors in RAS (three frames) as float32, in RAS or, with
 * `fsl`, in the axes of FSL's bvecs, in which dtifit saves V1 and FSL's viewers
 * expect it. */
CLVOX_API int clvox_vectors_write(const clvox_volume *vectors, int fsl, const char *path);

/* Measures of a tensor with the eigenvalues l1 >= l2 >= l3 and their mean m. */
typedef enum clvox_measure {
    CLVOX_MEASURE_FA = 0, /* sqrt(3/2) |l - m| / |l| (Basser and Pierpaoli 1996); above 1 where l3 < 0 */
    CLVOX_MEASURE_MD,     /* m, mm^2/s */
    CLVOX_MEASURE_AD,     /* l1 */
    CLVOX_MEASURE_RD,     /* (l2 + l3) / 2 */
    CLVOX_MEASURE_MODE,   /* -1 planar to 1 linear: sqrt(54) times the product of the l - m over |l - m|^3
                             (Ennis and Kindlmann 2006), 0 where all are the same */
    CLVOX_MEASURE_CL,     /* linear (l1 - l2) / l1, */
    CLVOX_MEASURE_CP,     /* planar (l2 - l3) / l1, */
    CLVOX_MEASURE_CS,     /* spherical l3 / l1 (Westin et al. 2002); 0 where l1 <= 0 */
    CLVOX_MEASURE_L1,
    CLVOX_MEASURE_L2,
    CLVOX_MEASURE_L3,
    CLVOX_MEASURE_V1, /* eigenvectors, 3 frames in RAS, of length 1, the largest component of V1 and V2 */
    CLVOX_MEASURE_V2, /* positive, V3 = V1 x V2 */
    CLVOX_MEASURE_V3,
    CLVOX_MEASURES
} clvox_measure;

/* Bits of `wanted`: 1u << CLVOX_MEASURE_FA and so on; these are all. */
#define CLVOX_MEASURES_ALL ((1u << CLVOX_MEASURES) - 1)

/* Computes the wanted measures of a tensor. mask: on the same grid, 0 outside
 * becomes 0 in every measure; may be NULL. A tensor that is not finite gives
 * NaN, a tensor of zeros 0 and the axes. On success out[measure] of the wanted
 * ones are the caller's, the others NULL; on failure all are NULL. */
CLVOX_API int clvox_tensor_measures(clvox_context *ctx, const clvox_volume *tensor, const clvox_volume *mask,
                                    unsigned wanted, clvox_volume *out[CLVOX_MEASURES]);

/* Summary of maps of measures over the voxels of the mask (NULL: where there is a tensor). */
typedef struct clvox_measures_summary {
    size_t voxels;
    double fa_median, md_median; /* of the finite ones; NaN where there is none */
    size_t not_positive;         /* tensors with an eigenvalue of 0 or below */
    size_t not_finite;
} clvox_measures_summary;

/* maps: FA, MD and L3 are needed. CLVOX_ERROR_MEMORY. */
CLVOX_API int clvox_measures_summarise(clvox_volume *const maps[CLVOX_MEASURES], const clvox_volume *mask,
                                       clvox_measures_summary *out);

/* Writes the directions' colours, red left-right, green anterior-posterior, blue
 * superior-inferior, |V1| times FA of at most 1 (Pajevic and Pierpaoli 1999): a
 * volume of RGB24, or, where path ends with .png, a slice a plane through the
 * middle of what is coloured. NaN is black. */
CLVOX_API int clvox_tensor_write_colours(const clvox_volume *fa, const clvox_volume *v1, const char *path);

/* Coherence of fibres: how well neighbours along the principal direction agree, weighted
 * by FA (after Schilling et al. 2019), and whether flipping or swapping axes of the
 * gradients would raise it. FA does not show such errors; in a brain they lower the
 * coherence by a quarter or more. */
typedef struct clvox_coherence {
    char axes[12]; /* the order and signs of FSL's bvec axes that fit best: "x y z", "-x y z", "y x z" ... */
    double gain;   /* their coherence over that of "x y z"; 1 if too few voxels are anisotropic to tell */
} clvox_coherence;

/* v1 in RAS. */
CLVOX_API int clvox_tensor_coherence(const clvox_volume *fa, const clvox_volume *v1, clvox_coherence *out);

/* ---- denoising of tensors ------------------------------------------------- */

/* Definitions of total variation for tensors; the data term is always lambda/2 sum |D - f|^2 over all nine
 * entries. Minimised by algorithm 2 of Chambolle and Pock 2011, convex in D. */
typedef enum clvox_tensor_model {
    CLVOX_TENSOR_MODEL_LOCAL = 0, /* sum over voxels of |grad D|_F: edges of the components coincide */
    CLVOX_TENSOR_MODEL_PAPER,     /* sqrt(sum_ij TV[d_ij]^2) (Moazeni et al. 2009, whose equation 1 prints no
                                     root) */
    CLVOX_TENSOR_MODEL_LOG        /* LOCAL of the matrix logarithms */
} clvox_tensor_model;

typedef struct clvox_tensor_denoise_options {
    size_t size; /* of this struct, as clvox_tensor_denoise_defaults sets it */
    clvox_tensor_model model;
    int reweight;      /* rounds after plain total variation that smooth less where the round before
                          found an edge (Candes et al. 2008); not for PAPER; -1: two where
                          that is possible and bregman is -1 */
    int bregman;       /* Bregman iterations (Osher et al. 2005), 1: plain total variation; -1: three, or
                          none with rounds of reweighting */
    double lambda;     /* per 1e-3 mm^2/s (LOG: a number); -1: from the noise */
    int iterations;    /* of each Bregman iteration; -1: until the tolerance */
    double tolerance;  /* stop when the energy is known to be no more than this share above its minimum */
    clvox_progress progress; /* may be NULL */
    void *user;
} clvox_tensor_denoise_options;

typedef struct clvox_tensor_denoise_result {
    clvox_volume *tensor;
    double sigma;       /* noise that lambda comes from, mm^2/s; NaN where lambda was given */
    int guessed;        /* 1: estimated from the tensor itself, without a noise map */
    double structure;   /* difference between neighbours over that caused by noise alone (1: only noise); NaN
                           where lambda was given */
    double lambda;
    double energy[2];   /* of f and of the result, with the data term against f */
    double gap;         /* of the last Bregman iteration: (energy - dual) / energy */
    int iterations;     /* in all */
    int bregman;
    int reweight;       /* rounds */
    size_t voxels;      /* denoised: inside the mask, finite and not all zero */
    size_t not_finite;  /* of the mask: left as they are, */
    size_t empty;       /* so are tensors of zeros */
    size_t not_positive; /* before: with an eigenvalue below 1e-5 mm^2/s, none after */
    size_t device_bytes;
    double seconds;
} clvox_tensor_denoise_result;

/* The local model, two rounds of reweighting, lambda from the noise and from how much of the
 * differences between neighbours it explains. */
CLVOX_API void clvox_tensor_denoise_defaults(clvox_tensor_denoise_options *options);

/* The options by name (clvox/options.h). Static. */
CLVOX_API const clvox_option_table *clvox_tensor_denoise_table(void);

/* Denoises a tensor by total variation; differences of neighbours are over the
 * smallest edge, and only between voxels of the mask (above 0; NULL: everywhere).
 * noise: the standard deviation of the tensor's components on the same grid, as
 * clvox_tensor_fit makes it; NULL: estimated from the tensor where lambda is -1, which
 * mistakes fine anatomy for noise. Eigenvalues end at 1e-5 mm^2/s or above; voxels
 * that are not denoised are copied. options NULL: the defaults. Errors: CLVOX_ERROR_ARGUMENT, _DATA (no
 * voxel, other grids, no noise), _STOPPED. On success result->tensor is the caller's, to be released with
 * clvox_volume_destroy; on failure NULL. */
CLVOX_API int clvox_tensor_denoise(clvox_context *context, const clvox_volume *tensor,
                                   const clvox_volume *noise, const clvox_volume *mask,
                                   const clvox_tensor_denoise_options *options,
                                   clvox_tensor_denoise_result *result);

/* The usual edge of the PCA windows of a scan, in voxels: 5, or as many as it takes for a window to hold more
 * voxels than there are volumes (fewer only where the grid has no more). */
CLVOX_API int clvox_dwi_window(const clvox_volume *dwi);

/* Removes noise from a diffusion-weighted scan by Marchenko-Pastur PCA (Veraart
 * et al. 2016) in windows of 2 radius + 1 voxels a side (0: clvox_dwi_window), smaller
 * along axes shorter than that. The noise must be uncorrelated between voxels: denoise
 * before any interpolation. A scan with values below 0 is taken for signed data, whose
 * results keep their sign; that of others has no values below 0. mask: on dwi's grid,
 * above 0 inside, 0 comes out elsewhere; may be NULL. noise: its standard deviation in
 * every voxel, 0 where no window reached. Errors: CLVOX_ERROR_ARGUMENT, _DATA (fewer
 * than two volumes), _MEMORY. On success *out and *noise are the caller's, to be
 * released with clvox_volume_destroy; on failure NULL. */
CLVOX_API int clvox_dwi_denoise(clvox_context *context, const clvox_volume *dwi, const clvox_volume *mask,
                                int radius, clvox_volume **out, clvox_volume **noise);

/* ---- from a scan to tensors ---------------------------------------------- */

typedef enum clvox_tensor_method {
    CLVOX_TENSOR_OLS = 0, /* least squares on the signal's logarithm */
    CLVOX_TENSOR_WLS,     /* weighted by the squared signal that a fit by the measured one predicts */
    CLVOX_TENSOR_IWLS,    /* iteratively reweighted */
    CLVOX_TENSOR_NLLS     /* least squares on the signal itself */
} clvox_tensor_method;

/* The noise level of a scan: the median of its map of standard deviations (clvox_dwi_denoise) where that is
 * above 0; 0 where it is nowhere. CLVOX_ERROR_MEMORY. */
CLVOX_API int clvox_noise_level(const clvox_volume *noise, double *level);

/* Denoising of the scan before the fit. */
typedef enum clvox_scan_denoise {
    CLVOX_SCAN_AS_IT_IS = 0,
    CLVOX_SCAN_MPPCA /* clvox_dwi_denoise */
} clvox_scan_denoise;

typedef struct clvox_tensor_fit_options {
    size_t size; /* of this struct, as clvox_tensor_fit_defaults sets it */
    clvox_tensor_method method;
    int robust;  /* 1: in each voxel, volumes more than 3 noise levels off are rejected, no shell whole */
    double bmax; /* s/mm^2: volumes of more (and 5% for what scanners round) are left out; 0: none */
    int steps;   /* of iwls and nlls; 0: the usual number (4, 10) */
    clvox_scan_denoise denoise;
    int window;  /* of that, voxels along a side, odd; 0: clvox_dwi_window */
    int keep_scan; /* 1: what is fitted after that comes out as well */
} clvox_tensor_fit_options;

/* Result of a fit. Measurements at or below 0, and those that are not finite, have no weight. Volumes are on the
 * scan's grid, 0 where nothing was fitted. */
typedef struct clvox_tensor_fit_result {
    clvox_volume *tensor; /* CLVOX_KIND_TENSOR */
    clvox_volume *s0;     /* the signal without weighting */
    clvox_volume *sigma;  /* standard deviation of the tensor's noise, mm^2/s: root mean square over the six
                             components, off-diagonal ones times sqrt 2. From the residuals, with volumes - 7
                             degrees of freedom, through the design; 0 with 7 volumes */
    clvox_volume *noise;  /* standard deviation of the signal, from the same residuals. Of a scan that was
                             denoised both are what remains of scan_noise: its residuals are what PCA left of
                             them, 15 times too small to say how wrong the tensors are */
    clvox_volume *scan_noise; /* that of clvox_dwi_denoise; NULL without, */
    clvox_volume *scan;       /* and the scan without it; NULL but with keep_scan */
    double median_sigma, median_noise; /* over the fitted voxels */
    int volumes;              /* taken: those up to bmax */
    size_t asked;             /* voxels of the mask */
    size_t fitted;
    size_t without_signal;    /* not fitted: nothing above 0 at the lowest b, or too little elsewhere */
    size_t not_finite;        /* not fitted: the same for NaN or infinite values */
    size_t left_out;          /* fitted without some measurements, which are at or below 0 or not finite */
    size_t far_s0;            /* with s0 off the mean at the lowest b by 25% and by 3 standard errors */
    size_t made_positive;     /* with an eigenvalue below 1e-5 mm^2/s, which was raised to that */
    size_t voxels_with_rejects, rejects; /* robust: voxels, and measurements in all */
    double seconds_scan, seconds;        /* of denoising the scan, of the fit */
} clvox_tensor_fit_result;

/* The weighted fit of all volumes of the scan as it is. */
CLVOX_API void clvox_tensor_fit_defaults(clvox_tensor_fit_options *options);

/* The options by name (clvox/options.h). Static. */
CLVOX_API const clvox_option_table *clvox_tensor_fit_table(void);

/* Mask of a scan's tissue: the root of the mean of all its volumes at or above Otsu's threshold. It is no brain
 * extraction, but keeps air, whose noise is not that of tensors, from deciding how strongly to denoise.
 * CLVOX_ERROR_DATA where no voxel is above 0. The caller's; on failure NULL. */
CLVOX_API int clvox_dwi_mask(const clvox_volume *dwi, clvox_volume **out);

/* Fits ln S = ln S0 - b g^T D g in every voxel; volumes without weighting are
 * measurements like all others. gradients: an entry for each frame of dwi. mask:
 * on dwi's grid, above 0 inside; NULL: everywhere. options NULL: the defaults.
 * D is in RAS, as the gradients are. Errors: CLVOX_ERROR_ARGUMENT,
 * CLVOX_ERROR_DATA where the gradients do not determine a tensor or no voxel has a signal. On success the
 * volumes of *out are the caller's, to be released with
 * clvox_tensor_fit_result_destroy; on failure they are NULL. */
CLVOX_API int clvox_tensor_fit(clvox_context *context, const clvox_volume *dwi,
                               const clvox_gradients *gradients, const clvox_volume *mask,
                               const clvox_tensor_fit_options *options, clvox_tensor_fit_result *out);

/* Releases the volumes and sets them to NULL. */
CLVOX_API void clvox_tensor_fit_result_destroy(clvox_tensor_fit_result *result);

#ifdef __cplusplus
}
#endif

#endif
