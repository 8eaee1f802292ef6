/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_MATCH_AFFINE_METRIC_H
#define CLV_OP_MATCH_AFFINE_METRIC_H

#include "op/image.h"

/* Sums over two images for a linear registration, for many maps in one launch. Samples are the voxels x of the
 * fixed image on rows whose y and z are multiples of step; M(p), p = map (x, 1), is the moving image, trilinear,
 * and g(p) the gradient of that interpolation along the moving voxels (0 where the border's value goes on). A
 * sample counts where F is a number, p lies inside (up to half a voxel beyond the outermost centres) and no corner
 * of p's cell is NaN: masks are NaN outside. Images lie in [0, 1] (clv_affine_prepare). */
typedef struct clv_affine_pair {
    clv_image fixed, moving;
    int step[2];         /* of rows along y and along z, 1 for all */
    float centre[3];     /* of k below, in fixed voxels */
    const clv_buffer *maps; /* 3 rows of 4 floats a map: fixed voxel -> moving voxel */
    int count;           /* maps */
    /* NULL, or the samples' weights on the fixed grid, for the sums of PAIR. With them M and g are
     * smooth: by quadratic B-splines whose coefficients are the voxels, the outermost going on
     * beyond the grid, and a sample counts where none of the 27 voxels around p is NaN. */
    const clv_buffer *weights;
} clv_affine_pair;

/* Sums of clv_affine_sums for one map, with k = x - centre:
 *   n, F, M, FF, MM, FM;
 *   for each set of derivatives s: s g_j {1, kx, ky, kz}, j = x, y, z, 12 floats a set;
 *   w g_i g_j, ij = xx xy xz yy yz zz, each with {1, kx, ky, kz, kxkx, kxky, kxkz, kyky, kykz, kzkz}. */
enum {
    CLV_AFFINE_DERIVATIVE = 6,
    CLV_AFFINE_MOST_SUMS = 6 + 36 + 60
};
#define CLV_AFFINE_MOST_BINS 128

typedef enum clv_affine_source {
    CLV_AFFINE_PAIR,  /* three sets: s = 1, F, M; w = 1; every term times the sample's weight */
    CLV_AFFINE_TABLE, /* s = dS/dM from a table, w from it by F's bin */
    CLV_AFFINE_IMAGE  /* s an image on the fixed grid, w = 1 */
} clv_affine_source;

/* Number of sums of a map: 102 for PAIR, 78 for the others. */
int clv_affine_sum_count(clv_affine_source source);

/* out = min(max(scale in + offset, 0), 1), NaN where in is. With share (a mask
 * in [0, 1], as large) in is an image times its mask, both smoothed alike: in /
 * share takes its place, and where share is below one half out is NaN. out may
 * be in. */
int clv_affine_prepare(clvox_context *ctx, const clv_buffer *in, const clv_buffer *share, int n,
                       float scale, float offset, clv_buffer *out);

/* An image I, I^2 and 1, each 0 where I is NaN, smoothed alike. */
typedef struct clv_surroundings {
    const clv_buffer *mean, *square, *share;
} clv_surroundings;

/* out = (I - m) / (6 (s + epsilon)), kept to [-1/2, 1/2], NaN where I is: m =
 * mean / share and s^2 = square / share - m^2. The outermost rim voxels along
 * each axis are NaN. out may be the image's buffer. */
int clv_affine_localise(clvox_context *ctx, const clv_image *image, const clv_surroundings *surroundings,
                        const int rim[3], float epsilon, clv_buffer *out);

/* Joint histograms: counts (uint32, [map][bin of F][bin of M]) of the samples,
 * F by equal bins (bin floor(F bins), the last for 1), M by cubic B-splines of
 * which spline b is centred on M = (b - 1) / (bins - 3), so that the counts are
 * smooth in the map. A sample counts unit, rounded spline by spline; unit times
 * the number of samples stays below 2^32. The same bits run after run.
 * 8 <= bins <= 128. */
int clv_affine_histogram(clvox_context *ctx, const clv_affine_pair *pair, int bins, unsigned unit,
                         clv_buffer *counts);

/* Sources of s and w of the sums. TABLE: values holds, for each map, L[bin of F][spline of M] and then w[bin of F]
 * (bins (bins + 1) floats); s = sum over splines b of L[f][b] dB_b/dM. IMAGE: values are on the fixed grid, for one
 * map. PAIR: there are no values. */
typedef struct clv_affine_derivatives {
    clv_affine_source source;
    const clv_buffer *values;
    int bins; /* of tables */
} clv_affine_derivatives;

/* The sums, out[map][sum], in a fixed order. partial: clv_affine_partials floats at least. */
int clv_affine_sums(clvox_context *ctx, const clv_affine_pair *pair,
                    const clv_affine_derivatives *derivatives, clv_buffer *partial, clv_buffer *out);

size_t clv_affine_partials(const clv_affine_pair *pair);

extern const clv_entry clv_entry_affine_prepare, clv_entry_affine_histogram, clv_entry_affine_sums,
    clv_entry_affine_join, clv_entry_affine_localise;

#endif
