/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_PAPERS_PATCH_PAIRS_H
#define REF_PAPERS_PATCH_PAIRS_H

/* As clv_patch_pairs, in double: what ref_patch_search finds in the whole band. */
void ref_patch_pairs(const float *phi, const int size[3], const int *band, int count, int radius, int most,
                     int *neighbours, double *distances);

#endif
