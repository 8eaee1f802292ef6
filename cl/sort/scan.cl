/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the elements before each one, modulo 2^32, in three launches: the total of
 * each work-group's elements, what comes before each group, and the sums themselves.
 * No group waits for another. Built with SEGMENTED: sums begin anew wherever a key
 * differs from the one before it; WIDE: elements of 64 bits, modulo 2^64. */
#include "common/group_scan.clh"

#ifndef SEGMENTED
#define SEGMENTED 0
#endif

#ifndef WIDE
#define WIDE 0
#endif
#if WIDE
typedef ulong word;
typedef ulong2 words;
#else
typedef uint word;
typedef uint2 words;
#endif

/* A run of elements: its sum since the last new key, and whether there is one in it. */
#if SEGMENTED
typedef words run;
#define RUN(sum, begins) ((words)((sum), (begins)))
#define SUM(r) ((r).x)
static inline run join(run a, run b)
{
    return (words)(b.y ? b.x : a.x + b.x, a.y | b.y);
}
static inline bool starts(run r)
{
    return r.y;
}
#define BEGINS(i) ((i) == 0 || keys[i] != keys[(i) - 1])
#else
typedef word run;
#define RUN(sum, begins) (sum)
#define SUM(r) (r)
static inline run join(run a, run b)
{
    return a + b;
}
static inline bool starts(run r)
{
    return false;
}
#define BEGINS(i) 0
#endif
#define NOTHING RUN(0, 0)

GROUP_SCAN(runs_before, run, NOTHING, join)

/* The elements [from, to). */
static inline run run_of(__global const word *in, __global const uint *keys, uint from, uint to)
{
    run sum = NOTHING;
    for (uint i = from; i < to; i++)
        sum = join(sum, RUN(in[i], BEGINS(i)));
    return sum;
}

/* Work-groups add up what others put the sums of: `share` elements each, divided
 * among their items here. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
scan_totals_group(__global const word *in, __global const uint *keys, int n, int share, __global run *totals)
{
    __local run cells[2 * TILE_X];
    int item = get_local_id(0);
    uint first = get_group_id(0) * share, end = first + min((uint)share, n - first); /* steps beyond 2^31 too */
    run mine = NOTHING, total;
#if SEGMENTED
    uint each = (share + TILE_X - 1) / TILE_X, from = min(end, first + item * each);
    mine = run_of(in, keys, from, min(end, from + each));
#else
    uint i = first + item;
    for (; i + 3 * TILE_X < end; i += 4 * TILE_X) /* a sum has no order */
        mine += (in[i] + in[i + TILE_X]) + (in[i + 2 * TILE_X] + in[i + 3 * TILE_X]);
    for (; i < end; i += TILE_X)
        mine += in[i];
#endif
    runs_before(mine, cells, item, TILE_X, &total);
    if (item == 0)
        totals[get_group_id(0)] = total;
}

__kernel void scan_totals_chunk(__global const word *in, __global const uint *keys, int n, int share,
                                __global run *totals)
{
    uint first = get_group_id(0) * share;
    totals[get_group_id(0)] = run_of(in, keys, first, first + min((uint)share, n - first));
}

/* Items read and write side by side, and add up MARCH elements one after another: these
 * change places in local memory, where one more word for each 16 keeps neighbours in
 * different banks. The last groups go first: caches still hold what was totalled last. */
#define PLACE(i) ((i) + ((i) >> 4))
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
scan_sums_group(__global const word *in, __global const uint *keys, int n, int inclusive,
                __global const run *totals, __global word *out)
{
    __local run cells[2 * TILE_X], held[PLACE(TILE_X * MARCH)];
    const int group = get_num_groups(0) - 1 - get_group_id(0);
    int item = get_local_id(0), first = group * GROUP_X, count = min(GROUP_X, n - first);
    run sum = NOTHING, all;
    for (int k = item; k < TILE_X * MARCH; k += TILE_X)
        held[PLACE(k)] = k < count ? RUN(in[first + k], BEGINS(first + k)) : NOTHING;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = item * MARCH; k < item * MARCH + MARCH; k++)
        sum = join(sum, held[PLACE(k)]);
    run before = join(totals[group], runs_before(sum, cells, item, TILE_X, &all));
    for (int k = item * MARCH; k < item * MARCH + MARCH; k++) {
        run mine = held[PLACE(k)], with = join(before, mine);
        held[PLACE(k)] = inclusive ? with : starts(mine) ? NOTHING : before;
        before = with;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = item; k < count; k += TILE_X)
        out[first + k] = SUM(held[PLACE(k)]);
}

__kernel void scan_sums_chunk(__global const word *in, __global const uint *keys, int n, int inclusive,
                              __global const run *totals, __global word *out)
{
    int first = get_group_id(0) * GROUP_X, end = first + min(GROUP_X, n - first);
    run before = totals[get_group_id(0)];
    for (int i = first; i < end; i++) {
        run mine = RUN(in[i], BEGINS(i)), with = join(before, mine);
        out[i] = SUM(inclusive ? with : starts(mine) ? NOTHING : before);
        before = with;
    }
}

/* Totals become what comes before their group: one work-group. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
scan_before_group(__global run *totals, int count)
{
    __local run cells[2 * TILE_X];
    int item = get_local_id(0);
    run carried = NOTHING, all;
    for (int first = 0; first < count; first += TILE_X) {
        run mine = first + item < count ? totals[first + item] : NOTHING;
        run before = runs_before(mine, cells, item, TILE_X, &all);
        if (first + item < count)
            totals[first + item] = join(carried, before);
        carried = join(carried, all);
    }
}

__kernel void scan_before_item(__global run *totals, int count)
{
    run carried = NOTHING;
    for (int i = 0; i < count; i++) {
        run mine = totals[i];
        totals[i] = carried;
        carried = join(carried, mine);
    }
}
