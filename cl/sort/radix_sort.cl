/* SPDX-License-Identifier: Apache-2.0 */
/* Stable radix sort from the lowest digit of eight bits to the highest, three steps a
 * digit: work-groups count the digits of their shares of the keys, sums turn the counts
 * into places, and each group takes its share there. No group waits for another.
 * Built with KIND (clv_sort_kind) and, where values go with the keys, VALUES. */
#include "sort/radix_sort.clh"

/* ---- counts ---- */

/* The keys lie in shares, one a work-group of the scatter, and the shares in blocks of `runs`.
 * counts[share][digit]: the keys of that digit in the shares before this one in its block. places: DIGITS
 * words for all keys, then [block][digit]: the keys of that digit in the block. Digits lie side by side, so
 * that whole lines are read and written wherever a group wants its 256 numbers. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
sort_count_group(__global const word *keys, int n, int share, int runs, int shift,
                 __global uint *counts, __global uint *places)
{
    __local uint count[DIGITS];
    int item = get_local_id(0);
    uint block = get_group_id(0), shares = ((uint)n + share - 1) / share;
    uint last = min(shares, (block + 1) * runs);
    for (int d = item; d < DIGITS; d += TILE_X)
        count[d] = 0;
    for (uint s = block * runs; s < last; s++) {
        uint first = s * share, end = first + min((uint)share, n - first); /* steps beyond 2^31 too */
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int d = item; d < DIGITS; d += TILE_X)
            counts[(size_t)s * DIGITS + d] = count[d];
        barrier(CLK_LOCAL_MEM_FENCE);
        uint i = first + LANES * item;
#if !READS_PAIRS
        for (; i + LANES <= end; i += LANES * TILE_X) {
            words four = *(__global const words *)(keys + i);
            atomic_inc(&count[digit_of(four.x, shift)]);
            atomic_inc(&count[digit_of(four.y, shift)]);
#if !WIDE
            atomic_inc(&count[digit_of(four.z, shift)]);
            atomic_inc(&count[digit_of(four.w, shift)]);
#endif
        }
        for (; i < end; i++)
            atomic_inc(&count[digit_of(keys[i], shift)]);
#else
        for (i = first + item; i < end; i += TILE_X)
            atomic_inc(&count[digit_of(KEY_OF(i), shift)]);
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = item; d < DIGITS; d += TILE_X)
        places[(block + 1) * DIGITS + d] = count[d];
}

/* Four tables, so that neighbours of equal digit do not wait for each other's store. */
__kernel void sort_count_chunk(__global const word *keys, int n, int share, int runs, int shift,
                               __global uint *counts, __global uint *places)
{
    uint count[4][DIGITS];
    uint block = get_group_id(0), shares = ((uint)n + share - 1) / share;
    uint last = min(shares, (block + 1) * runs);
    for (int d = 0; d < DIGITS; d++)
        count[0][d] = count[1][d] = count[2][d] = count[3][d] = 0;
    for (uint s = block * runs; s < last; s++) {
        uint i = s * share, end = i + min((uint)share, n - i);
        for (int d = 0; d < DIGITS; d++)
            counts[(size_t)s * DIGITS + d] = count[0][d] + count[1][d] + count[2][d] + count[3][d];
        for (; i + 4 <= end; i += 4) {
            count[0][digit_of(KEY_OF(i), shift)]++;
            count[1][digit_of(KEY_OF(i + 1), shift)]++;
            count[2][digit_of(KEY_OF(i + 2), shift)]++;
            count[3][digit_of(KEY_OF(i + 3), shift)]++;
        }
        for (; i < end; i++)
            count[0][digit_of(KEY_OF(i), shift)]++;
    }
    for (int d = 0; d < DIGITS; d++)
        places[(block + 1) * DIGITS + d] = count[0][d] + count[1][d] + count[2][d] + count[3][d];
}

/* ---- the counts of blocks become those of the blocks before; all of a digit's keys go to the front ---- */

/* A work-group has COLUMNS digits, whose blocks its items share out. */
#define COLUMNS 8
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
sort_columns_group(__global uint *places, int blocks)
{
    __local uint cell[TILE_X];
    const int item = get_local_id(0), row = item / COLUMNS, column = item % COLUMNS, rows = TILE_X / COLUMNS;
    const int each = (blocks + rows - 1) / rows, from = min(blocks, row * each);
    const int to = min(blocks, from + each);
    const int digit = get_group_id(0) * COLUMNS + column;
    __global uint *sums = places + DIGITS + digit;
    uint sum = 0, before = 0;
#pragma unroll 8
    for (int b = from; b < to; b++)
        sum += sums[b * DIGITS];
    cell[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int r = 0; r < row; r++)
        before += cell[r * COLUMNS + column];
#pragma unroll 8
    for (int b = from; b < to; b++) {
        uint mine = sums[b * DIGITS];
        sums[b * DIGITS] = before;
        before += mine;
    }
    if (row == rows - 1)
        places[digit] = before;
}

