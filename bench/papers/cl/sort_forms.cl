/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of the radix sort (sort/radix_sort.cl) that Ha 2011 compares: PAIRS, and SWEEP 2, the implicit counts
 * of four values; and the range of the keys. */
#include "sort/radix_sort.clh"

#ifdef SWEEP
/* Section A.3.1: three counts in one number, and the
 * fourth is what remains of the elements before. Ten bits each are enough for a share
 * of less than 1024 keys. */
typedef uint tally;
#define TALLIES 1
static inline tally sum_tallies(tally a, tally b)
{
    return a + b;
}
GROUP_SCAN(tallies_before, tally, 0, sum_tallies)

#define ONE(b) ((tally)((b) < 3) << 10 * (b))
#define COUNT(t, b) ((t) >> 10 * (b) & 0x3ff)

static inline void sweep(uint *w, int bit, __local uint *cell, __local tally *count, __local tally *scan,
                         int item)
{
    tally sum = 0, all, own[MARCH]; /* own: of the item's keys before each */
#pragma unroll
    for (int k = 0; k < MARCH; k++) {
        uint b = w[k] >> (16 + bit) & 3;
        own[k] = sum;
        sum += ONE(b);
    }
    tally others = tallies_before(sum, scan, item, TILE_X, &all);
    uint second = COUNT(all, 0), third = second + COUNT(all, 1), fourth = third + COUNT(all, 2);
#pragma unroll
    for (int k = 0; k < MARCH; k++) {
        uint b = w[k] >> (16 + bit) & 3;
        tally seen = others + own[k];
        uint c0 = COUNT(seen, 0), c1 = COUNT(seen, 1), c2 = COUNT(seen, 2);
        uint place = b == 0   ? c0
                     : b == 1 ? second + c1
                     : b == 2 ? third + c2
                              : fourth + item * MARCH + k - c0 - c1 - c2;
        cell[PLACE(place)] = w[k];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}
#endif
#include "sort/radix_sort.cl"

/* The smallest and the largest key of each share. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
sort_range(__global const uint *keys, int n, __global uint *range)
{
    __local uint least[TILE_X], most[TILE_X];
    int item = get_local_id(0);
    uint stride = get_global_size(0), low = ~0u, high = 0;
    for (uint i = get_global_id(0); i < (uint)n; i += stride) {
        low = min(low, keys[i]);
        high = max(high, keys[i]);
    }
    least[item] = low;
    most[item] = high;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item > 0)
        return;
    for (int i = 1; i < TILE_X; i++) {
        low = min(low, least[i]);
        high = max(high, most[i]);
    }
    range[2 * get_group_id(0)] = low;
    range[2 * get_group_id(0) + 1] = high;
}
