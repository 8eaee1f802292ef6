/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_STATS_H
#define CLVOX_STATS_H

#include "clvox/device.h"
#include "clvox/options.h"
#include "clvox/progress.h"
#include "clvox/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Permutation tests of the maps of several subjects, voxel by voxel, by a general linear model. */

typedef struct clvox_stats_design {
    int subjects;
    /* The tested column: a number for each subject; 0 and 1 compare two groups (a pooled two-sample t). NULL: the
     * mean against 0. */
    const double *tested;
    /* Nuisance covariates, besides the constant: covariate c of subject s at c * subjects + s. May be NULL.
     * In a test of the mean they are centred: the mean is that at average covariates. */
    const double *covariates;
    int covariate_count;
    const char *const *names; /* for messages: of the tested column, then of the covariates. NULL: none */
} clvox_stats_design;

typedef enum clvox_connectivity {
    CLVOX_CONNECTIVITY_6 = 0, /* faces */
    CLVOX_CONNECTIVITY_26     /* faces, edges and corners */
} clvox_connectivity;

typedef struct clvox_stats_options {
    size_t size; /* of this struct, as clvox_stats_defaults sets it */
    int permutations; /* 5000; if no more than this exist, each is done once */
    int seed;
    int two_sided;                   /* |t| instead of t */
    int less;                        /* a negative effect instead of a positive one: t changes its sign */
    int one_minus_p;                 /* maps hold 1 - p, as those of FSL randomise do */
    int tfce;                        /* also by threshold-free cluster enhancement (Smith and Nichols 2009) */
    double tfce_height, tfce_extent; /* H and E: 2 and .5 */
    clvox_connectivity tfce_connectivity;
    double memory; /* limit of device memory, MiB; 0: all that is free. The result does not depend on it */
    clvox_progress progress; /* may be NULL */
    void *user;
} clvox_stats_options;

/* The values named above, and connectivity 6, as in FSL randomise and PALM. */
CLVOX_API void clvox_stats_defaults(clvox_stats_options *options);

/* The options by name (clvox/options.h). Static. */
CLVOX_API const clvox_option_table *clvox_stats_table(void);

/* A statistic and its p-values. Where a voxel is not tested the statistic is 0 and p is 1. */
typedef struct clvox_stats_map {
    clvox_volume *statistic;
    clvox_volume *p;     /* of the voxel alone */
    clvox_volume *p_fwe; /* against the largest statistic of all voxels: family-wise */
    double largest;      /* of the statistic; with two_sided, of its absolute value */
    int peak[3];         /* the voxel where that is */
    double smallest_p, smallest_p_fwe;
    double threshold;   /* above it p_fwe is at most .05; NaN: with so few permutations it never is */
    size_t significant; /* voxels with a p_fwe of at most .05 */
} clvox_stats_map;

typedef struct clvox_stats_result {
    clvox_stats_map t, tfce; /* the latter's volumes NULL without options.tfce */
    int dof;
    int permutations;     /* done, including the unpermuted data */
    int exact;            /* 1: exhaustive, all that exist */
    size_t asked, tested; /* voxels of the mask, and of them those with values to test */
    size_t not_finite;    /* left out: a subject's value is NaN or infinite */
    size_t constant;      /* left out: all subjects have one value, or the nuisances explain all */
    size_t perfect; /* left out: with the tested column the design explains all (groups of one value each) */
} clvox_stats_result;

