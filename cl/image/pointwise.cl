/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise arithmetic, one pass over memory. Built with KIND (the order of
 * clv_pointwise_kind), HAS_B and HAS_C. Vectors are read by casting, which
 * GPUs turn into one wide load: buffers start on wide boundaries. */

#include "common/field_row.clh"

#ifndef KIND
#define KIND 0
#endif
#ifndef HAS_B
#define HAS_B 0
#endif
#ifndef HAS_C
#define HAS_C 0
#endif

#if HAS_B
#define AND_B(x) x
#else
#define AND_B(x)
#endif
#if HAS_C
#define AND_C(x) x
#else
#define AND_C(x)
#endif

/* T is the type of a: the same text serves scalars and vectors. */
#if KIND == 0
#define APPLY(T, a, b, c) (k.x * (a) AND_B(+k.y * (b)) AND_C(+k.z * (c)) + k.w)
#elif KIND == 1
#define APPLY(T, a, b, c) (k.x * (a) * (b)AND_C(+k.y * (c)))
#elif KIND == 2
#define APPLY(T, a, b, c) (fabs(b) <= (T)(k.y) ? (T)(0.0f) : k.x * (a) / (b))
#elif KIND == 3
#define LINE(a) (k.x * (a) + k.y)
#define APPLY(T, a, b, c) \
    (LINE(a) < (T)(k.z) ? (T)(k.z) : (LINE(a) > (T)(k.w) ? (T)(k.w) : LINE(a)))
#elif KIND == 4
#define APPLY(T, a, b, c) log((a) < (T)(k.x) ? (T)(k.x) : (a))
#elif KIND == 5
#define APPLY(T, a, b, c) fabs(a)
#elif KIND == 6
#define APPLY(T, a, b, c) (k.x * ((a) - (b)) * ((a) - (b)))
#elif KIND == 7
#define APPLY(T, a, b, c) ((a) > (T)(k.x) ? (T)(k.y) : (T)(k.z))
#elif KIND == 8
#define APPLY(T, a, b, c) (fabs(a) <= (T)(FLT_MAX) ? (a) : (T)(k.x))
#elif KIND == 9
#define APPLY(T, a, b, c) exp(k.x * (a) + k.y)
#elif KIND == 10
#define APPLY(T, a, b, c) sqrt((a) < (T)(0.0f) ? (T)(0.0f) : (a))
#elif KIND == 11
#define LEFT(T, a) ((T)(1.0f) - (a) / k.x * ((a) / k.x))
#define APPLY(T, a, b, c) (fabs(a) < (T)(k.x) ? LEFT(T, a) * LEFT(T, a) : (T)(0.0f))
#endif

#define ONE(i) out[i] = APPLY(float, a[i], b[i], c[i])

/* MARCH elements a work-item, four at a time. */
__kernel void pointwise_lanes(__global float *out, __global const float *a, __global const float *b,
                              __global const float *c, float4 k, int n)
{
    __global float4 *out4 = (__global float4 *)out;
    __global const float4 *a4 = (__global const float4 *)a;
    __global const float4 *b4 = (__global const float4 *)b;
    __global const float4 *c4 = (__global const float4 *)c;
    int group = get_group_id(0) * TILE_X * (MARCH / 4) + get_local_id(0);
    for (int step = 0; step < MARCH / 4; step++) {
        int i = group + step * TILE_X;
        if (i < n / 4)
            out4[i] = APPLY(float4, a4[i], b4[i], c4[i]);
        else
            for (int j = 4 * i; j < n && j < 4 * i + 4; j++)
                ONE(j);
    }
}

/* A long run of memory for each work-item, eight elements at a time. */
__kernel void pointwise_runs(__global float *out, __global const float *a, __global const float *b,
                             __global const float *c, float4 k, int n)
{
    int first = get_global_id(0) * MARCH;
    int last = first + min(MARCH, n - first), i = first;
    for (; i + 8 <= last; i += 8)
        STORE8(APPLY(float8, LOAD8(a + i), LOAD8(b + i), LOAD8(c + i)), out + i);
    for (; i < last; i++)
        ONE(i);
}

/* table: `knots` ascending abscissas, then as many ordinates. */
static float look_up(float x, __global const float *table, int knots)
{
    int low = 0, high = knots;
    while (low < high) {
        int middle = (low + high) / 2;
        if (table[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return x == x ? table[knots] : x;
    if (low == knots)
        return table[2 * knots - 1];
    float before = table[low - 1], y = table[knots + low - 1];
    return y + (table[knots + low] - y) * ((x - before) / (table[low] - before));
}

__kernel void pointwise_table(__global float *out, __global const float *a,
                              __global const float *table, int knots, int n)
{
    int group = get_group_id(0) * TILE_X * MARCH + get_local_id(0);
    for (int step = 0; step < MARCH; step++) {
        int i = group + step * TILE_X;
        if (i < n)
            out[i] = look_up(a[i], table, knots);
    }
}
