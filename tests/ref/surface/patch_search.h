/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_SURFACE_PATCH_SEARCH_H
#define REF_SURFACE_PATCH_SEARCH_H

/* As clv_patch_search, every pair, in double: neighbours and distances of `most`
 * for each of count voxels; reach 0: of the whole band. */
void ref_patch_search(const float *phi, const int size[3], const int *band, int count, int radius, int most,
                    double reach, int *neighbours, double *distances);

/* The squared distance of the patches round voxels a and b. */
double ref_nlm_distance(const float *phi, const int size[3], int radius, int a, int b);

#endif
