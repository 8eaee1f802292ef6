/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing but multiply-adds in registers: the rate that products are measured
 * against. Sixteen chains a work-item, more than any pipeline is long, all of
 * which tend to x[2] / (1 - x[1]); a work-item writes their sum. */
#include "common/field_row.clh"

#define STEP(i) a##i = a##i * factor + term
#define ALL(DO)                                                                    \
    DO(0); DO(1); DO(2); DO(3); DO(4); DO(5); DO(6); DO(7); DO(8); DO(9); DO(10); \
    DO(11); DO(12); DO(13); DO(14); DO(15)
#define CHAINS(T)                                                   \
    T factor = (T)(x[1]), term = (T)(x[2]);                         \
    T a0 = (T)(x[0]), a1 = a0 + 1, a2 = a0 + 2, a3 = a0 + 3;        \
    T a4 = a0 + 4, a5 = a0 + 5, a6 = a0 + 6, a7 = a0 + 7;           \
    T a8 = a0 + 8, a9 = a0 + 9, a10 = a0 + 10, a11 = a0 + 11;       \
    T a12 = a0 + 12, a13 = a0 + 13, a14 = a0 + 14, a15 = a0 + 15;   \
    for (int i = 0; i < steps; i++) {                               \
        ALL(STEP);                                                  \
    }                                                               \
    T sum = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11 + a12 + a13 + a14 + a15

__kernel void fma_rate_items(__global const float *x, int steps, __global float *out)
{
    CHAINS(float);
    out[get_global_id(0)] = sum;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
fma_rate_vectors(__global const float *x, int steps, __global float *out)
{
    CHAINS(float8);
    float4 four = sum.lo + sum.hi;
    out[get_group_id(0)] = four.x + four.y + four.z + four.w;
}

/* The same in double precision; nothing where the device has none. */
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__kernel void fma_rate_double_items(__global const float *x, int steps, __global float *out)
{
    CHAINS(double);
    out[get_global_id(0)] = (float)sum;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
fma_rate_double_vectors(__global const float *x, int steps, __global float *out)
{
    CHAINS(double4);
    out[get_group_id(0)] = (float)(sum.x + sum.y + sum.z + sum.w);
}
#else
__kernel void fma_rate_double_items(__global const float *x, int steps, __global float *out)
{
}

__kernel void fma_rate_double_vectors(__global const float *x, int steps, __global float *out)
{
}
#endif
