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

#ifndef STRIDE
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
#else

/* The same with a record of 320 floats a work-item in local memory, table 2: the row's own patch, its
 * neighbours' distances and ids. A pass brings it there and takes the distances and ids back. STRIDE between
 * records: odd, so that work-items side by side read other banks, or even. */
enum { OWN = 1, DISTANCES = 126, IDS = 222, SAMPLES = 125 };

__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
patch_records(__global float *scratch, __constant float *subset, __global int *neighbours,
              __global float *distances, int4 n, int rows_at, int first)
{
    __local float records[TILE_X * STRIDE];
    int row = get_global_id(0), most = n.w, samples = min(n.y, (int)SAMPLES);
    if (row >= n.x)
        return;
    __local float *record = records + get_local_id(0) * STRIDE, *own = record + OWN,
                  *distance = record + DISTANCES;
    __local int *id = (__local int *)(record + IDS);
    __global const float *patch = REGION(scratch, rows_at) + (size_t)(row / 16) * n.y * 16 + row % 16;
    for (int s = 0; s < samples; s++)
        own[s] = patch[16 * s];
    for (int k = 0; k < most; k++) {
        distance[k] = distances[(size_t)row * most + k];
        id[k] = neighbours[(size_t)row * most + k];
    }
    float worst = distance[most - 1];
    for (int c = 0; c < n.z; c++) {
        float sum = 0.0f;
        for (int s = 0; s < samples; s++) {
            float v = own[s] - subset[c * n.y + s];
            sum += v * v;
        }
        if (!(sum < worst) || first + c == row)
            continue;
        int k = most - 1;
        for (; k > 0 && sum < distance[k - 1]; k--) {
            distance[k] = distance[k - 1];
            id[k] = id[k - 1];
        }
        distance[k] = sum;
        id[k] = first + c;
        worst = distance[most - 1];
    }
    for (int k = 0; k < most; k++) {
        distances[(size_t)row * most + k] = distance[k];
        neighbours[(size_t)row * most + k] = id[k];
    }
}
#endif
