/* SPDX-License-Identifier: Apache-2.0 */
/* Six numbers of a volume in one pass: smallest, largest, sum, sum of squares,
 * values not above 0, voxels; six partial results for each range of rows,
 * joined on the host. Built with LENGTHS 0: values are determinants, their
 * logarithms are summed; 1: values are the lengths of a field's vectors,
 * turned by reorient first. */
#include "common/field_row.clh"
#include "common/grid.clh"
#include "common/group_reduce.clh"
#include "common/map.clh"

#ifndef LENGTHS
#define LENGTHS 0
#endif
#define SMALLEST 1e-6f

/* Values whose ok is not set do not count. isfinite is tested before any comparison that NaN would answer. */
#define TAKE(T, value, summed, ok)                                   \
    low = min(low, select((T)(INFINITY), value, ok));                \
    high = max(high, select((T)(-INFINITY), value, ok));             \
    sum += select((T)(0.0f), summed, ok);                            \
    square += select((T)(0.0f), (summed) * (summed), ok);            \
    below += select((T)(0.0f), (T)(1.0f), (ok) & ((value) <= (T)(0.0f))); \
    count += select((T)(0.0f), (T)(1.0f), ok)

#define WITHIN(T, p, end) (((p) >= (T)(-0.5f)) & ((p) <= (T)((end) - 0.5f)))

#if LENGTHS
#define TURNED(v, row) (row.x * (v).x + row.y * (v).y + row.z * (v).z)
#define LENGTH(v)                                                                                        \
    sqrt(TURNED(v, reorient.x) * TURNED(v, reorient.x) + TURNED(v, reorient.y) * TURNED(v, reorient.y) + \
         TURNED(v, reorient.z) * TURNED(v, reorient.z))
#endif

static inline int rows_of_group(int4 size)
{
    int groups = get_num_groups(0);
    return (size.y * size.z + groups - 1) / groups;
}

GROUP_REDUCTION(group_smallest, float, min)
GROUP_REDUCTION(group_largest, float, max)

/* A work-group takes some rows. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
statistics_groups(__global const float *a, __global const float *through, __global const float *weight,
                  grid on, rows reorient, __global float *partial)
{
    const int4 size = on.size;
    const float4 per_mm = on.inverse;
    __local float shared[6 * TILE_X];
    int lane = get_local_id(0), group = get_group_id(0), n = size.x * size.y * size.z;
    int rows_each = rows_of_group(size);
    int last = min((group + 1) * rows_each, size.y * size.z) * size.x;
    float low = INFINITY, high = -INFINITY, sum = 0.0f, square = 0.0f, below = 0.0f, count = 0.0f;
#ifdef UNROLL
#pragma unroll UNROLL
#endif
    for (int i = group * rows_each * size.x + lane; i < last; i += TILE_X) {
        int ok = weight ? weight[i] > 0.0f : 1;
#if LENGTHS
        float3 v = load_vec(a, i, n);
        float value = LENGTH(v), summed = value;
        if (through) {
            float3 t = load_vec(through, i, n);
            float x = i % size.x + t.x * per_mm.x, y = i / size.x % size.y + t.y * per_mm.y;
            float z = i / (size.x * size.y) + t.z * per_mm.z;
            ok = ok & WITHIN(float, x, size.x) & WITHIN(float, y, size.y) & WITHIN(float, z, size.z);
        }
#else
        float value = a[i], summed = log(max(value, SMALLEST));
#endif
        ok = ok & isfinite(value);
        TAKE(float, value, summed, ok);
    }
    const float sums[4] = {sum, square, below, count};
    shared[lane] = low;
    shared[lane + TILE_X] = high;
    group_smallest(shared, 1, lane, TILE_X, 1);
    group_largest(shared + TILE_X, 1, lane, TILE_X, 1);
    group_sums(sums, 4, lane, TILE_X, shared + 2 * TILE_X);
    if (lane < 6)
        partial[6 * group + lane] = shared[lane * TILE_X];
}

static inline float sum8(float8 v)
{
    float4 four = v.lo + v.hi;
    float2 two = four.lo + four.hi;
    return two.x + two.y;
}

/* A work-item the same rows, eight voxels at a time; a row is added up before
 * it joins the others, so that rounding errors stay small. */
__kernel void statistics_rows(__global const float *a, __global const float *through,
                              __global const float *weight, grid on, rows reorient,
                              __global float *partial)
{
    const int4 size = on.size;
    const float4 per_mm = on.inverse;
    const float8 steps = (float8)(0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f);
    int group = get_group_id(0), n = size.x * size.y * size.z, rows_each = rows_of_group(size);
    int last = min((group + 1) * rows_each, size.y * size.z);
    float lowest = INFINITY, highest = -INFINITY, all[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int r = group * rows_each; r < last; r++) {
        float4 totals;
        float row_low, row_high;
        int x = 0, start = r * size.x;
        {
            float8 low = (float8)(INFINITY), high = (float8)(-INFINITY), sum = (float8)(0.0f);
            float8 square = (float8)(0.0f), below = (float8)(0.0f), count = (float8)(0.0f);
            for (; x + 8 <= size.x; x += 8) {
                int i = start + x;
#if LENGTHS
                vec8 v = load_vec8(a, i, n);
                float8 value = LENGTH(v), summed = value;
                int8 ok = isfinite(value);
                if (through) {
                    vec8 t = load_vec8(through, i, n);
                    float8 px = (float8)(x) + steps + t.x * per_mm.x;
                    float8 py = (float8)(r % size.y) + t.y * per_mm.y;
                    float8 pz = (float8)(r / size.y) + t.z * per_mm.z;
                    ok = ok & WITHIN(float8, px, size.x) & WITHIN(float8, py, size.y) &
                         WITHIN(float8, pz, size.z);
                }
#else
                float8 value = LOAD8(a + i), summed = log(max(value, (float8)(SMALLEST)));
                int8 ok = isfinite(value);
#endif
                if (weight)
                    ok = ok & (LOAD8(weight + i) > (float8)(0.0f));
                TAKE(float8, value, summed, ok);
            }
            float4 l4 = min(low.lo, low.hi), h4 = max(high.lo, high.hi);
            row_low = min(min(l4.x, l4.y), min(l4.z, l4.w));
            row_high = max(max(h4.x, h4.y), max(h4.z, h4.w));
            totals = (float4)(sum8(sum), sum8(square), sum8(below), sum8(count));
        }
        float low = row_low, high = row_high, sum = totals.x, square = totals.y;
        float below = totals.z, count = totals.w;
        for (; x < size.x; x++) {
            int i = start + x;
            int ok = weight ? weight[i] > 0.0f : 1;
#if LENGTHS
            float3 v = load_vec(a, i, n);
            float value = LENGTH(v), summed = value;
            if (through) {
                float3 t = load_vec(through, i, n);
                float px = x + t.x * per_mm.x, py = r % size.y + t.y * per_mm.y;
                float pz = r / size.y + t.z * per_mm.z;
                ok = ok & WITHIN(float, px, size.x) & WITHIN(float, py, size.y) & WITHIN(float, pz, size.z);
            }
#else
            float value = a[i], summed = log(max(value, SMALLEST));
#endif
            ok = ok & isfinite(value);
            TAKE(float, value, summed, ok);
        }
        lowest = min(lowest, low);
        highest = max(highest, high);
        all[0] += sum;
        all[1] += square;
        all[2] += below;
        all[3] += count;
    }
    partial[6 * group] = lowest;
    partial[6 * group + 1] = highest;
    for (int k = 0; k < 4; k++)
        partial[6 * group + 2 + k] = all[k];
}
