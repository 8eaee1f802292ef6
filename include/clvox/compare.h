/* SPDX-License-Identifier: Apache-2.0 */
/* How alike two images, label maps or warps on one grid are: computed on the host in double precision, so
 * that the figures are the same on every device. Surfaces: clvox_surface_compare. */
#ifndef CLVOX_COMPARE_H
#define CLVOX_COMPARE_H

#include <stddef.h>
#include <stdint.h>

#include "clvox/registration.h"
#include "clvox/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- metrics in words ---------------------------------------------------- */

enum { CLVOX_MAX_METRICS = 16 }; /* room for those of later versions */

/* A metric as the command line and reports name it. All texts are static. */
typedef struct clvox_metric_text {
    const char *name;      /* "lncc" */
    const char *also;      /* what others call it, "cc"; NULL: the same */
    const char *title;     /* "LNCC" */
    const char *unit;      /* of its value, "nats"; NULL: none */
    const char *parameter; /* the number that it takes, "RADIUS"; NULL: none */
    const char *meaning;   /* of that number N: "cubes of 2 N + 1 voxels"; NULL: no parameter */
    int compared;          /* 1: clvox_compare_images computes it */
    int compares_values; /* 1: equal tissue needs equal values: registration matches intensities */
    int least, standard, most; /* of the parameter in clvox_compare_images; 0 where it is not compared */
} clvox_metric_text;

/* Describes metric number `at` (clvox_metric). Returns 1, or 0 where there is none of that number; *out is
 * then untouched. */
CLVOX_API int clvox_metric_describe(int at, clvox_metric_text *out);

/* ---- images -------------------------------------------------------------- */

typedef struct clvox_compare_options {
    size_t size; /* of this struct, as clvox_compare_defaults sets it */
    /* By clvox_metric: the radius of LNCC's cubes, the bins of MI and NMI. */
    int parameter[CLVOX_MAX_METRICS];
} clvox_compare_options;

/* Cubes of 9 voxels, 64 bins. */
CLVOX_API void clvox_compare_defaults(clvox_compare_options *options);

typedef struct clvox_image_comparison {
    size_t values;    /* compared: of all frames, inside the mask, neither NaN nor infinite */
    size_t differing; /* of them, those with a != b */
    double largest;   /* largest |a - b| */
    double rms;       /* root of the mean squared difference */
    /* By clvox_metric; NaN for those that are not computed (MIND), and where an image is constant.
     *   SSD   sum of squared differences
     *   NCC   Pearson's correlation
     *   LNCC  mean of the squared local correlation, the CC of ANTs, in cubes of 2 radius + 1 voxels
     *         cut at the border; voxels whose cube is constant in one image are passed over
     *   MI    H(A) + H(B) - H(A, B) in nats, of so many equal bins from the smallest to the largest
     *         value of either image */
    double metric[CLVOX_MAX_METRICS];
    double nmi; /* (H(A) + H(B)) / H(A, B), from 1 to 2 */
} clvox_image_comparison;

/* Compares two images, frame by frame, inside mask (above 0, on their grid; NULL: everywhere). options NULL:
 * the defaults. CLVOX_ERROR_ARGUMENT where grids or frames differ or a parameter is out of range, _DATA where
 * nothing is left to compare, _MEMORY; *out is then of no use. */
CLVOX_API int clvox_compare_images(const clvox_volume *a, const clvox_volume *b, const clvox_volume *mask,
                                   const clvox_compare_options *options, clvox_image_comparison *out);

/* ---- label maps ---------------------------------------------------------- */

typedef struct clvox_label_comparison {
    int label;
    size_t voxels_a, voxels_b, voxels_both;
    double dice, jaccard;
    /* mm: the larger of the two directed 95th percentiles of the distance between the label's border
     * voxels; NaN where the label is absent from one map. */
    double hausdorff95;
    /* voxels_both over voxels_b, b being the target (Ha 2011, equation 3.14); NaN where b has none. */
    double target_overlap;
} clvox_label_comparison;

/* One row for each label other than 0 that occurs in either map (rounded to whole numbers, inside the mask),
 * in ascending order. Returns the number of rows, and *out is the caller's, for
 * clvox_label_comparison_destroy; on failure *out is NULL. CLVOX_ERROR_ARGUMENT where grids differ or a map
 * has several frames, _DATA for none or more than 8192 labels and for labels beyond int, _MEMORY. */
CLVOX_API int clvox_compare_labels(const clvox_volume *a, const clvox_volume *b, const clvox_volume *mask,
                                   clvox_label_comparison **out);

/* Releases the rows and sets *rows to NULL. NULL is legal. */
CLVOX_API void clvox_label_comparison_destroy(clvox_label_comparison **rows);

/* How large a label is, and where it lies. */
typedef struct clvox_label_measure {
    int64_t label;
    size_t voxels;
    double mm3;
    double centroid[3]; /* the mean of its voxels' centres, RAS mm */
} clvox_label_measure;

/* One row for each label other than 0 (NaN and infinite values count as 0), in ascending order. Returns the
 * number of rows, 0 for an empty map, and *out is the caller's, for clvox_label_measure_destroy; on failure
 * *out is NULL. Labels above 2^24 are exact where clvox_labels_read read them. CLVOX_ERROR_ARGUMENT where
 * the map has several values per voxel, _DATA for fractions and for more than 8192 labels, _MEMORY. */
CLVOX_API int clvox_labels_measure(const clvox_volume *labels, clvox_label_measure **out);

/* Releases the rows and sets *rows to NULL. NULL is legal. */
CLVOX_API void clvox_label_measure_destroy(clvox_label_measure **rows);

/* ---- warps --------------------------------------------------------------- */

typedef struct clvox_warp_comparison {
    size_t voxels;
    double mean_mm, p95_mm, max_mm;             /* of the end-point error |u_a - u_b| */
    double mean_voxels, p95_voxels, max_voxels; /* the same in voxels of the grid */
    size_t not_finite;                          /* voxels with NaN or infinity in one of them, left out */
} clvox_warp_comparison;

/* Compares two displacements (3 frames, RAS mm) inside mask. Errors are clvox_compare_images'. */
CLVOX_API int clvox_compare_warps(const clvox_volume *a, const clvox_volume *b, const clvox_volume *mask,
                                  clvox_warp_comparison *out);

#ifdef __cplusplus
}
#endif

#endif