/* Tests the maps: count volumes of one frame on one grid, one a subject, or one volume (count 1) with as many frames as
 * there are subjects. mask (on their grid, above 0; NULL: everywhere) says which voxels are a family.
 *
 * With the design [Z x], x the tested column and Z the nuisances with the constant, t is that of x in the least-squares
 * fit, with subjects - columns degrees of freedom. Permutations are those of Freedman and Lane (1983): the residuals
 * of the data against Z are permuted and the model is fitted anew; for the mean their signs are flipped instead
 * (subjects are symmetric around it). Where the permutations that differ (of two groups n over k; n! over those of
 * subjects with the same row; 2^n flips) are no more than options->permutations, each is done once; else the first
 * is the data as they are, and the others are drawn at random.
 *
 *   p     = permutations in which the statistic at the voxel is at least that of the data / permutations
 *   p_fwe = permutations in which the largest statistic of all voxels is at least that of the voxel / permutations
 *
 * where equal means equal to 1e-5 of the value. A voxel has a t where more of its variance is left than
 * float32 rounds away (2.5e-13 of the sum of squares of its values); in permutations that leave less t is 0.
 * TFCE sums extent^E h^H dh over h = dh, 2 dh, ..., dh a hundredth of the largest t of the data (at least
 * .001, at most .1), over clusters of t >= h; with two_sided over those of t <= -h too.
 *
 * The same bits for a seed on a device. Host memory: the maps, as much again for their residuals in the mask, and with
 * tfce 160 MiB or more.
 *
 * options NULL: the defaults. On success the result is the caller's, for clvox_stats_result_destroy; on
 * failure it holds nothing. CLVOX_ERROR_ARGUMENT: maps on different grids, counts that do not fit, options
 * out of range; _DATA: a design whose columns depend on each other or that leaves no degree of freedom, or no
 * voxel to test; _STOPPED. */
CLVOX_API int clvox_stats(clvox_context *context, const clvox_volume *const *maps, int count,
                          const clvox_stats_design *design, const clvox_volume *mask,
                          const clvox_stats_options *options, clvox_stats_result *result);

/* Releases what the result holds. NULL is legal. */
CLVOX_API void clvox_stats_result_destroy(clvox_stats_result *result);

/* ---- entropy of a template ------------------------------------------------ */

typedef struct clvox_entropy_options {
    size_t size; /* of this struct, as clvox_entropy_defaults sets it */
    int draws; /* 100 */
    int bins;  /* 256 */
    int seed;
    clvox_progress progress; /* may be NULL */
    void *user;
} clvox_entropy_options;

/* The values named above. */
CLVOX_API void clvox_entropy_defaults(clvox_entropy_options *options);

/* The options by name (clvox/options.h). Static. */
CLVOX_API const clvox_option_table *clvox_entropy_table(void);

/* Templates of so many subjects. */
typedef struct clvox_entropy_row {
    int subjects;
    double mean, sd; /* of the entropy over the draws, in bits; of one draw sd is 0 */
    double low, high; /* 95% interval of the mean, by 1000 bootstrap samples of the draws */
} clvox_entropy_row;

typedef struct clvox_entropy_result {
    clvox_entropy_row *row; /* of 1, 2, ... subjects */
    int rows;
    double lowest, highest; /* values that the histograms span */
    size_t asked, counted;  /* voxels of the mask, and of them those where all subjects are finite */
} clvox_entropy_result;

/* Entropy of a template's intensity against the number of its subjects (Lorenzen et al. 2006): how many are
 * enough. maps and mask are those of clvox_stats: subjects' images brought to one grid, of alike
 * intensities. A draw is a random order of the subjects; its template of k is the mean of the first k, and
 *
 *   H = -sum p_b log2 p_b
 *
 * over the histogram of the template in the mask, its bins between the smallest and the largest value of
 * all images. The same for any order of threads; of all subjects the template, and H, are the same in all
 * draws, bit for bit. Host alone; memory: as clvox_stats, and 8 bytes a voxel and thread. On success the
 * rows are the caller's, for clvox_entropy_result_destroy; on failure NULL. Errors: as clvox_stats; _DATA: no
 * voxel to count. */
CLVOX_API int clvox_entropy(const clvox_volume *const *maps, int count, const clvox_volume *mask,
                            const clvox_entropy_options *options, clvox_entropy_result *result);

/* Releases the rows. NULL is legal. */
CLVOX_API void clvox_entropy_result_destroy(clvox_entropy_result *result);

#ifdef __cplusplus
}
#endif

#endif
