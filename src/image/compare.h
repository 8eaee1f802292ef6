/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of image comparisons (clvox/compare.h). */
#ifndef CLV_IMAGE_COMPARE_H
#define CLV_IMAGE_COMPARE_H

#include "clvox/volume.h"

/* Two images on one grid, inside the mask (above 0; NULL: everywhere), all
 * frames, and what every metric of them starts from. */
typedef struct clv_comparison {
    const clvox_volume *a, *b, *mask;
    size_t values;    /* compared: inside the mask, neither value NaN or infinite */
    double ssd;       /* sum of squared differences */
    double largest;   /* largest |a - b| */
    size_t differing; /* values with a != b */
    double mean[2], low[2], high[2];
    double squares[2], products; /* sums, less the means */
} clv_comparison;

/* CLVOX_ERROR_ARGUMENT when grids or frames differ, CLVOX_ERROR_DATA when
 * nothing is left to compare. */
int clv_compare_begin(const clvox_volume *a, const clvox_volume *b, const clvox_volume *mask,
                      clv_comparison *out);

/* Its metrics. ncc: Pearson's correlation, NaN where one image is constant. lncc:
 * mean of the squared local correlation (the CC of ANTs) in cubes of 2 parameter
 * + 1 voxels, cut at the border; voxels whose cube is constant in one image are
 * passed over. mi, in nats, and nmi, (H(A) + H(B)) / H(A, B), 1 to 2: of
 * `parameter` equal bins, 2 to 1024, from the smallest to the largest value of
 * each image. */
int clv_compare_ssd(const clv_comparison *c, int parameter, double *value);
int clv_compare_ncc(const clv_comparison *c, int parameter, double *value);
int clv_compare_lncc(const clv_comparison *c, int parameter, double *value);
int clv_compare_mi(const clv_comparison *c, int parameter, double *value);
int clv_compare_nmi(const clv_comparison *c, int parameter, double *value);

/* The value below which a share q (0 to 1) of the n values lies, by linear
 * interpolation of the order statistics; sorts them in place. NaN when n is 0. */
double clv_quantile(double *values, size_t n, double q);

/* Squared distances in mm^2, exact, from each voxel to the nearest with
 * marked != 0 (Felzenszwalb and Huttenlocher 2012), axes taken as orthogonal
 * with that spacing. No voxel marked: 1e300 everywhere. */
int clv_distance_squared(const unsigned char *marked, const int size[3], const double spacing[3],
                         double *out);

#endif