__kernel void sort_columns_item(__global uint *places, int blocks)
{
    uint sum[DIGITS];
    for (int d = 0; d < DIGITS; d++)
        sum[d] = 0;
    for (int b = 1; b <= blocks; b++)
        for (int d = 0; d < DIGITS; d++) {
            uint mine = places[b * DIGITS + d];
            places[b * DIGITS + d] = sum[d];
            sum[d] += mine;
        }
    for (int d = 0; d < DIGITS; d++)
        places[d] = sum[d];
}

/* Destination of the share's first key of that digit, once places begins with the sums of the digits before. */
static inline uint first_place(__global const uint *counts, __global const uint *places, int runs, int digit)
{
    const uint share = get_group_id(0);
    return places[digit] + places[(share / runs + 1) * DIGITS + digit] +
           counts[(size_t)share * DIGITS + digit];
}

/* ---- a share of the keys to its places ---- */

#ifndef SWEEP
#define SWEEP 4
/* An item counts its at most 15 keys by sixteen values in as many half-bytes. For the
 * scan they spread over eight words in halves: count b in word b % 8, above those of
 * b < 8 where b >= 8. */
typedef uint tally;
#define TALLIES 8
static inline tally sum_tallies(tally a, tally b)
{
    return a + b;
}
GROUP_SCAN(tallies_before, tally, 0, sum_tallies)

static inline void sweep(uint *w, int bit, __local uint *cell, __local tally *count, __local tally *scan,
                         int item)
{
    ulong seen = 0, rank = 0;
#pragma unroll
    for (int k = 0; k < MARCH; k++) {
        uint at = (w[k] >> (16 + bit) & 15) * 4;
        rank |= (seen >> at & 15) << 4 * k;
        seen += (ulong)1 << at;
    }
    __local tally *own = count + SPREAD(item), *run = count + SPREAD(item * TALLIES);
#pragma unroll
    for (int b = 0; b < TALLIES; b++)
        own[b * SPREAD_TILE] =
            ((uint)(seen >> 4 * b) & 15) | ((uint)(seen >> (4 * b + 32)) & 15) << 16;
    barrier(CLK_LOCAL_MEM_FENCE);
    tally sum = 0, all;
#pragma unroll
    for (int b = 0; b < TALLIES; b++)
        sum += run[b]; /* TALLIES divides 16: they lie side by side */
    tally before = tallies_before(sum, scan, item, TILE_X, &all);
    before += all << 16; /* what the lower halves count comes before the upper */
#pragma unroll
    for (int b = 0; b < TALLIES; b++) {
        tally mine = run[b];
        run[b] = before;
        before += mine;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint to[MARCH];
#pragma unroll
    for (int k = 0; k < MARCH; k++) {
        uint b = w[k] >> (16 + bit) & 15;
        uint first = own[(b & 7) * SPREAD_TILE] >> (b >> 3) * 16 & 0xffff;
        to[k] = PLACE(first + ((uint)(rank >> 4 * k) & 15));
    }
    barrier(CLK_LOCAL_MEM_FENCE); /* the tallies lie where the keys go */
#pragma unroll
    for (int k = 0; k < MARCH; k++)
        cell[to[k]] = w[k];
    barrier(CLK_LOCAL_MEM_FENCE);
}
#endif

/* Keys of 32 bits, and then values, wait in local memory: read from there in their new
 * order they cost a fraction of what scattered reads of the device's memory do. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
sort_scatter_group(__global const word *keys, __global const uint *values, int n, int runs, int shift,
                   __global const uint *counts, __global const uint *places,
                   __global word *keys_out, __global uint *values_out)
{
    /* Tallies are over before keys come to the same place: more groups fit. */
    __local uint cell[PLACE(SHARE) > SPREAD(TALLIES * TILE_X) ? PLACE(SHARE) : SPREAD(TALLIES * TILE_X)];
    __local uint stage[PLACE(SHARE)];
    __local tally *count = cell, scan[2 * TILE_X];
    __local uint start[DIGITS];
    const int item = get_local_id(0), first = get_group_id(0) * SHARE, held = min(SHARE, n - first);
    uint w[MARCH];
#if PAIRS
    uint value[MARCH];
#endif
#if WRITES_PAIRS
    uint key[MARCH];
#endif
    uint place[(DIGITS + TILE_X - 1) / TILE_X];
#pragma unroll
    for (int d = 0; d < DIGITS; d += TILE_X)
        if (d + item < DIGITS)
            place[d / TILE_X] = first_place(counts, places, runs, d + item); /* long before it is wanted */
    keys += READS_PAIRS ? 2 * (size_t)first : first;
    values += READS_PAIRS ? 0 : first;
#if WIDE
#define KEY(at) keys[at]
#else
#define KEY(at) stage[PLACE(at)]
#pragma unroll
    for (int k = 0; k < MARCH; k++)
        if (item + k * TILE_X < held) {
#if READS_PAIRS
            uint2 both = vload2(item + k * TILE_X, keys);
            stage[PLACE(item + k * TILE_X)] = both.x;
            value[k] = both.y;
#else
            stage[PLACE(item + k * TILE_X)] = keys[item + k * TILE_X];
#endif
        }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    /* Items beyond the last key sort behind all others. */
#pragma unroll
    for (int k = 0; k < MARCH; k++) {
        uint at = item * MARCH + k;
        w[k] = ((int)at < held ? digit_of(KEY(at), shift) : DIGITS - 1) << 16 | at;
    }
#pragma unroll
    for (int bit = 0; bit < 8; bit += SWEEP) {
        if (bit > 0) {
#pragma unroll
            for (int k = 0; k < MARCH; k++)
                w[k] = cell[PLACE(item * MARCH + k)];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        sweep(w, bit, cell, count, scan, item);
    }
    /* From places in the share to those in the whole. */
#pragma unroll
    for (int k = 0; k < MARCH; k++) {
        int i = item + k * TILE_X;
        w[k] = cell[PLACE(i)];
        uint d = w[k] >> 16;
        if (i == 0 || cell[PLACE(i - 1)] >> 16 != d)
            start[d] = i;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int d = 0; d < DIGITS; d += TILE_X)
        if (d + item < DIGITS)
            start[d + item] = place[d / TILE_X] - start[d + item];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int k = 0; k < MARCH; k++)
        if (item + k * TILE_X < held) {
#if WRITES_PAIRS
            key[k] = KEY(w[k] & 0xffff);
#else
            keys_out[start[w[k] >> 16] + item + k * TILE_X] = KEY(w[k] & 0xffff);
#endif
        }
#if VALUES
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int k = 0; k < MARCH; k++)
        if (item + k * TILE_X < held)
