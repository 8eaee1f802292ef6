/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_SURFACE_NLM_H
#define REF_SURFACE_NLM_H

/* Fills band (linear indices) and index (place in band, or -1); returns the count. */
int ref_nlm_band(const float *phi, const int size[3], double delta, int *band, int *index);

/* The patch around voxel `at`: (2 radius + 1)^3 samples. */
void ref_nlm_patch(const float *phi, const int size[3], int at, int radius, double *patch);

/* The `most` nearest patches of the band, by (distance, place); -1 and INFINITY
 * where there are fewer. */
void ref_nlm_nearest(const float *phi, const int size[3], const int *band, int count, int radius, int most,
                    int *neighbours, float *distances);

/* Squared distance from the least-squares quadratic, by normal equations; quadratic
 * (may be NULL) receives it. */
double ref_nlm_residual(const double *patch, int radius, double *quadratic);

double ref_nlm_weight(const int size[3], const float spacing[3], int a, int b, double distance, double c1,
                      double c2);

/* One step of the paper, in place. */
void ref_nlm_step(float *phi, const int *band, const int *neighbours, const double *weights, int count,
                  int most);

/* Whole patches averaged, then their overlaps: out is the band's values. */
void ref_nlm_average(const float *phi, const int size[3], const int *band, const int *neighbours,
                     const double *weights, int count, int most, int radius, double own, double *out);

double ref_nlm_volume(const float *phi, const int size[3], double level);

#endif
