/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_MATCH_AFFINE_METRIC_H
#define REF_MATCH_AFFINE_METRIC_H

#include "op/match/affine_metric.h"

/* One sample that counts: both values, the gradient of the moving one along its
 * voxels, the place from the centre, the index on the fixed grid. */
typedef struct ref_affine_sample {
    double fixed, moving, gradient[3], from_centre[3], weight;
    int at;
} ref_affine_sample;

/* The samples of clv_affine_pair for one map, in order; at most a fixed voxel
 * each. weights: NULL, or of the fixed voxels, for smooth samples. Returns their number. */
int ref_affine_samples(const float *fixed, const int size[3], const float *moving, const int moving_size[3],
                       const int step[2], const double centre[3], const double map[3][4],
                       const float *weights, ref_affine_sample *out);

/* Counts in samples: bins x bins. */
void ref_affine_histogram(const ref_affine_sample *samples, int count, int bins, double *counts);

/* The sums of clv_affine_sums. */
void ref_affine_sums(const ref_affine_sample *samples, int count, clv_affine_source source, int bins,
                     const float *table, const float *derivatives, double *sums);

/* Mutual information of the samples, and their squared correlation, weighted; derivatives by the 12
 * entries of the map, from sums (4 j + k: row j, column k). */
double ref_affine_information(const ref_affine_sample *samples, int count, int bins, float *table);
double ref_affine_correlation(const ref_affine_sample *samples, int count);
void ref_affine_correlation_derivatives(const double *sums, double derivatives[12]);

#endif
