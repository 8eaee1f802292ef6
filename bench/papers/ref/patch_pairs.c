/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/ref/patch_pairs.h"

#include "ref/surface/patch_search.h"

void ref_patch_pairs(const float *phi, const int size[3], const int *band, int count, int radius, int most,
                     int *neighbours, double *distances)
{
    ref_patch_search(phi, size, band, count, radius, most, 0, neighbours, distances);
}