#if READS_PAIRS
            stage[PLACE(item + k * TILE_X)] = value[k];
#else
            stage[PLACE(item + k * TILE_X)] = values[item + k * TILE_X];
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int k = 0; k < MARCH; k++)
        if (item + k * TILE_X < held) {
#if WRITES_PAIRS
            vstore2((uint2)(key[k], stage[PLACE(w[k] & 0xffff)]), start[w[k] >> 16] + item + k * TILE_X,
                    keys_out);
#else
            values_out[start[w[k] >> 16] + item + k * TILE_X] = stage[PLACE(w[k] & 0xffff)];
#endif
        }
#endif
}

/* A work-item a chunk. Keys gather in lines of their digit that go out when they are
 * full: places that 256 digits apart are written to in turn would each want a line of
 * the cache. */
#define LINE 16
#if WRITES_PAIRS
#define PUT(i, key, value)                      \
    do {                                        \
        keys_out[2 * (size_t)(i)] = key;        \
        keys_out[2 * (size_t)(i) + 1] = value;  \
    } while (0)
#elif VALUES
#define PUT(i, key, value)     \
    do {                       \
        keys_out[i] = key;     \
        values_out[i] = value; \
    } while (0)
#else
#define PUT(i, key, value) keys_out[i] = key
#endif
__kernel void sort_scatter_chunk(__global const word *keys, __global const uint *values, int n, int runs,
                                 int shift, __global const uint *counts,
                                 __global const uint *places, __global word *keys_out,
                                 __global uint *values_out)
{
    word key_line[DIGITS * LINE];
#if VALUES
    uint value_line[DIGITS * LINE];
#endif
    uint next[DIGITS], begun[DIGITS]; /* places: of the next key, and of the first one that waits */
    int first = get_group_id(0) * GROUP_X, end = first + min(GROUP_X, n - first);
    for (int d = 0; d < DIGITS; d++)
        begun[d] = next[d] = first_place(counts, places, runs, d);
    for (int i = first; i < end; i++) {
        word key = KEY_OF(i);
        uint d = digit_of(key, shift), to = next[d]++, at = d * LINE + to % LINE;
        key_line[at] = key;
#if VALUES
        value_line[at] = VALUE_OF(i);
#endif
        if (to % LINE < LINE - 1)
            continue;
        uint from = begun[d];
        begun[d] = to + 1;
        if (to - from == LINE - 1 && !WRITES_PAIRS) {
            for (int k = 0; k < LINE; k++)
                keys_out[from + k] = key_line[d * LINE + k];
#if VALUES
            for (int k = 0; k < LINE; k++)
                values_out[from + k] = value_line[d * LINE + k];
#endif
            continue;
        }
        for (uint p = from; p <= to; p++)
            PUT(p, key_line[d * LINE + p % LINE], value_line[d * LINE + p % LINE]);
    }
    for (int d = 0; d < DIGITS; d++)
        for (uint p = begun[d]; p < next[d]; p++)
            PUT(p, key_line[d * LINE + p % LINE], value_line[d * LINE + p % LINE]);
}
