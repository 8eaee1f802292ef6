/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions in two launches of fixed order: a partial result for each chunk
 * of the input, then one for all partials. Built with KIND (the order of
 * clv_reduce_kind) and HAS_WEIGHT, or with COMBINE (0 sum, 1 min, 2 max) and
 * ROOT for the second launch. */
#include "common/field_row.clh"
#include "common/group_reduce.clh"
#include "common/share.clh"

#ifndef KIND
#define KIND 0
#endif
#ifndef HAS_WEIGHT
#define HAS_WEIGHT 0
#endif
#ifndef ROOT
#define ROOT 0
#endif
#ifndef COMBINE
#if KIND == 3
#define COMBINE 1
#elif KIND == 4 || KIND == 5
#define COMBINE 2
#else
#define COMBINE 0
#endif
#endif

/* p is the running result and never NaN in minima and maxima; a NaN q loses
 * every comparison and is so passed over. */
#if COMBINE == 0
#define JOIN(p, q) ((p) + (q))
#define START 0.0f
#elif COMBINE == 1
#define JOIN(p, q) ((q) < (p) ? (q) : (p))
#define START INFINITY
#else
#define JOIN(p, q) ((q) > (p) ? (q) : (p))
#define START (KIND == 5 ? 0.0f : -INFINITY)
#endif

#if KIND == 1
#define TERM(T, a, b) ((a) * (b))
#define HAS_B 1
#elif KIND == 2
#define TERM(T, a, b) (((a) - (b)) * ((a) - (b)))
#define HAS_B 1
#elif KIND == 5
#define TERM(T, a, b) fabs(a)
#elif KIND == 6
#define TERM(T, a, b) ((a) <= (T)(k) ? (T)(1.0f) : (T)(0.0f))
#else
#define TERM(T, a, b) (a)
#endif
#ifndef HAS_B
#define HAS_B 0
#endif

#if !HAS_WEIGHT
#define STEP(T, sum, a, b, w) JOIN(sum, TERM(T, a, b))
#elif COMBINE == 0
#define STEP(T, sum, a, b, w) ((sum) + (w) * TERM(T, a, b))
#else
#define STEP(T, sum, a, b, w) ((w) != (T)(0.0f) ? JOIN(sum, TERM(T, a, b)) : (sum))
#endif

static inline float join8(float8 v)
{
    float4 four = JOIN(v.lo, v.hi);
    float2 two = JOIN(four.lo, four.hi);
    return JOIN(two.x, two.y);
}

GROUP_REDUCTION(join_cells, float, JOIN)

/* The work-group's result, in its first work-item. */
static inline float join_group(float mine, __local float *shared)
{
    int lane = get_local_id(0);
    shared[lane] = mine;
    join_cells(shared, 1, lane, TILE_X, 1);
    return shared[0];
}

#define AT4(p, i) (((__global const float4 *)(p))[i])
#define STEP4(sum, i) STEP(float4, sum, AT4(a, i), AT4(b, i), AT4(weight, i))
#define STEP8(sum, i) STEP(float8, sum, LOAD8(a + (i)), LOAD8(b + (i)), LOAD8(weight + (i)))
#define STEP1(sum, i) STEP(float, sum, a[i], b[i], weight[i])

/* A work-group a chunk (a multiple of 4 elements). */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
reduce_groups(__global const float *a, __global const float *b, __global const float *weight, float k,
              int n, __global float *partial)
{
    __local float shared[TILE_X];
    int lane = get_local_id(0);
    int chunk = share_of(n), first = min((int)get_group_id(0) * chunk, n), count = min(chunk, n - first);
    int i = first / 4 + lane, end = first / 4 + count / 4;
    float4 p = START, q = START;
    for (; i + 3 * TILE_X < end; i += 4 * TILE_X) {
        p = STEP4(p, i);
        q = STEP4(q, i + TILE_X);
        p = STEP4(p, i + 2 * TILE_X);
        q = STEP4(q, i + 3 * TILE_X);
    }
    for (; i < end; i += TILE_X)
        p = STEP4(p, i);
    p = JOIN(p, q);
    float2 two = JOIN(p.lo, p.hi);
    float sum = JOIN(two.x, two.y);
    if (lane == 0)
        for (int j = first + (count & ~3); j < first + count; j++)
            sum = STEP1(sum, j);
    sum = join_group(sum, shared);
    if (lane == 0)
        partial[get_group_id(0)] = sum;
}

