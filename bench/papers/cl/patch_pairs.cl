/* SPDX-License-Identifier: Apache-2.0 */
/* The search of Lee et al. 2012, section 3.1.2: a work-item compares the patch of
 * its row with one patch after the other of a subset that lies in constant
 * (FORM 0), global (1) or image memory (2), and sorts it into its row's
 * neighbours; the host goes through the band in passes. */
#include "surface/patch_search.clh"

#if FORM == 0
#define SUBSET __constant float4 *subset
#define SAMPLE(i) subset[i]
#elif FORM == 1
#define SUBSET __global const float4 *subset
#define SAMPLE(i) subset[i]
#else
#define SUBSET __read_only image1d_buffer_t subset
#define SAMPLE(i) read_imagef(subset, i)
#endif

/* n: rows, stride of a patch, patches of the subset, neighbours. rows_at: patches
 * in panels of 16. first: index of the subset's first patch. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
patch_pairs(__global float *scratch, SUBSET, __global int *neighbours, __global float *distances, int4 n,
            int rows_at, int first)
{
    int row = get_global_id(0), most = n.w, quads = n.y / 4;
    if (row >= n.x)
        return;
    __global const float *own = REGION(scratch, rows_at) + (size_t)(row / 16) * n.y * 16 + row % 16;
    __global float *distance = distances + (size_t)row * most;
    __global int *neighbour = neighbours + (size_t)row * most;
    float worst = distance[most - 1];
    for (int c = 0; c < n.z; c++) {
        float sum = 0.0f;
        for (int q = 0; q < quads; q++) {
            float4 v = SAMPLE(c * quads + q);
            float x = own[64 * q] - v.x, y = own[64 * q + 16] - v.y;
            float z = own[64 * q + 32] - v.z, w = own[64 * q + 48] - v.w;
            sum += x * x;
            sum += y * y;
            sum += z * z;
            sum += w * w;
        }
        /* Subsets come in ascending order: of equals the first stays first. */
        if (!(sum < worst) || first + c == row)
            continue;
        int k = most - 1;
        for (; k > 0 && sum < distance[k - 1]; k--) {
            distance[k] = distance[k - 1];
            neighbour[k] = neighbour[k - 1];
        }
        distance[k] = sum;
        neighbour[k] = first + c;
        worst = distance[most - 1];
    }
}
