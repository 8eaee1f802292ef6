/* SPDX-License-Identifier: Apache-2.0 */
/* Difference of a voxel's value from what its histogram expects: r = u - E(u), E by `bins` equally spaced places
 * from low on, constant beyond; 0 outside of the mask. */
#include "common/field_row.clh"

static inline float residual_of(float u, float mask, __global const float *table, float low, float scale,
                                int bins)
{
    float place = (u - low) * scale;
    place = place > 0.0f ? min(place, (float)(bins - 1)) : 0.0f;
    int at = min((int)place, bins - 2);
    float before = table[at], f = place - (float)at;
    return mask > 0.0f ? u - (before + f * (table[at + 1] - before)) : 0.0f;
}

/* MARCH voxels a work-item: one on a GPU, a run of them on a CPU device. */
__kernel void sharpen_voxels(__global const float *u, __global const float *mask, __global const float *table,
                             float low, float scale, int bins, __global float *r, int n)
{
    int first = (int)get_global_id(0) * MARCH, last = first + min(MARCH, n - first);
    for (int i = first; i < last; i++)
        r[i] = residual_of(u[i], mask[i], table, low, scale, bins);
}