/* A work-item a chunk. Sums of 1024 elements are added up in turn, so that
 * rounding errors grow with the square root of the chunk, not with it. */
__kernel void reduce_chunks(__global const float *a, __global const float *b,
                            __global const float *weight, float k, int n,
                            __global float *partial)
{
    int chunk = share_of(n), first = min((int)get_group_id(0) * chunk, n);
    int last = first + min(chunk, n - first), i = first;
    float8 sum = START;
    for (; i + 1024 <= last; i += 1024) {
        float8 p = START, q = START, r = START, s = START;
        for (int j = i; j < i + 1024; j += 32) {
            p = STEP8(p, j);
            q = STEP8(q, j + 8);
            r = STEP8(r, j + 16);
            s = STEP8(s, j + 24);
        }
        p = JOIN(p, q);
        r = JOIN(r, s);
        p = JOIN(p, r);
        sum = JOIN(sum, p);
    }
    float8 rest = START;
    for (; i + 8 <= last; i += 8)
        rest = STEP8(rest, i);
    sum = JOIN(sum, rest);
    float one = join8(sum);
    for (; i < last; i++)
        one = STEP1(one, i);
    partial[get_group_id(0)] = one;
}

/* Squared lengths of scaled vectors; built with COMBINE 2. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
longest_groups(__global const float *field, float4 scale, int n, __global float *partial)
{
    __local float shared[TILE_X];
    int lane = get_local_id(0);
    int chunk = share_of(n), first = min((int)get_group_id(0) * chunk, n);
    int last = first + min(chunk, n - first);
    float most = 0.0f;
#ifdef UNROLL
#pragma unroll UNROLL
#endif
    for (int i = first + lane; i < last; i += TILE_X) {
        float3 v = load_vec(field, i, n) * scale.xyz;
        float square = dot(v, v);
        most = JOIN(most, square);
    }
    most = join_group(most, shared);
    if (lane == 0)
        partial[get_group_id(0)] = most;
}

__kernel void longest_chunks(__global const float *field, float4 scale, int n,
                             __global float *partial)
{
    int chunk = share_of(n), first = min((int)get_group_id(0) * chunk, n);
    int last = first + min(chunk, n - first), i = first;
    float8 most8 = 0.0f;
    for (; i + 8 <= last; i += 8) {
        vec8 v = load_vec8(field, i, n);
        v.x *= scale.x;
        v.y *= scale.y;
        v.z *= scale.z;
        float8 square = v.x * v.x + v.y * v.y + v.z * v.z;
        most8 = JOIN(most8, square);
    }
    float most = join8(most8);
    for (; i < last; i++) {
        float3 v = load_vec(field, i, n) * scale.xyz;
        float square = dot(v, v);
        most = JOIN(most, square);
    }
    partial[get_group_id(0)] = most;
}

#if ROOT
#define FINISH(x) sqrt(x)
#else
#define FINISH(x) (x)
#endif

/* most: never less than what is there already. */
static inline void put_result(float result, int most, __global float *out, int slot)
{
    float value = FINISH(result);
    out[slot] = most ? fmax(value, out[slot]) : value;
}

/* The second launch: one work-group. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
reduce_last_group(__global const float *partial, int count, int most, __global float *out, int slot)
{
    __local float shared[TILE_X];
    float sum = START;
    for (int i = get_local_id(0); i < count; i += TILE_X)
        sum = JOIN(sum, partial[i]);
    sum = join_group(sum, shared);
    if (get_local_id(0) == 0)
        put_result(sum, most, out, slot);
}

__kernel void reduce_last_item(__global const float *partial, int count, int most, __global float *out,
                               int slot)
{
    float8 sum = START;
    int i = 0;
    for (; i + 8 <= count; i += 8) {
        float8 next = LOAD8(partial + i);
        sum = JOIN(sum, next);
    }
    float one = join8(sum);
    for (; i < count; i++)
        one = JOIN(one, partial[i]);
    put_result(one, most, out, slot);
}
