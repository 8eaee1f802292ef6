/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_LINEAR_H
#define REF_LINEAR_H

#include "op/linear.h"

/* One sample that counts: both values, the slopes of the moving one along its
 * voxels, the place from the centre, the index on the fixed grid. */
typedef struct ref_linear_sample {
    double fixed, moving, slope[3], from_centre[3], weight;
    int at;
} ref_linear_sample;

/* The samples of clv_linear_pair for one map, in order; at most a fixed voxel
 * each. weights: NULL, or of the fixed voxels, for smooth samples. Returns their number. */
int ref_linear_samples(const float *fixed, const int size[3], const float *moving, const int moving_size[3],
                       const int step[2], const double centre[3], const double map[3][4],
                       const float *weights, ref_linear_sample *out);

/* Counts in samples: bins x bins. */
void ref_linear_histogram(const ref_linear_sample *samples, int count, int bins, double *counts);

/* The sums of clv_linear_sums. */
void ref_linear_sums(const ref_linear_sample *samples, int count, clv_linear_source source, int bins,
                     const float *table, const float *slopes, double *sums);

/* Mutual information of the samples, and their squared correlation, weighted; slopes by the 12
 * entries of the map, from sums (4 j + k: row j, column k). */
double ref_linear_information(const ref_linear_sample *samples, int count, int bins, float *table);
double ref_linear_correlation(const ref_linear_sample *samples, int count);
void ref_linear_correlation_slopes(const double *sums, double slopes[12]);

#endif
