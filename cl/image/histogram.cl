/* SPDX-License-Identifier: Apache-2.0 */
/* Counts into equal bins. Built with HAS_MASK. */
#include "common/bins.clh"
#include "common/field_row.clh"

#ifndef HAS_MASK
#define HAS_MASK 0
#endif

#if HAS_MASK
#define COUNTED(i) (a[i] == a[i] && mask[i] > 0.0f)
#else
#define COUNTED(i) (a[i] == a[i])
#endif

/* Runs of one bin, as in the background of an image, are added at once: equal
 * addresses are what slows local atomics down. */
#define TALLY(value, counted)                            \
    do {                                                 \
        int here = bin_of(value, low, scale, bins);      \
        if ((counted) && here != bin) {                  \
            if (run)                                     \
                atomic_add(&shared[bin], run);           \
            bin = here;                                  \
            run = 0;                                     \
        }                                                \
        run += (counted) ? 1 : 0;                        \
    } while (0)

/* A work-group a chunk (a multiple of 4 elements). */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
histogram_groups(__global const float *a, __global const float *mask, int n, float low,
                 float scale, int bins, __global int *counts)
{
    __local int shared[MOST_BINS];
    int lane = get_local_id(0);
    for (int i = lane; i < bins; i += TILE_X)
        shared[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int first = get_group_id(0) * GROUP_X, count = min(GROUP_X, n - first);
    int bin = 0, run = 0;
#ifdef UNROLL
#pragma unroll UNROLL
#endif
    for (int i = first / 4 + lane; i < first / 4 + count / 4; i += TILE_X) {
        float4 v = ((__global const float4 *)a)[i];
#if HAS_MASK
        float4 m = ((__global const float4 *)mask)[i];
#define MASKED(c) (m.c > 0.0f)
#else
#define MASKED(c) 1
#endif
        TALLY(v.x, v.x == v.x && MASKED(x));
        TALLY(v.y, v.y == v.y && MASKED(y));
        TALLY(v.z, v.z == v.z && MASKED(z));
        TALLY(v.w, v.w == v.w && MASKED(w));
    }
    for (int i = first + (count & ~3) + lane; i < first + count; i += TILE_X)
        TALLY(a[i], COUNTED(i));
    if (run)
        atomic_add(&shared[bin], run);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = lane; i < bins; i += TILE_X)
        if (shared[i])
            atomic_add(&counts[i], shared[i]);
}

/* A work-item a chunk, with four histograms of its own, so that neighbours of
 * equal value do not wait for each other's store. What is not counted goes
 * into a bin behind the last, which keeps the loop free of branches. */
__kernel void histogram_chunks(__global const float *a, __global const float *mask, int n,
                               float low, float scale, int bins, __global int *counts)
{
    int own[4][MOST_BINS + 1];
    for (int i = 0; i <= bins; i++)
        own[0][i] = own[1][i] = own[2][i] = own[3][i] = 0;
    int first = get_group_id(0) * GROUP_X, last = first + min(GROUP_X, n - first), i = first;
    for (; i + 8 <= last; i += 8) {
        float8 value = LOAD8(a + i), place = (value - low) * scale;
        place = place > 0.0f ? min(place, (float)(bins - 1)) : (float8)(0.0f);
        int8 bin = value == value ? convert_int8(place) : (int8)(bins);
#if HAS_MASK
        bin = LOAD8(mask + i) > 0.0f ? bin : (int8)(bins);
#endif
        own[0][bin.s0]++;
        own[1][bin.s1]++;
        own[2][bin.s2]++;
        own[3][bin.s3]++;
        own[0][bin.s4]++;
        own[1][bin.s5]++;
        own[2][bin.s6]++;
        own[3][bin.s7]++;
    }
    for (; i < last; i++)
        if (COUNTED(i))
            own[0][bin_of(a[i], low, scale, bins)]++;
    for (int b = 0; b < bins; b++) {
        int sum = own[0][b] + own[1][b] + own[2][b] + own[3][b];
        if (sum)
            atomic_add(&counts[b], sum);
    }
}
